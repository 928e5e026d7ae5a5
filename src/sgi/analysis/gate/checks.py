"""Decides one rule of a gate, by the end of a confidence interval or by the mean."""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from sgi.analysis.amounts import format_beside, format_exactly, format_value
from sgi.analysis.gate.rules import Condition
from sgi.analysis.pairing import shorten
from sgi.analysis.planning import difference_source, mean_source
from sgi.engine.summarise import on_mean_scale, with_range
from sgi.kernel.clusters import BY_QUESTION
from sgi.kernel.metric import COST_UNITS
from sgi.kernel.short_text import pluralize
from sgi.stats.intervals import Interval, NoInterval, ratio_of
from sgi.stats.means import mean_interval
from sgi.stats.percentiles import Percentile, percentile
from sgi.stats.sample_size import Claim, SampleSize

if TYPE_CHECKING:
    from collections.abc import Callable

    from sgi.analysis.compare import MetricComparison
    from sgi.analysis.gate.rules import Rule
    from sgi.analysis.planning import Source
    from sgi.engine.run import Run
    from sgi.kernel.metric_column import MetricColumn

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
    """A row whose value violates the limit of a rule, or got worse than in the baseline run.

    ``before`` is the value in the baseline run, for a drop. ``response`` is shortened, and empty if the run
    has no texts.
    """

    id: str
    value: float
    before: float | None
    response: str


@dataclass(frozen=True)
class Check:
    """The decision on one rule.

    Attributes:
        metric: the name in the rule.
        rule: the rule as text.
        side: ``>=``, ``<=`` or ``drop``.
        value: the mean, or the difference to the baseline; None if there is none.
        bound: the end of the interval that decides; None if there is none.
        coverage: share of all rows (unreadable ones included) that have a value; for a drop, number of pairs
            with both values, divided by the number of rows of the larger run.
        reason: why the rule failed; empty if it passed.
        decided_on: ``interval`` or ``mean``.
        level: level of the interval, in (0, 1).
        questions: number of questions with a value; for a drop, in both runs.
        needed: number of questions at which the rule passes in about 80 % of cases, if the mean is right;
            None if the rule passed, the rows have weights, or no number is enough.
        look: number of this gate, from 1, among those on these questions with this metric and side; None if
            unknown.
        worst: for a failed rule, the rows furthest beyond the limit or with the largest drops.
        unit: ``ms``, ``tokens`` or ``$`` for latency, tokens and cost; empty for other metrics.
        where: the rows that were checked, as COLUMN=VALUE; empty for all rows.
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
    unit: str = ""
    where: str = ""

    def format(self, value: float | None) -> str:
        """Format a value of the metric: with its unit, or with four decimals; None is a dash."""
        return format_value(value, self.unit)


@dataclass(frozen=True)
class Policy:
    """Settings for the decision on rules.

    ``coverage`` is the share of rows that must have a value, for rules that do not set it; ``worst`` is the
    number of rows listed for a failed check.
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
    """Return a failed check for a rule that cannot be decided."""
    check = Check(rule.name, str(rule), rule.side, None, None, 0.0, passed=False, reason=reason)
    return replace(check, decided_on=policy.on, level=policy.level, where=rule.where)


def check_threshold(run: Run, name: str, rule: Rule, policy: Policy) -> Check:
    """Decide a rule on the mean of a metric of the run.

    A ratio v is decided on the scale v/(1 + v) of its mean; the map is monotone, so the decision is the same.
    """
    if rule.share is not None:
        return _check_percentile(run, name, rule, rule.share, policy)
    column = with_range(run.metrics[name])
    scaled, clusters = on_mean_scale(column), run.clusters[column.ok]
    values, lower = scaled.values[column.ok], rule.condition.is_lower
    weights = None if run.weights is None else run.weights[column.ok]
    ends, level = (scaled.low, scaled.high), policy.level
    interval = mean_interval(values, clusters, weights=weights, low=ends[0], high=ends[1], level=level)
    mean = float(np.average(values, weights=weights)) if len(values) else None
    end = _end(interval, lower=lower)
    check = replace(
        failed_check(rule, _missing_values(len(values), run, rule, policy, "have a value"), policy),
        value=ratio_of(mean) if column.is_ratio and mean is not None else mean,
        bound=ratio_of(end) if column.is_ratio and end is not None else end,
        coverage=_share(len(values), run),
        questions=len(np.unique(clusters)),
        unit=_unit(column),
    )
    if not check.reason:
        check = _decide_threshold(check, rule, policy, interval, run)
    if not check.reason:
        return replace(check, passed=True)
    return replace(check, worst=_worst_rows(run, column, rule, policy.worst))


