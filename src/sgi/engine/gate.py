"""Whether a run is good enough: rules on the bounds of intervals and on coverage; what is not shown fails."""

from __future__ import annotations

import operator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sgi.engine.compare import Comparison, MetricComparison, compare
from sgi.engine.rules import Condition, Rule, checked_share, checked_threshold, read_rules
from sgi.engine.summary import metric_summary
from sgi.kernel.errors import UnknownName, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from sgi.kernel.scored import ScoredRun
    from sgi.stats.intervals import Interval

COVERAGE = 0.95
"""The share of rows that must have a value, where nothing else is said."""

_HOLDS: dict[Condition, Callable[[float, float], bool]] = {
    Condition.AT_LEAST: operator.ge,
    Condition.ABOVE: operator.gt,
    Condition.AT_MOST: operator.le,
    Condition.BELOW: operator.lt,
}
_LOWER_BOUNDED = (Condition.AT_LEAST, Condition.ABOVE)


@dataclass(frozen=True)
class Check:
    """One rule, decided.

    Attributes:
        metric: as the rule names it.
        wanted: the rule.
        value: the mean, or the difference to the run before; None if there is none.
        bound: the end of the interval that decides; None if there is none.
        coverage: rows with a value, of all rows of the data; for a drop, pairs with both values.
        passed: whether the rule is met.
        reason: why not; empty where it is met.
    """

    metric: str
    wanted: str
    value: float | None
    bound: float | None
    coverage: float
    passed: bool
    reason: str


@dataclass(frozen=True)
class GateReport:
    """All rules, decided.

    Attributes:
        run: the name of the run.
        checks: one a rule, at least one.
    """

    run: str
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether every rule is met."""
        return all(check.passed for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON values."""
        return {"passed": self.passed, **asdict(self)}

    def __str__(self) -> str:
        failed = sum(not check.passed for check in self.checks)
        verdict = f"{failed} of {len(self.checks)} rules not met" if failed else "all rules met"
        return "\n".join([f"{self.run}: {verdict}", _HEADER, *map(_line, self.checks)])


_ONE_OF_TWO = "A drop needs {}."
_HEADER = f"{'':<8}{'rule':<36}{'value':>10}{'bound':>10}{'coverage':>10}  reason"


def _line(check: Check) -> str:
    value, bound = ("–" if number is None else f"{number:.4f}" for number in (check.value, check.bound))
    head = f"{'met' if check.passed else 'NOT MET':<8}{check.wanted:<36}"
    return f"{head}{value:>10}{bound:>10}{check.coverage:>10.1%}  {check.reason}".rstrip()


def gate(
    run: ScoredRun,
    rules: str | Path | Rule | Sequence[str | Path | Rule],
    *,
    coverage: float = COVERAGE,
    against: ScoredRun | None = None,
    max_drop: float | None = None,
) -> GateReport:
    """Decide whether a run meets its rules.

    A rule is met if the end of the metric's 95 % interval meets it: the low end for ``>=`` and ``>``, the
    high end for ``<=`` and ``<``. A drop is met if the interval of new − base, in the metric's bad direction,
    ends within it. No value, no interval, too little coverage, no rows, an unknown metric: not met.

    Args:
        run: the run to decide on.
        rules: expressions such as ``"faithfulness>=0.8"``, TOML files of rules, or Rules.
        coverage: the share of the data's rows that must have a value, where a rule says nothing else.
        against: the run before, for drops.
        max_drop: the drop allowed each metric of the rules that has no rule of its own for it, or, without
            rules, each metric of both runs.

    Raises:
        UsageError: there is no rule, a rule makes no sense, or only one of drop and ``against`` is given.

    >>> import numpy as np
    >>> from sgi.kernel.scored import MetricColumn, ScoredRun
    >>> column = MetricColumn("squad_em", np.ones(40), np.zeros(40, dtype=np.int8), 0.0, 1.0)
    >>> run = ScoredRun("last", 40, tuple(map(str, range(40))), np.arange(40), {"squad_em": column})
    >>> gate(run, "squad_em>=0.9").passed, gate(run, "squad_em>=0.95").passed
    (True, False)
    """
    limit = checked_share("coverage", coverage)
    wanted = read_rules(rules)
    if max_drop is not None and against is None:
        raise UsageError(_ONE_OF_TWO.format("a run to compare with (against)"), hint="Give both, or neither.")
    if max_drop is not None:
        wanted += _drops(run, wanted, against, checked_threshold("max_drop", max_drop, least=0.0))
    drops = [rule for rule in wanted if rule.condition is Condition.MAX_DROP]
    if not wanted:
        raise UsageError("There is no rule to decide by.", hint='Give one, such as "faithfulness>=0.8".')
    if (against is None) == bool(drops):
        missing = "a run to compare with (against)" if drops else "how much may be lost (max_drop)"
        raise UsageError(_ONE_OF_TWO.format(missing), hint="Give both, or neither.")
    compared = None if against is None else _compared(against, run)
    return GateReport(run.name, tuple(_check(run, rule, limit, against, compared) for rule in wanted))


