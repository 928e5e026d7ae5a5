"""Decides whether a run passes rules on interval limits and coverage."""

from __future__ import annotations

import difflib
import shlex
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, TypedDict, get_args

import numpy as np

from sgi.analysis.amounts import format_amount
from sgi.analysis.compare import Comparison, compare
from sgi.analysis.gate.checks import (
    Check,
    On,
    Policy,
    WorstRow,
    check_drop,
    check_threshold,
    failed_check,
)
from sgi.analysis.gate.rules import (
    MEAN,
    Condition,
    Rule,
    check_range,
    checked_share,
    checked_threshold,
    read_rules,
    split_statistic,
)
from sgi.analysis.groups import MAX_TESTED, NO_GROUP, row_groups
from sgi.engine.summarise import with_range
from sgi.engine.summary import ratio_notes
from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.kernel.registry import metric_name, metric_names
from sgi.kernel.short_text import metric_label, pluralize, pluralize_part, short_repr
from sgi.stats.intervals import MIN_CLUSTERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from sgi.engine.run import Run

    _Groups = Callable[[Run, str], list[str | None]]

COVERAGE = 0.95
"""Default share of rows that must have a value."""
WORST = 5
"""Default number of rows listed for a failed rule."""
_ALPHA = 0.05
_NO_RULES = 'Give one, such as "faithfulness>=0.8", or a largest drop: `against` and `max_drop`.'

Look = tuple[str, str]
"""The canonical string of a metric and the side of a rule; gates are counted by both."""


class Options(TypedDict, total=False):
    """The options of `gate`."""

    coverage: float
    max_drop: float | None
    allow_unfinished: bool
    allow_different: bool
    on: On
    looks: int | None
    worst: int
    by: str | None


@dataclass(frozen=True)
class GateReport:
    """The decisions on all rules.

    Attributes:
        run: the name of the run.
        checks: one for each rule, at least one.
        looks: planned number of gates, for which the intervals are corrected; None if they are not corrected.
        notes: assumptions and accepted differences.
    """

    run: str
    checks: tuple[Check, ...]
    looks: int | None = None
    notes: tuple[str, ...] = ()

    __repr__ = short_repr

    @property
    def passed(self) -> bool:
        """Whether every rule passed."""
        return all(check.passed for check in self.checks)

    @property
    def verdict(self) -> str:
        """The decision in one line."""
        failed = sum(not check.passed for check in self.checks)
        verdict = f"{failed} of {len(self.checks)} rules failed" if failed else "all rules passed"
        on_mean = any(check.decided_on == "mean" for check in self.checks)
        return f"{verdict} (decided on means, without intervals)" if on_mean else verdict

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {"passed": self.passed, **asdict(self)}

    def __str__(self) -> str:
        lines = [f"{self.run}: {self.verdict}", _HEADER]
        for check in self.checks:
            lines += [_line(check), *worst_lines(check)]
        return "\n".join([*lines, *self.notes])


_NO_BASELINE = "A rule on a drop needs a baseline run (`against`)."
_NO_DROP = "A baseline run (`against`) needs a rule on a drop (`max_drop`)."
_BOTH = "Give both, or neither."
_HEADER = f"{'':<8}{'rule':<36}{'value':>10}{'bound':>10}{'coverage':>10}  reason"


def _line(check: Check) -> str:
    value, bound = check.format(check.value), check.format(check.bound)
    head = f"{'passed' if check.passed else 'FAILED':<8}{check_name(check):<36}"
    return f"{head} {value:>9} {bound:>9}{check.coverage:>10.1%}  {check.reason}".rstrip()


def check_name(check: Check) -> str:
    """Return the rule as text, marked if it was decided on the mean."""
    return f"{check.rule} (on the mean)" if check.decided_on == "mean" else check.rule


def worst_lines(check: Check) -> list[str]:
    """Return the worst rows of a check, one line each."""
    return [f"  {row.id}  {_change(row, check.unit)}  {row.response}".rstrip() for row in check.worst]