def _decide_threshold(
    check: Check,
    rule: Rule,
    policy: Policy,
    interval: Interval | NoInterval,
    run: Run,
) -> Check:
    """Add the reason for a failure, and how many questions would be enough."""
    holds, limit = _HOLDS[rule.condition], _limit(rule, check.unit)
    if check.value is None:
        return replace(check, reason="there are no values")
    mean_holds = holds(check.value, rule.threshold)
    if policy.on == "mean":
        reason = f"the mean is {_text(check.value, rule, check)}; your limit is {limit}"
        return check if mean_holds else replace(check, reason=reason)
    if isinstance(interval, NoInterval) or check.bound is None:
        cause = f": {interval.reason}" if isinstance(interval, NoInterval) else ""
        return replace(check, reason=f"there is no interval{cause}")
    if holds(check.bound, rule.threshold):
        return check
    end = f"{'down' if rule.condition.is_lower else 'up'} to {_text(check.bound, rule, check)}"
    reason = f"the {policy.interval} reaches {end}; your limit is {limit}"
    if not mean_holds:
        return replace(check, reason=f"{reason}. The mean itself is {_text(check.value, rule, check)}")
    source, lower = partial(mean_source, run, rule.metric), rule.condition.is_lower
    return _with_size(check, reason, run, source, rule.threshold, policy, lower=lower)


def _check_percentile(run: Run, name: str, rule: Rule, share: float, policy: Policy) -> Check:
    """Decide a rule on a percentile of a metric; an end of the interval that is unknown fails."""
    column = with_range(run.metrics[name])
    values, clusters = column.values[column.ok], run.clusters[column.ok]
    estimate = percentile(values, share, clusters=clusters, level=policy.level)
    check = replace(
        failed_check(rule, _missing_values(len(values), run, rule, policy, "have a value"), policy),
        value=estimate.value,
        bound=estimate.low if rule.condition.is_lower else estimate.high,
        coverage=_share(len(values), run),
        questions=len(np.unique(clusters)),
        unit=_unit(column),
    )
    if not check.reason:
        check = replace(check, reason=_percentile_problem(check, estimate, rule, policy))
    if not check.reason:
        return replace(check, passed=True)
    return replace(check, worst=_worst_rows(run, column, rule, policy.worst))


def _percentile_problem(check: Check, estimate: Percentile, rule: Rule, policy: Policy) -> str:
    """Return why a rule on a percentile fails; an empty text if it passes."""
    holds, limit = _HOLDS[rule.condition], _limit(rule, check.unit)
    if check.value is None:
        return "there are no values"
    if policy.on == "mean":
        reason = f"the {rule.statistic} is {_text(check.value, rule, check)}; your limit is {limit}"
        return "" if holds(check.value, rule.threshold) else reason
    end = "lower" if rule.condition.is_lower else "upper"
    if check.bound is None:
        return (
            f"the {end} end of the {policy.interval} is unknown: {estimate.needed:,} independent rows are "
            f"needed for {rule.statistic}, and the run has {estimate.rows:,}"
        )
    if holds(check.bound, rule.threshold):
        return ""
    return (
        f"the {policy.interval} of {rule.statistic} reaches {'down' if end == 'lower' else 'up'} to "
        f"{_text(check.bound, rule, check)}; your limit is {limit}. "
        f"The {rule.statistic} itself is {_text(check.value, rule, check)}"
    )


def _unit(column: MetricColumn) -> str:
    return column.unit if column.unit in COST_UNITS else ""


def _limit(rule: Rule, unit: str) -> str:
    return f"{_PHRASES[rule.condition]} {format_exactly(rule.threshold, unit)}"


def _text(value: float, rule: Rule, check: Check) -> str:
    return format_beside(value, rule.threshold, check.unit)


def _questions_needed(source: Source, limit: float, policy: Policy, *, lower: bool) -> tuple[int, int] | None:
    """Return the number if the mean is right, and if it is at the better end of its interval."""
    claim = Claim("above" if lower else "below", source.to_scale(limit))
    needed = SampleSize(source.pilot, claim, source.pilot.value, policy.level).needed()
    end = _end(source.interval(policy.level), lower=not lower)
    if needed is None or end is None:
        return None
    best = SampleSize(source.pilot, claim, end, policy.level).needed()
    return needed, min(best or needed, needed)


def _with_size(
    check: Check,
    reason: str,
    run: Run,
    source: Callable[[], Source],
    limit: float,
    policy: Policy,
    *,
    lower: bool,
) -> Check:
    """Add the reason and how many questions would be enough; not for rows with weights: pilots have none."""
    if run.weights is not None:
        return replace(check, reason=reason)
    needed = _questions_needed(source(), limit, policy, lower=lower)
    return replace(
        check,
        needed=needed[0] if needed else None,
        reason=f"{reason}. {_size_note(check, needed, run)}",
    )


