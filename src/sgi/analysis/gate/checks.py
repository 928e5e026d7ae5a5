"""Decides one rule of a gate by the end of an interval, or by the mean."""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from sgi.analysis.gate.rules import Condition
from sgi.analysis.pairing import shortened
from sgi.engine.summarise import on_mean_scale, with_range
from sgi.kernel.clusters import BY_QUESTION
from sgi.stats.intervals import Interval, NoInterval
from sgi.stats.means import mean_interval
from sgi.stats.ratios import bounded_ratio, ratio_of
from sgi.stats.sample_size import clusters_needed

if TYPE_CHECKING:
    from collections.abc import Callable

    from sgi.analysis.compare import MetricComparison
    from sgi.analysis.gate.rules import Rule
    from sgi.kernel.scored import MetricColumn, ScoredRun

On = Literal["interval", "mean"]

_HOLDS: dict[Condition, Callable[[float, float], bool]] = {
    Condition.AT_LEAST: operator.ge,
    Condition.ABOVE: operator.gt,
    Condition.AT_MOST: operator.le,
    Condition.BELOW: operator.lt,
}
_PHRASES = {
    Condition.AT_LEAST: "at least",
    Condition.ABOVE: "more than",
    Condition.AT_MOST: "at most",
    Condition.BELOW: "less than",
}
_LONGEST = 80


@dataclass(frozen=True)
class WorstRow:
    """A row beyond the limit of a rule, or a row with a drop.

    Attributes:
        id: id of the sample.
        value: value of the metric.
        before: value in the baseline run, for a drop; else None.
        response: its beginning; empty if the run has no texts.
    """

    id: str
    value: float
    before: float | None
    response: str


@dataclass(frozen=True)
class Check:
    """The decision on one rule.

    Attributes:
        metric: as the rule names it.
        rule: the rule as text.
        side: ``>=``, ``<=`` or ``drop``.
        value: the mean, or the difference to the baseline; None if there is none.
        bound: the end of the interval that decides; None if there is none.
        coverage: share of all rows (unreadable ones included) that have a value; for a drop, share of pairs
            with both values, of the rows of the larger run.
        passed: whether the rule passed.
        reason: why it failed; else empty.
        decided_on: ``interval`` or ``mean``.
        level: level of the interval, in (0, 1).
        questions: number of questions with a value; for a drop, in both runs.
        needed: number of questions at which the rule would pass with the same mean and spread, approximately;
            None if the rule passed or no number is enough.
        look: number of this gate among those on these questions with such a rule, from 1; None if unknown.
        worst: for a failed rule, the rows furthest beyond the limit or with the largest drops.
    """

    metric: str
    rule: str
    side: str
    value: float | None
    bound: float | None
    coverage: float
    passed: bool
    reason: str
    decided_on: On = "interval"
    level: float = 0.95
    questions: int = 0
    needed: int | None = None
    look: int | None = None
    worst: tuple[WorstRow, ...] = ()


@dataclass(frozen=True)
class Policy:
    """How rules are decided.

    Attributes:
        coverage: share of rows that must have a value, unless a rule has its own.
        on: ``interval`` or ``mean``.
        level: level of the intervals, in (0, 1).
        worst: number of rows listed for a failed check.
    """

    coverage: float
    on: On
    level: float
    worst: int

    @property
    def interval(self) -> str:
        """Name of the interval in messages."""
        return f"{100 * self.level:.6g} % interval"


def failed_check(rule: Rule, reason: str, policy: Policy) -> Check:
    """Fail a rule that cannot be decided."""
    made = Check(rule.metric, str(rule), rule.side, None, None, 0.0, passed=False, reason=reason)
    return replace(made, decided_on=policy.on, level=policy.level)