def _drops(
    run: ScoredRun, rules: tuple[Rule, ...], against: ScoredRun | None, max_drop: float
) -> tuple[Rule, ...]:
    """The drop allowed all metrics, as rules of those that have none of their own."""
    own = {rule.metric for rule in rules if rule.condition is Condition.MAX_DROP}
    common = [name for name in run.metrics if against is not None and name in against.metrics]
    names = dict.fromkeys([rule.metric for rule in rules] or common)
    return tuple(Rule(name, Condition.MAX_DROP, max_drop) for name in names if name not in own)


def _compared(against: ScoredRun, run: ScoredRun) -> Comparison | UsageError:
    try:
        return compare(against, run, changed=0)
    except UsageError as error:  # runs that cannot be compared don't meet a rule
        return error


def _check(
    run: ScoredRun,
    rule: Rule,
    coverage: float,
    against: ScoredRun | None,
    compared: Comparison | UsageError | None,
) -> Check:
    limit = coverage if rule.coverage is None else rule.coverage
    try:
        name = run.metric(rule.metric).metric
    except UnknownName as error:
        return _not_met(rule, str(error))
    if against is None or rule.condition is not Condition.MAX_DROP:
        return _threshold(run, name, rule, limit)
    if not isinstance(compared, Comparison):
        return _not_met(rule, str(compared))
    found = next((made for made in compared.metrics if made.metric == name), None)
    if found is None:
        return _not_met(rule, f"{against.name} has no metric {name}.")
    return _drop(found, rule, limit, max(run.rows, against.rows))


def _not_met(rule: Rule, reason: str) -> Check:
    return Check(rule.metric, str(rule), None, None, 0.0, passed=False, reason=reason)


def _threshold(run: ScoredRun, name: str, rule: Rule, limit: float) -> Check:
    made = metric_summary(run.metrics[name], run.clusters)
    covered = made.ok / run.rows if run.rows else 0.0
    lower = rule.condition in _LOWER_BOUNDED
    bound = _end(made.interval, lower=lower)
    reason = _lacks(covered, limit, run.rows, "rows have a value", bound)
    if bound is not None and not reason and not _HOLDS[rule.condition](bound, rule.threshold):
        reason = f"the {'low' if lower else 'high'} end of its interval, {bound:.6g}, doesn't meet it"
    return Check(rule.metric, str(rule), made.mean, bound, covered, passed=not reason, reason=reason)


def _drop(made: MetricComparison, rule: Rule, limit: float, rows: int) -> Check:
    found = made.difference
    covered = found.pairs / rows if rows else 0.0
    bound = _end(found.interval, lower=made.higher_is_better)
    reason = _lacks(covered, limit, rows, "rows have a value in both runs", bound)
    if bound is not None and not reason:
        lost = -bound if made.higher_is_better else bound
        if lost > rule.threshold:
            reason = f"it may have lost {lost:.6g}, by the end of the interval of the difference"
    return Check(rule.metric, str(rule), found.difference, bound, covered, passed=not reason, reason=reason)


def _end(interval: Interval | None, *, lower: bool) -> float | None:
    if interval is None:
        return None
    return interval.low if lower else interval.high


def _lacks(covered: float, limit: float, rows: int, what: str, bound: float | None) -> str:
    """Why there is nothing to decide on; empty if there is."""
    if not rows:
        return "there are no rows"
    if covered < limit:
        return f"only {covered:.1%} of {rows} {what}; {limit:.1%} are wanted"
    return "there are too few values for an interval" if bound is None else ""
