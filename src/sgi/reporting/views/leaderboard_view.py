"""View of several systems over the same questions: runs, or the groups of rows of one run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sgi.analysis.leaderboard import leaderboard, selected_metrics
from sgi.analysis.pareto import Pareto, pareto
from sgi.analysis.system_groups import SystemGroups, group_means
from sgi.analysis.systems import MIN_SYSTEMS, compared_systems
from sgi.kernel.errors import UsageError
from sgi.reporting.views.run_header import run_header
from sgi.reporting.views.unfinished import unfinished_notes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.analysis.leaderboard import Leaderboard
    from sgi.engine.run import Run
    from sgi.reporting.views.run_header import RunHeader
    from sgi.store.run_queries import RunRecord


@dataclass(frozen=True)
class LeaderboardOptions:
    """What a leaderboard compares and shows.

    Attributes:
        by: the column of one run's data that names the system of each row; None if each run is a system.
        within: the column of the data that groups the questions; None for no groups.
        metrics: the metrics to show; all if empty.
        pareto: two metrics, such as quality and cost, whose front is shown; they are added to ``metrics``.
        allow_different: compare runs that differ in more than their responses.
    """

    by: str | None = None
    within: str | None = None
    metrics: tuple[str, ...] = ()
    pareto: tuple[str, str] | None = None
    allow_different: bool = False

    def applies_to(self, runs: int) -> bool:
        """Return whether these runs are ranked; otherwise they are one run, or two that are compared.

        Raises:
            UsageError: one run is given without the column that names its systems.
        """
        ranked = runs > MIN_SYSTEMS or any((self.by, self.within, self.pareto))
        if ranked and self.by is None and runs < MIN_SYSTEMS:
            hint = "Give two or more runs, or one run and the column that names its systems."
            raise UsageError("One run cannot be compared.", hint=hint)
        return ranked


@dataclass(frozen=True)
class LeaderboardView:
    """Several systems over the same questions.

    Attributes:
        title: the names of the runs, or the run and the column that names its systems.
        runs: the runs.
        leaderboard: the systems on each metric.
        groups: the means of each system by group of questions; None without groups.
        pareto: the front on two metrics; None if they are not chosen.
        notes: assumptions, differences between the runs, and unfinished runs.
    """

    title: str
    runs: tuple[RunHeader, ...]
    leaderboard: Leaderboard
    groups: SystemGroups | None
    pareto: Pareto | None
    notes: tuple[str, ...]


def leaderboard_view(
    records: Sequence[RunRecord], runs: Sequence[Run], options: LeaderboardOptions
) -> LeaderboardView:
    """Rank several runs, or the systems of one run. ``runs`` are the scores of ``records``.

    Raises:
        NotComparableError: the runs differ in more than their responses; ``allow_different`` accepts that.
        UnknownNameError: a metric or column does not exist.
        UsageError: there are fewer than two systems, or they share no question.
    """
    metrics = options.metrics and (*options.metrics, *(options.pareto or ()))
    systems = compared_systems(runs, options.by, metrics=metrics, allow_different=options.allow_different)
    result = leaderboard(systems, metrics=metrics)
    groups = None
    if options.within is not None:
        groups = group_means(systems, options.within, selected_metrics(systems, metrics))
    front = None if options.pareto is None else pareto(result, *options.pareto)
    labels = ", ".join(record.label for record in records)
    return LeaderboardView(
        title=labels if options.by is None else f"{labels} by {options.by}",
        runs=tuple(map(run_header, records)),
        leaderboard=result,
        groups=groups,
        pareto=front,
        notes=(*unfinished_notes(records), *result.notes, *(() if front is None else front.notes)),
    )
