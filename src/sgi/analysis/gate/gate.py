"""Decides whether a run is good enough: by rules on the ends of intervals and on coverage."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, TypedDict, get_args

from sgi.analysis.compare import Comparison, compare
from sgi.analysis.gate.checks import (
    Check,
    On,
    Policy,
    WorstRow,
    check_drop,
    check_threshold,
    not_met,
)
from sgi.analysis.gate.rules import Condition, Rule, check_range, checked_share, checked_threshold, read_rules
from sgi.engine.summarise import with_range
from sgi.engine.summary import ratio_notes
from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.kernel.short_repr import short_repr

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from sgi.kernel.scored import ScoredRun

COVERAGE = 0.95
"""The share of rows that must have a value, where nothing else is said."""
WORST = 5
"""How many rows a rule that is not met names."""
_ALPHA = 0.05

Look = tuple[str, str]
"""A metric by its canonical string, and the side of a rule: looks at one thing share both."""


class Options(TypedDict, total=False):
    """The options of `gate`, which it explains."""

    coverage: float
    max_drop: float | None
    allow_unfinished: bool
    allow_different: bool
    on: On
    looks: int | None
    worst: int


@dataclass(frozen=True)
class GateReport:
    """All rules, decided.

    Attributes:
        run: the name of the run.
        checks: one a rule, at least one.
        looks: how many looks at these questions the intervals allow for; None where each stands alone.
        notes: what was assumed, and what was accepted.
    """

    run: str
    checks: tuple[Check, ...]
    looks: int | None = None
    notes: tuple[str, ...] = ()

    __repr__ = short_repr

    @property
    def passed(self) -> bool:
        """Whether every rule is met."""
        return all(check.passed for check in self.checks)

    @property
    def verdict(self) -> str:
        """The decision in one line."""
        failed = sum(not check.passed for check in self.checks)
        verdict = f"{failed} of {len(self.checks)} rules not met" if failed else "all rules met"
        on_mean = any(check.decided_on == "mean" for check in self.checks)
        return f"{verdict}, decided on the mean alone without allowing for chance" if on_mean else verdict

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON values."""
        return {"passed": self.passed, **asdict(self)}

    def __str__(self) -> str:
        lines = [f"{self.run}: {self.verdict}", _HEADER]
        for check in self.checks:
            lines += [_line(check), *worst_lines(check)]
        return "\n".join([*lines, *self.notes])


_ONE_OF_TWO = "A drop needs {}."
_HEADER = f"{'':<8}{'rule':<36}{'value':>10}{'bound':>10}{'coverage':>10}  reason"


def _line(check: Check) -> str:
    value, bound = ("–" if number is None else f"{number:.4f}" for number in (check.value, check.bound))
    head = f"{'met' if check.passed else 'NOT MET':<8}{check_name(check):<36}"
    return f"{head}{value:>10}{bound:>10}{check.coverage:>10.1%}  {check.reason}".rstrip()


def check_name(check: Check) -> str:
    """The rule, with a mark where it was decided on the mean."""
    return f"{check.rule} (on the mean)" if check.decided_on == "mean" else check.rule


def worst_lines(check: Check) -> list[str]:
    """The worst rows of a check, one line each."""
    return [f"  {row.id}  {_change(row)}  {row.response}".rstrip() for row in check.worst]


def _change(row: WorstRow) -> str:
    return f"{row.value:.4g}" if row.before is None else f"{row.before:.4g} → {row.value:.4g}"


def gate(
    run: ScoredRun,
    rules: str | Path | Rule | Sequence[str | Path | Rule],
    *,
    coverage: float = COVERAGE,
    against: ScoredRun | None = None,
    max_drop: float | None = None,
    allow_unfinished: bool = False,
    allow_different: bool = False,
    on: On = "interval",
    looks: int | None = None,
    earlier: Mapping[Look, int] | None = None,
    worst: int = WORST,
) -> GateReport:
    """Decide whether a run meets its rules.

    A rule is met if the end of the metric's 95 % interval meets it: the low end for ``>=`` and ``>``, the
    high end for ``<=`` and ``<``. A drop is met if the interval of new − base, in the metric's bad direction,
    ends within it. No value, no interval, too little coverage, no rows, an unknown metric, a run that is not
    finished, runs that differ in more than their responses: not met.

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
        allow_different: whether runs may meet rules on drops that differ in more than their responses.
        on: ``mean`` decides on means and mean differences, and does not allow for chance.
        looks: how many runs over the same questions will be gated by these rules. Each interval is taken at
            the level 1 − 0.05 / looks (Bonferroni), so that a run exactly at a limit passes at any of the
            looks in at most 2.5 % of cases; further looks are not met. None: 95 % at each look.
        earlier: how many other runs over these questions were gated before, by metric and side; see
            ``sgi.store.gates``. None: not known.
        worst: how many of the worst rows to name for each rule that is not met.

    Raises:
        UsageError: there is no rule, a rule makes no sense, or only one of drop and ``against`` is given.

    >>> import numpy as np
    >>> from sgi.kernel.scored import MetricColumn, ScoredRun
    >>> column = MetricColumn("squad_em", np.ones(40), np.zeros(40, dtype=np.int8), 0.0, 1.0)
    >>> run = ScoredRun("last", 40, tuple(map(str, range(40))), np.arange(40), {"squad_em": column})
    >>> gate(run, "squad_em>=0.9").passed, gate(run, "squad_em>=0.95").passed
    (True, False)
    """
    policy = _policy(coverage, on, looks, worst)
    wanted = _all_rules(read_rules(rules), against, max_drop)
    _check_ranges(wanted, run)
    compared = None if against is None else _compared(against, run, policy)
    checks = []
    for rule in wanted:
        check = _check(run, rule, policy, against, compared, allow_different=allow_different)
        check = _counted(check, look_of(run, rule), looks, earlier)
        checks.append(check if allow_unfinished else _finished(check, rule, run, against))
    return GateReport(run.name, tuple(checks), looks, _notes(run, wanted, compared))