def _change(row: WorstRow, unit: str) -> str:
    before = "" if row.before is None else f"{format_amount(row.before, unit)} → "
    return f"{before}{format_amount(row.value, unit)}"


def gate(
    run: Run,
    rules: str | Path | Rule | Sequence[str | Path | Rule],
    *,
    coverage: float = COVERAGE,
    against: Run | None = None,
    max_drop: float | None = None,
    allow_unfinished: bool = False,
    allow_different: bool = False,
    on: On = "interval",
    looks: int | None = None,
    earlier: Mapping[Look, int] | None = None,
    worst: int = WORST,
    by: str | None = None,
) -> GateReport:
    """Decide whether a run passes its rules.

    A rule passes if the end of the metric's 95 % interval satisfies it: the low end for ``>=`` and ``>``, the
    high end for ``<=`` and ``<``. A rule on a drop passes if the interval of new − base allows no larger
    drop. A rule fails without a value, an interval or enough coverage, if the run lacks the metric or is not
    finished, and for a drop between runs that differ in more than their responses.

    Args:
        run: the run to decide on.
        rules: expressions such as ``"faithfulness>=0.8"``, TOML files of rules, or Rules.
        coverage: share of rows that must have a value, unless a rule has its own; unreadable rows have none.
        against: the baseline run, for rules on drops.
        max_drop: largest allowed drop of each metric that has rules but no rule on a drop; without any rules,
            of each metric of the baseline.
        allow_unfinished: whether an unfinished run may pass. Its missing rows still reduce coverage.
        allow_different: whether rules on drops may pass if the runs differ in more than their responses.
        on: ``mean`` decides on means and mean differences, without intervals.
        looks: planned number of gates on the same questions. Each interval is at 1 − 0.05 / looks
            (Bonferroni), so that a run exactly at a limit passes one of them in at most 2.5 % of cases.
            Gates after the planned number fail. None: each interval is at 95 %.
        earlier: number of other runs gated on these questions before, by metric and side; None if unknown.
        worst: number of worst rows to list for each failed rule.
        by: a column of the data, or ``label``; each rule without ``where`` is checked for each of its values.

    Raises:
        UsageError: there is no rule, a rule is invalid, or only one of a drop rule and ``against`` is given.
        UnknownNameError: no metric of this name is installed or in a run.

    >>> from sgi.engine.run import Run
    >>> from sgi.kernel.metric_column import MetricColumn
    >>> column = MetricColumn("squad_em", np.ones(40), np.zeros(40, dtype=np.int8), 0.0, 1.0)
    >>> run = Run.of("last", map(str, range(40)), [column])
    >>> gate(run, "squad_em>=0.9").passed, gate(run, "squad_em>=0.95").passed
    (True, False)
    """
    policy = _policy(coverage, on, looks, worst)
    all_rules = _complete_rules(read_rules(rules), run, against, max_drop, by)
    parts = _parts(run, against, all_rules, policy)
    checks = []
    for rule in all_rules:
        check = _check(parts[rule.where], rule, policy, allow_different=allow_different)
        check = _count_look(check, look_of(run, rule), looks, earlier)
        checks.append(check if allow_unfinished else _require_finished(check, rule, run, against))
    notes = (*_notes(run, all_rules), *(note for part in parts.values() for note in part.notes()))
    return GateReport(run.name, tuple(checks), looks, tuple(dict.fromkeys(notes)))


def look_of(run: Run, rule: Rule | Check) -> Look | None:
    """Return the metric, with the rows, and the side of a rule or check; None if the run lacks the metric."""
    metric, statistic = metric_of(run, rule)
    if metric is None:
        return None
    rows = f"{rule.where}: " if rule.where else ""
    return rows + (metric if statistic == MEAN else f"{metric}.{statistic}"), rule.side


def metric_of(run: Run, rule: Rule | Check) -> tuple[str | None, str]:
    """Return the metric of a rule or check, None if the run lacks it, and the statistic of its values."""
    name, statistic = split_statistic(rule.name if isinstance(rule, Rule) else rule.metric)
    try:
        return run.metric(name).metric, statistic
    except UnknownNameError:
        return None, statistic


