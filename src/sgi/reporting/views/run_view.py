"""View of a whole run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sgi.kernel.short_repr import short_repr
from sgi.reporting.views.all_row_views import LOWEST_ROWS, MAX_POINTS, RunViews
from sgi.reporting.views.disagreement import disagreement
from sgi.reporting.views.earlier_run import earlier_run
from sgi.reporting.views.headline import headline
from sgi.reporting.views.lowest import lowest_rows
from sgi.reporting.views.run_header import run_header
from sgi.store.run_queries import run_usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgi.analysis.diagnosis.diagnosis import Diagnosis
    from sgi.kernel.protocols import Usage
    from sgi.reporting.views.correlation_view import Correlation
    from sgi.reporting.views.disagreement import Disagreement
    from sgi.reporting.views.distribution import Distribution
    from sgi.reporting.views.earlier_run import EarlierRun
    from sgi.reporting.views.group_view import GroupTable
    from sgi.reporting.views.headline import Headline
    from sgi.reporting.views.label_metrics import LabelMetrics
    from sgi.reporting.views.lowest import LowestRows
    from sgi.reporting.views.row_view import SampleView
    from sgi.reporting.views.run_header import RunHeader
    from sgi.reporting.views.scatter import Scatter
    from sgi.store.angle_plane import Plane
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord
    from sgi.store.scored_runs import Reason


@dataclass(frozen=True)
class RunView:
    """All views of a run; a view is None if the run lacks the metrics that it needs."""

    head: RunHeader
    headline: Headline
    distributions: tuple[Distribution, ...]
    plane: Plane | None
    groups: tuple[GroupTable, ...]
    correlation: Correlation | None
    scatter: Scatter | None
    disagreement: Disagreement[SampleView] | None
    worst: tuple[LowestRows[SampleView], ...]
    labelled: tuple[LabelMetrics, ...]
    reasons: tuple[Reason, ...]
    usage: Mapping[str, Usage]
    diagnosis: Diagnosis | None = None
    earlier: EarlierRun | None = None

    __repr__ = short_repr


def run_view(
    database: Database,
    record: RunRecord,
    *,
    worst: int = LOWEST_ROWS,
    points: int = MAX_POINTS,
    views: RunViews | None = None,
) -> RunView:
    """Read all views of a run, with at most ``worst`` rows per metric and ``points`` per plot."""
    views = views or RunViews(database, record)
    plotted = views.points if points == MAX_POINTS else views.some_points(points)
    extremes = views.extremes if worst == LOWEST_ROWS else views.some_extremes(worst)
    return RunView(
        head=run_header(record),
        headline=headline(database, record, views),
        distributions=views.tables.distributions,
        plane=plotted.plane,
        groups=views.tables.groups,
        correlation=views.tables.correlation,
        scatter=plotted.scatter,
        disagreement=disagreement(database, record, extremes.gaps),
        worst=lowest_rows(database, record, extremes.worst),
        labelled=views.labelled,
        reasons=views.tables.reasons,
        usage=run_usage(database, record.id),
        earlier=earlier_run(database, record),
    )
