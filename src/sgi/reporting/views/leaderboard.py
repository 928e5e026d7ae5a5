"""View of several systems over the same questions: runs, or the groups of rows of one run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sgi.analysis.leaderboard import leaderboard, selected_metrics
from sgi.analysis.system_groups import SystemGroups, group_means
from sgi.analysis.systems import compared_systems
from sgi.reporting.views.unfinished import unfinished_notes
from sgi.store.scored_runs import scored_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.analysis.leaderboard import Leaderboard
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord


@dataclass(frozen=True)
class LeaderboardView:
    """Several systems over the same questions.

    Attributes:
        leaderboard: the systems on each metric.
        groups: the means of each system by group of questions; None without groups.
        notes: assumptions, differences between the runs, and unfinished runs.
    """

    leaderboard: Leaderboard
    groups: SystemGroups | None
    notes: tuple[str, ...]


def leaderboard_view(
    database: Database,
    records: Sequence[RunRecord],
    *,
    by: str | None = None,
    within: str | None = None,
    metrics: Sequence[str] = (),
    allow_different: bool = False,
) -> LeaderboardView:
    """Compare several runs, or the systems of one run, which the column ``by`` names.

    ``within`` is a column of the data that groups the questions.

    Raises:
        RunsDifferError: the runs differ in more than their responses; ``allow_different`` accepts that.
        UnknownNameError: a metric or column does not exist.
        UsageError: there are fewer than two systems, or they share no question.
    """
    runs = [scored_run(database, record) for record in records]
    systems = compared_systems(runs, by, allow_different=allow_different)
    result = leaderboard(systems, metrics=metrics)
    groups = None if within is None else group_means(systems, within, selected_metrics(systems, metrics))
    return LeaderboardView(result, groups, (*unfinished_notes(records), *result.notes))