@dataclass(frozen=True)
class _Part:
    """The rows to which a rule applies, in the run and the baseline, and their comparison."""

    run: Run
    against: Run | None
    compared: Comparison | UsageError | None

    def notes(self) -> Iterator[str]:
        """Yield notes on accepted differences."""
        if isinstance(self.compared, Comparison):
            differences = self.compared.differences
            yield from (f"Differs in more than the responses: {other}." for other in differences)
            yield from self.compared.notes


def _parts(run: Run, against: Run | None, rules: tuple[Rule, ...], policy: Policy) -> dict[str, _Part]:
    """Return the rows of each ``where`` of the rules."""
    groups, parts = cache(row_groups), {}
    for where, rule in {rule.where: rule for rule in rules}.items():
        rows = _rows_of(run, rule, groups) if where else run
        base = _rows_of(against, rule, groups) if where and against is not None else against
        parts[where] = _Part(rows, base, None if base is None else _comparison(base, rows, policy))
    return parts


def _rows_of(run: Run, rule: Rule, groups: _Groups) -> Run:
    """Return the rows of a group. Rows that are not scored or cannot be read may be in it, so they count."""
    column, value = rule.group
    names = [NO_GROUP if name is None else name for name in groups(run, column)]
    part = run.take(np.flatnonzero(np.array(names, dtype=np.object_) == value))
    rows = len(part.ids) + run.record.rows - run.record.scored
    return replace(part, record=replace(part.record, rows=rows, rejected=run.record.rejected))


def _complete_rules(
    rules: tuple[Rule, ...], run: Run, against: Run | None, max_drop: float | None, by: str | None
) -> tuple[Rule, ...]:
    """Check the rules, and add those of ``max_drop`` and ``by``."""
    rules = _add_drops(rules, against, max_drop)
    _require_known(rules, run, against)
    for rule in rules:
        metric, _ = metric_of(run, rule)
        if metric is not None:
            column = with_range(run.metrics[metric])
            check_range(rule, column.low, column.high)
    return rules if by is None else _for_each_group(rules, run, by)


def _for_each_group(rules: tuple[Rule, ...], run: Run, by: str) -> tuple[Rule, ...]:
    names = dict.fromkeys(NO_GROUP if name is None else name for name in row_groups(run, by))
    if len(names) > MAX_TESTED:
        raise UsageError(f"The column {by} has {len(names):,} values; at most {MAX_TESTED} are allowed.")
    return tuple(
        rule if rule.where else replace(rule, where=f"{by}={name}")
        for name in names
        for rule in rules
        if not rule.where or name == next(iter(names))
    )


def _policy(coverage: float, on: str, looks: int | None, worst: int) -> Policy:
    if on not in get_args(On):
        raise UsageError(f"`on` must be 'interval' or 'mean', not {on!r}.")
    if looks is not None and (isinstance(looks, bool) or looks < 1):
        raise UsageError(f"`looks`: expected a whole number of at least 1, found {looks!r}.")
    return Policy(checked_share("coverage", coverage), on, 1 - _ALPHA / (looks or 1), worst)  # type: ignore[arg-type]


def _add_drops(rules: tuple[Rule, ...], against: Run | None, max_drop: float | None) -> tuple[Rule, ...]:
    if max_drop is not None:
        if against is None:
            raise UsageError(_NO_BASELINE, hint=_BOTH)
        limit = checked_threshold("max_drop", max_drop, least=0.0)
        own = {rule.metric for rule in rules if rule.condition is Condition.MAX_DROP}
        names = dict.fromkeys([rule.metric for rule in rules] or against.metrics)
        rules += tuple(Rule(name, Condition.MAX_DROP, limit) for name in names if name not in own)
    if not rules:
        raise UsageError("The gate has no rules.", hint=_NO_RULES)
    has_drops = any(rule.condition is Condition.MAX_DROP for rule in rules)
    if (against is None) == has_drops:
        raise UsageError(_NO_BASELINE if has_drops else _NO_DROP, hint=_BOTH)
    return rules