def look_of(run: ScoredRun, asked: Rule | Check) -> Look | None:
    """What a rule or a check looks at; None where the run does not have the metric."""
    try:
        return run.metric(asked.metric).metric, asked.side
    except UnknownNameError:
        return None


def _policy(coverage: float, on: str, looks: int | None, worst: int) -> Policy:
    if on not in get_args(On):
        raise UsageError(f"on is 'interval' or 'mean', not {on!r}.")
    if looks is not None and (isinstance(looks, bool) or looks < 1):
        raise UsageError(f"looks: expected a whole number of at least 1, found {looks!r}.")
    return Policy(checked_share("coverage", coverage), on, 1 - _ALPHA / (looks or 1), worst)  # type: ignore[arg-type]


def _all_rules(
    given: tuple[Rule, ...], against: ScoredRun | None, max_drop: float | None
) -> tuple[Rule, ...]:
    """The rules, with the drop allowed all metrics."""
    if max_drop is not None and against is None:
        raise UsageError(_ONE_OF_TWO.format("a run to compare with (against)"), hint="Give both, or neither.")
    if max_drop is not None:
        given += _drops(given, against, checked_threshold("max_drop", max_drop, least=0.0))
    drops = [rule for rule in given if rule.condition is Condition.MAX_DROP]
    if not given:
        raise UsageError("There is no rule to decide by.", hint='Give one, such as "faithfulness>=0.8".')
    if (against is None) == bool(drops):
        missing = "a run to compare with (against)" if drops else "how much may be lost (max_drop)"
        raise UsageError(_ONE_OF_TWO.format(missing), hint="Give both, or neither.")
    return given


def _check_ranges(rules: tuple[Rule, ...], run: ScoredRun) -> None:
    """Refuse rules outside the ranges that the run's metrics have."""
    for rule in rules:
        look = look_of(run, rule)
        if look is not None:
            column = with_range(run.metrics[look[0]])
            check_range(rule, column.low, column.high)


def _finished(check: Check, rule: Rule, run: ScoredRun, against: ScoredRun | None) -> Check:
    """The check, not met if a run that it is based on has rows still to be scored."""
    before = against if rule.condition is Condition.MAX_DROP else None
    reasons = {
        f"{len(found.ids)} of {found.rows} rows are scored; resume it with"
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


def _compared(against: ScoredRun, run: ScoredRun, policy: Policy) -> Comparison | UsageError:
    try:
        return compare(
            against, run, changed=policy.worst, only_worse=True, level=policy.level, allow_different=True
        )
    except UsageError as error:  # runs that cannot be compared do not meet a rule
        return error


def _notes(
    run: ScoredRun, rules: tuple[Rule, ...], compared: Comparison | UsageError | None
) -> tuple[str, ...]:
    """What was assumed, each note once."""
    names = {look[0]: None for rule in rules if (look := look_of(run, rule)) is not None}
    notes = [
        *ratio_notes(with_range(run.metrics[name]) for name in names),
        *run.clustering.notes(len(run.ids)),
    ]
    if isinstance(compared, Comparison):
        notes += [f"Different beside the responses: {found}." for found in compared.differences]
        notes += compared.notes
    return tuple(dict.fromkeys(notes))


def _check(
    run: ScoredRun,
    rule: Rule,
    policy: Policy,
    against: ScoredRun | None,
    compared: Comparison | UsageError | None,
    *,
    allow_different: bool,
) -> Check:
    try:
        name = run.metric(rule.metric).metric
    except UnknownNameError as error:
        return not_met(rule, str(error), policy)
    if against is None or rule.condition is not Condition.MAX_DROP:
        return check_threshold(run, name, rule, policy)
    if not isinstance(compared, Comparison):
        return not_met(rule, str(compared), policy)
    reason = _no_drop(run, against, rule, name, compared, allow_different=allow_different)
    if reason:
        return not_met(rule, reason, policy)
    found = next(made for made in compared.metrics if made.metric == name)
    return check_drop(found, rule, policy, against, run)


def _no_drop(
    run: ScoredRun, against: ScoredRun, rule: Rule, name: str, compared: Comparison, *, allow_different: bool
) -> str:
    """Why a drop cannot be decided; empty if it can."""
    if rule.metric != name and rule.metric in against.metrics:  # a bare name may mean another one in each
        return f"{run.name} has no metric {rule.metric}, but {name}: score both runs alike"
    if name not in against.metrics:
        return f"{against.name} has no metric {name}"
    different = [str(one) for one in compared.differences if one.concerns([name])]
    if different and not allow_different:
        reason = f"{against.name} and {run.name} differ in more than their responses: {'; '.join(different)}"
        return f"{reason}. Score both runs alike, or accept it: --allow-different"
    return ""


def _counted(check: Check, look: Look | None, looks: int | None, earlier: Mapping[Look, int] | None) -> Check:
    """The check with the number of its look; not met beyond the looks that were planned."""
    if earlier is None or look is None:
        return check
    check = replace(check, look=earlier.get(look, 0) + 1)
    if looks is None or check.look <= looks:  # type: ignore[operator]
        return check
    reason = f"this is look {check.look} at these questions, and {looks} were planned: take new questions"
    return replace(check, passed=False, reason="; ".join(filter(None, [reason, check.reason])))