def check_threshold(run: ScoredRun, name: str, rule: Rule, policy: Policy) -> Check:
    """Decide a rule on the mean of a metric of the run.

    A ratio is decided on the bounded scale of its mean; the map is monotone, so the decision is the same.
    """
    column = with_range(run.metrics[name])
    scaled, clusters = on_mean_scale(column), run.clusters[column.ok]
    values = scaled.values[column.ok]
    found = mean_interval(values, clusters, low=scaled.low, high=scaled.high, level=policy.level)
    lower = rule.condition.is_lower
    mean, end = (float(values.mean()) if len(values) else None), _end(found, lower=lower)
    made = Check(
        rule.metric,
        str(rule),
        rule.side,
        _in_unit(mean, column),
        _in_unit(end, column),
        _share(len(values), run),
        passed=False,
        reason=lacks_values(len(values), run, rule, policy, "have a value"),
        decided_on=policy.on,
        level=policy.level,
        questions=len(np.unique(clusters)),
    )
    if not made.reason:
        limit = float(bounded_ratio(rule.threshold)) if column.is_ratio else rule.threshold
        needed = _needed(mean, limit, made.questions, end, scaled.low if lower else scaled.high, policy)
        made = _decide(made, rule, policy, found, _questions(made.questions, needed, run), needed)
    passed = not made.reason
    worst = () if passed else _worst(run, column, rule, policy.worst)
    return replace(made, passed=passed, worst=worst)


def _in_unit(number: float | None, column: MetricColumn) -> float | None:
    """Convert a number from the scale of the mean to the unit of the metric."""
    return ratio_of(number) if column.is_ratio and number is not None else number


def _decide(
    made: Check, rule: Rule, policy: Policy, found: Interval | NoInterval, few: str, needed: int | None
) -> Check:
    """Add the reason for a failure, and how many questions would be enough."""
    holds, limit = _HOLDS[rule.condition], f"{_PHRASES[rule.condition]} {rule.threshold:g}"
    if made.value is None:
        return replace(made, reason="there are no values")
    met = holds(made.value, rule.threshold)
    if policy.on == "mean":
        return replace(made, reason="" if met else f"the mean is {made.value:.4g}; your limit is {limit}")
    if isinstance(found, NoInterval) or made.bound is None:
        return replace(made, reason=_no_interval(found))
    if holds(made.bound, rule.threshold):
        return made
    reached = f"{'down' if rule.condition.is_lower else 'up'} to {made.bound:.4g}"
    reason = f"the {policy.interval} reaches {reached}; your limit is {limit}"
    if not met:
        return replace(made, reason=f"{reason}. The mean itself is {made.value:.4g}")
    return replace(made, needed=needed, reason=f"{reason}. {few}")


def _no_interval(found: Interval | NoInterval) -> str:
    return (
        f"there is no interval: {found.reason}" if isinstance(found, NoInterval) else "there is no interval"
    )


def _needed(
    value: float | None, limit: float, there: int, end: float | None, edge: float | None, policy: Policy
) -> int | None:
    if value is None or not there:
        return None
    return clusters_needed(value, limit, clusters=there, end=end, edge=edge, level=policy.level)


def _questions(there: int, needed: int | None, run: ScoredRun) -> str:
    """State how many questions there are, and how many are needed."""
    unit = "questions" if run.clustering.by == BY_QUESTION else "clusters"
    if needed is None:
        return f"The run has {there:,} {unit}; no number of {unit} is enough"
    return f"The run has {there:,} {unit}; about {needed:,} are needed if the mean stays the same"


def check_drop(made: MetricComparison, rule: Rule, policy: Policy, base: ScoredRun, new: ScoredRun) -> Check:
    """Decide a rule on the drop of a metric that both runs have."""
    found = made.difference
    greater = max(new, base, key=all_rows)
    bound = _end(found.interval, lower=made.higher_is_better)
    check = Check(
        rule.metric,
        str(rule),
        rule.side,
        found.difference,
        bound,
        _share(found.pairs, greater),
        passed=False,
        reason=lacks_values(found.pairs, greater, rule, policy, "have a value in both runs"),
        decided_on=policy.on,
        level=policy.level,
        questions=found.clusters,
    )
    if not check.reason:
        check = _drop_decided(check, made, rule, policy, base)
    passed = not check.reason
    worst = () if passed else _largest_drops(made, new, policy.worst)
    return replace(check, passed=passed, worst=worst)