def _require_known(rules: tuple[Rule, ...], run: Run, against: Run | None) -> None:
    """Raise an UnknownNameError for a metric that is neither installed nor in a run: its name is misspelt."""
    columns = [*run.metrics.values(), *(() if against is None else against.metrics.values())]
    known = {*metric_names(), *(column.name for column in columns)}
    for rule in rules:
        name = metric_name(rule.metric)
        if name not in known:
            near = tuple(difflib.get_close_matches(name, sorted(known), n=2))
            hint = f"{run.name} has: {', '.join(map(metric_label, run.metrics))}."
            raise UnknownNameError("metric", name, near, hint=hint)


def _fail(check: Check, *reasons: str) -> Check:
    return replace(check, passed=False, reason="; ".join(filter(None, [*reasons, check.reason])))


def _require_finished(check: Check, rule: Rule, run: Run, against: Run | None) -> Check:
    base = against if rule.condition is Condition.MAX_DROP else None
    reasons = dict.fromkeys(
        f"{pluralize_part(len(part.ids), part.record.rows, 'row', 'is', 'are')} scored; resume it with"
        f" sgi run --resume {shlex.quote(part.name)}"
        for part in (run, base)
        if part is not None and not part.finished
    )
    return _fail(check, *reasons) if reasons else check


def _comparison(against: Run, run: Run, policy: Policy) -> Comparison | UsageError:
    try:
        return compare(
            against, run, changed=policy.worst, only_worse=True, level=policy.level, allow_different=True
        )
    except UsageError as error:  # rules on drops then fail with this reason
        return error


def _notes(run: Run, rules: tuple[Rule, ...]) -> Iterator[str]:
    """Yield notes on assumptions."""
    names = dict.fromkeys(filter(None, (metric_of(run, rule)[0] for rule in rules)))
    yield from ratio_notes(with_range(run.metrics[name]) for name in names)
    yield from run.statistics_notes()


def _check(part: _Part, rule: Rule, policy: Policy, *, allow_different: bool) -> Check:
    run, against, compared = part.run, part.against, part.compared
    if rule.where and (count := len(np.unique(run.clusters))) < MIN_CLUSTERS:
        found = f"{rule.where} has {pluralize(count, 'question')}"
        return failed_check(rule, f"not enough rows: {found}; at least {MIN_CLUSTERS} are needed", policy)
    try:
        name = run.metric(rule.metric).metric
    except UnknownNameError as error:
        return failed_check(rule, str(error), policy)
    if against is None or rule.condition is not Condition.MAX_DROP:
        return check_threshold(run, name, rule, policy)
    if not isinstance(compared, Comparison):
        return failed_check(rule, str(compared), policy)
    reason = _no_drop(run, against, rule, name, compared, allow_different=allow_different)
    if reason:
        return failed_check(rule, reason, policy)
    metric = next(metric for metric in compared.metrics if metric.metric == name)
    return check_drop(metric, rule, policy, against, run)


def _no_drop(
    run: Run, against: Run, rule: Rule, name: str, compared: Comparison, *, allow_different: bool
) -> str:
    """Return why a drop cannot be decided; an empty text if it can."""
    if rule.metric != name and rule.metric in against.metrics:  # a bare name may mean another one in each
        return f"{run.name} has no metric {rule.metric}, but {name}: score both runs with the same metric"
    if name not in against.metrics:
        return f"{against.name} has no metric {name}"
    different = [str(other) for other in compared.differences if other.concerns([name])]
    if different and not allow_different:
        reason = f"{against.name} and {run.name} differ in more than their responses: {'; '.join(different)}"
        return f"{reason}. Score both runs with the same settings, or set `allow_different`"
    return ""


def _count_look(
    check: Check, look: Look | None, looks: int | None, earlier: Mapping[Look, int] | None
) -> Check:
    """Number the check among the gates on these questions; fail it beyond the planned number."""
    if earlier is None or look is None:
        return check
    number = earlier.get(look, 0) + 1
    check = replace(check, look=number)
    if looks is None or number <= looks:
        return check
    return _fail(
        check, f"this is gate {number} on these questions, but {looks} were planned; use new questions"
    )