def _size_note(check: Check, needed: tuple[int, int] | None, run: Run) -> str:
    unit = "questions" if run.clustering.by == BY_QUESTION else "clusters"
    count = f"{check.where or 'The run'} has {check.questions:,} {unit}"
    if needed is None:
        return f"{count}; no number of {unit} is enough"
    return (
        f"{count}; about {needed[0]:,} are needed to pass in 80 % of cases if this "
        f"mean is right ({needed[1]:,} at the better end of its interval; no number is enough at the other)"
    )


def check_drop(compared: MetricComparison, rule: Rule, policy: Policy, base: Run, new: Run) -> Check:
    """Decide a rule on the drop of a metric that both runs have."""
    difference, larger = compared.difference, max(new, base, key=_all_rows)
    reason = _missing_values(difference.pairs, larger, rule, policy, "have a value in both runs")
    check = replace(
        failed_check(rule, reason, policy),
        value=difference.difference,
        bound=_end(difference.interval, lower=compared.higher_is_better),
        coverage=_share(difference.pairs, larger),
        questions=difference.clusters,
        unit=_unit(with_range(new.metrics[compared.metric])),
    )
    if not reason:
        check = _decide_drop(check, compared, rule, policy, base, new)
    if not check.reason:
        return replace(check, passed=True)
    return replace(check, worst=_largest_drops(compared, new, policy.worst))


def _decide_drop(
    check: Check, compared: MetricComparison, rule: Rule, policy: Policy, base: Run, new: Run
) -> Check:
    difference, sign = compared.difference, -1.0 if compared.higher_is_better else 1.0
    limit = f"your limit is {format_exactly(rule.threshold, check.unit)}"
    if check.value is None:
        return replace(check, reason="there are no pairs with values")
    drop = sign * check.value
    change = "drop" if compared.higher_is_better else "rise"
    if policy.on == "mean":
        reason = f"the mean difference is a {change} of {_text(drop, rule, check)}; {limit}"
        return check if drop <= rule.threshold else replace(check, reason=reason)
    if difference.interval is None or check.bound is None:
        return replace(check, reason=f"there is no interval: {difference.no_interval}")
    largest = sign * check.bound
    if largest <= rule.threshold:
        return check
    reason = f"the {policy.interval} allows a {change} of {_text(largest, rule, check)}; {limit}"
    if drop > rule.threshold:
        return replace(
            check, reason=f"{reason}. The mean difference itself is a {change} of {_text(drop, rule, check)}"
        )
    if not compared.changed_pairs:
        reason = f"none of the {pluralize(difference.pairs, 'pair')} changed, but with so few pairs {reason}"
    source, lower = partial(difference_source, base, new, compared.metric), compared.higher_is_better
    return _with_size(check, reason, base, source, sign * rule.threshold, policy, lower=lower)


def _worst_rows(run: Run, column: MetricColumn, rule: Rule, worst: int) -> tuple[WorstRow, ...]:
    """Return the rows furthest beyond the limit; ties keep the order of the data."""
    holds, values = _HOLDS[rule.condition], column.values
    order = np.argsort(values if rule.condition.is_lower else -values, kind="stable")[:worst].tolist()
    rows = [row for row in order if column.ok[row] and not holds(float(values[row]), rule.threshold)]
    return tuple(
        WorstRow(run.ids[row], float(values[row]), None, response)
        for row, response in zip(rows, _responses(run, rows), strict=True)
    )


def _largest_drops(compared: MetricComparison, new: Run, worst: int) -> tuple[WorstRow, ...]:
    """Return the rows with the largest drops; the comparison lists only rows that got worse."""
    rows = compared.changed[:worst]
    responses = _responses(new, [new.ids.index(row.new_id) for row in rows])
    return tuple(
        WorstRow(row.new_id, row.after, row.before, response)
        for row, response in zip(rows, responses, strict=True)
    )


def _responses(run: Run, rows: list[int]) -> list[str]:
    samples = [] if run.read_samples is None else [*run.read_samples(rows)]
    return [shorten(sample.response, _LONGEST) for sample in samples] or [""] * len(rows)


def _end(interval: Interval | NoInterval | None, *, lower: bool) -> float | None:
    if not isinstance(interval, Interval):
        return None
    return interval.low if lower else interval.high


def _all_rows(run: Run) -> int:
    """Return the number of rows of the data, unreadable rows included."""
    return run.record.rows + run.record.rejected


def _share(values: int, run: Run) -> float:
    rows = _all_rows(run)
    return values / rows if rows else 0.0


def _missing_values(values: int, run: Run, rule: Rule, policy: Policy, verb: str) -> str:
    """Return why too few rows have a value for a decision; an empty text if there are enough."""
    limit = policy.coverage if rule.coverage is None else rule.coverage
    share, rows = _share(values, run), _all_rows(run)
    if not rows:
        return "the run has no rows"
    if not share >= limit:  # NaN fails
        unreadable = f" ({run.record.rejected} could not be read)" if run.record.rejected else ""
        return f"only {share:.1%} of {pluralize(rows, 'row')}{unreadable} {verb}; {limit:.1%} are required"
    return ""
