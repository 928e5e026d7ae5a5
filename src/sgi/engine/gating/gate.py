"""Whether a run is good enough: rules on the bounds of intervals and on coverage; what is not shown fails."""

from __future__ import annotations

import operator
import shlex
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from sgi.engine.compare import Comparison, MetricComparison, compare
from sgi.engine.gating.rules import Condition, Rule, checked_share, checked_threshold, read_rules
from sgi.engine.groups import column_summary
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
        coverage: rows with a value, of all rows of the data, also of those that could not be read; for a
            drop, pairs with both values, of all rows of the run that has more.
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
    allow_unfinished: bool = False,
) -> GateReport:
    """Decide whether a run meets its rules.

    A rule is met if the end of the metric's 95 % interval meets it: the low end for ``>=`` and ``>``, the
    high end for ``<=`` and ``<``. A drop is met if the interval of new − base, in the metric's bad direction,
    ends within it. No value, no interval, too little coverage, no rows, an unknown metric, a run that is not
    finished, a drop of a metric that was another version: not met.

    Args:
        run: the run to decide on.
        rules: expressions such as ``"faithfulness>=0.8"``, TOML files of rules, or Rules.
        coverage: the share of the data's rows that must have a value, where a rule says nothing else. Rows
            that could not be read are rows too, without a value.
        against: the run before, for drops.
        max_drop: the drop allowed each metric of the rules that has no rule of its own for it, or, without
            rules, each metric of the run before; one that the run lacks is not met.
        allow_unfinished: whether runs of which rows are still to be done may meet rules. The rows to be done
            count against coverage all the same.

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
        wanted += _drops(wanted, against, checked_threshold("max_drop", max_drop, least=0.0))
    drops = [rule for rule in wanted if rule.condition is Condition.MAX_DROP]
    if not wanted:
        raise UsageError("There is no rule to decide by.", hint='Give one, such as "faithfulness>=0.8".')
    if (against is None) == bool(drops):
        missing = "a run to compare with (against)" if drops else "how much may be lost (max_drop)"
        raise UsageError(_ONE_OF_TWO.format(missing), hint="Give both, or neither.")
    compared = None if against is None else _compared(against, run)
    checks = [_check(run, rule, limit, against, compared) for rule in wanted]
    if not allow_unfinished:
        checks = [_finished(check, rule, run, against) for check, rule in zip(checks, wanted, strict=True)]
    return GateReport(run.name, tuple(checks))


def _finished(check: Check, rule: Rule, run: ScoredRun, against: ScoredRun | None) -> Check:
    """The check, not met if a run that it stands on has rows still to be done."""
    before = against if rule.condition is Condition.MAX_DROP else None
    reasons = {
        f"{len(found.ids)} of {found.rows} rows are scored; go on with"
        f" sgi run --resume {shlex.quote(found.name)}": None
        for found in (run, before)
        if found is not None and not found.finished
    }
    if not reasons:
        return check
    return replace(check, passed=False, reason="; ".join(filter(None, [*reasons, check.reason])))


def _drops(rules: tuple[Rule, ...], against: ScoredRun | None, max_drop: float) -> tuple[Rule, ...]:
    """The drop allowed all metrics, as rules of those that have none of their own."""
    own = {rule.metric for rule in rules if rule.condition is Condition.MAX_DROP}
    before = () if against is None else against.metrics
    names = dict.fromkeys([rule.metric for rule in rules] or before)
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
    if rule.metric != name and rule.metric in against.metrics:  # a bare name may mean another one in each
        return _not_met(rule, f"{run.name} has no metric {rule.metric}, but {name}: score both runs alike")
    found = next((made for made in compared.metrics if made.metric == name), None)
    if found is None:
        other = next((made.reason for made in compared.incomparable if made.metric == name), "")
        return _not_met(rule, other or f"{against.name} has no metric {name}.")
    return _drop(found, rule, limit, max((run, against), key=_all_rows))


def _not_met(rule: Rule, reason: str) -> Check:
    return Check(rule.metric, str(rule), None, None, 0.0, passed=False, reason=reason)


def _threshold(run: ScoredRun, name: str, rule: Rule, limit: float) -> Check:
    made = column_summary(run.metrics[name], run.clusters)
    covered = _share(made.ok, run)
    lower = rule.condition in _LOWER_BOUNDED
    bound = _end(made.interval, lower=lower)
    reason = _lacks(covered, limit, run, "have a value", made.no_interval)
    if bound is not None and not reason and not _HOLDS[rule.condition](bound, rule.threshold):
        reason = f"the {'low' if lower else 'high'} end of its interval, {bound:.6g}, doesn't meet it"
    return Check(rule.metric, str(rule), made.mean, bound, covered, passed=not reason, reason=reason)


def _drop(made: MetricComparison, rule: Rule, limit: float, greater: ScoredRun) -> Check:
    found = made.difference
    covered = _share(found.pairs, greater)
    bound = _end(found.interval, lower=made.higher_is_better)
    reason = _lacks(covered, limit, greater, "have a value in both runs", found.no_interval)
    if bound is not None and not reason:
        lost = -bound if made.higher_is_better else bound
        if not lost <= rule.threshold:  # so that NaN is not met
            reason = f"it may have lost {lost:.6g}, by the end of the interval of the difference"
    return Check(rule.metric, str(rule), found.difference, bound, covered, passed=not reason, reason=reason)


def _end(interval: Interval | None, *, lower: bool) -> float | None:
    if interval is None:
        return None
    return interval.low if lower else interval.high


def _all_rows(run: ScoredRun) -> int:
    """The rows of the data, with those that could not be read."""
    return run.rows + run.rejected


def _share(values: int, run: ScoredRun) -> float:
    rows = _all_rows(run)
    return values / rows if rows else 0.0


def _lacks(covered: float, limit: float, run: ScoredRun, what: str, no_interval: str) -> str:
    """Why there is nothing to decide on; empty if there is."""
    if not _all_rows(run):
        return "there are no rows"
    if not covered >= limit:  # so that NaN is not met
        unread = f" ({run.rejected} could not be read)" if run.rejected else ""
        return f"only {covered:.1%} of {_all_rows(run)} rows{unread} {what}; {limit:.1%} are wanted"
    return f"there is no interval: {no_interval}" if no_interval else ""
