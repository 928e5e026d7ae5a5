"""Decides whether the newest run of data causes an alert: it got worse, or violates a rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sgi.analysis.gate.gate import gate
from sgi.analysis.gate.rules import Condition
from sgi.analysis.trend import trend
from sgi.engine.stored_runs import read_run
from sgi.kernel.errors import UsageError
from sgi.store.run_queries import find_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.analysis.gate.checks import Check
    from sgi.analysis.gate.rules import Rule
    from sgi.analysis.trend import Change, Trend
    from sgi.store.database import Database


@dataclass(frozen=True)
class WatchCheck:
    """The check of the newest run that has a mean of the metric.

    ``failed`` are the rules that it violates.
    """

    trend: Trend
    failed: tuple[Check, ...]

    @property
    def change(self) -> Change | None:
        """The last change point, if the metric got worse there; otherwise None."""
        return self.trend.worse

    @property
    def alert(self) -> bool:
        """Whether the run got worse or violates a rule."""
        return self.change is not None or bool(self.failed)


def require_limits(rules: Sequence[Rule]) -> None:
    """Raise a UsageError for a rule on a drop, since a watch has no baseline run."""
    for rule in rules:
        if rule.condition is Condition.MAX_DROP:
            hint = "Leave it out: the watch finds drops itself. `sgi gate --against RUN` checks such rules."
            raise UsageError(f"The rule {rule} needs a baseline run, which a watch does not have.", hint=hint)


def check_newest(database: Database, data: str, metric: str, rules: Sequence[Rule]) -> WatchCheck:
    """Check the newest finished run with this data. It does not count as a gate on its questions.

    Raises:
        UsageError: a rule is on a drop.
        UnknownNameError: there are no finished runs with this data, or none of them has the metric.
    """
    require_limits(rules)
    found = trend(database, data, metric)
    failed: tuple[Check, ...] = ()
    if rules:
        run = read_run(database, find_run(database, found.newest.run))
        failed = tuple(check for check in gate(run, rules, worst=0).checks if not check.passed)
    return WatchCheck(found, failed)