def _drop_decided(check: Check, made: MetricComparison, rule: Rule, policy: Policy, base: ScoredRun) -> Check:
    found, sign = made.difference, -1.0 if made.higher_is_better else 1.0
    if check.value is None:
        return replace(check, reason="there are no pairs with values")
    fallen = sign * check.value
    if policy.on == "mean":
        met = fallen <= rule.threshold
        drop = f"the mean difference is a drop of {fallen:.4g}; your limit is {rule.threshold:g}"
        return replace(check, reason="" if met else drop)
    if found.interval is None or check.bound is None:
        return replace(check, reason=f"there is no interval: {found.no_interval}")
    lost = sign * check.bound
    if lost <= rule.threshold:
        return check
    reason = f"the {policy.interval} allows a drop of {lost:.4g}; your limit is {rule.threshold:g}"
    if fallen > rule.threshold:
        return replace(check, reason=f"{reason}. The mean difference itself is a drop of {fallen:.4g}")
    width = with_range(base.metrics[made.metric]).width
    edge = None if width is None else sign * width
    needed = _needed(check.value, sign * rule.threshold, found.clusters, check.bound, edge, policy)
    if not made.changed_pairs:
        unchanged = f"none of the {found.pairs:,} pairs changed, but with so few pairs the {policy.interval}"
        reason = f"{unchanged} allows a drop of {lost:.4g}; your limit is {rule.threshold:g}"
    return replace(check, needed=needed, reason=f"{reason}. {_questions(found.clusters, needed, base)}")


def _worst(run: ScoredRun, column: MetricColumn, rule: Rule, worst: int) -> tuple[WorstRow, ...]:
    """The rows furthest beyond the limit; ties in the order of the data."""
    holds = _HOLDS[rule.condition]
    order = np.argsort(column.values if rule.condition.is_lower else -column.values, kind="stable")[:worst]
    rows = [
        int(row) for row in order if column.ok[row] and not holds(float(column.values[row]), rule.threshold)
    ]
    responses = _responses(run, rows)
    return tuple(
        WorstRow(run.ids[row], float(column.values[row]), None, response)
        for row, response in zip(rows, responses, strict=True)
    )


def _largest_drops(made: MetricComparison, new: ScoredRun, worst: int) -> tuple[WorstRow, ...]:
    """The rows with the largest drops; ``made`` has only rows that got worse."""
    some = made.changed[:worst]
    responses = _responses(new, [new.ids.index(row.new_id) for row in some])
    return tuple(
        WorstRow(row.new_id, row.after, row.before, response)
        for row, response in zip(some, responses, strict=True)
    )


def _responses(run: ScoredRun, rows: list[int]) -> list[str]:
    samples = [] if run.samples is None else [*run.samples(rows)]
    return [shortened(sample.response, _LONGEST) for sample in samples] or [""] * len(rows)


def _end(interval: Interval | NoInterval | None, *, lower: bool) -> float | None:
    if not isinstance(interval, Interval):
        return None
    return interval.low if lower else interval.high


def all_rows(run: ScoredRun) -> int:
    """Number of rows of the data, unreadable rows included."""
    return run.rows + run.rejected


def _share(values: int, run: ScoredRun) -> float:
    rows = all_rows(run)
    return values / rows if rows else 0.0


def lacks_values(values: int, run: ScoredRun, rule: Rule, policy: Policy, what: str) -> str:
    """Why too few rows have a value for a decision; empty if there are enough."""
    limit = policy.coverage if rule.coverage is None else rule.coverage
    covered = _share(values, run)
    if not all_rows(run):
        return "there are no rows"
    if not covered >= limit:  # NaN fails
        unread = f" ({run.rejected} could not be read)" if run.rejected else ""
        return f"only {covered:.1%} of {all_rows(run)} rows{unread} {what}; {limit:.1%} are required"
    return ""
