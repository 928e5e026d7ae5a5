"""A run as people look at it, whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sgi.kernel.short_repr import short_repr
from sgi.report.views.columns import run_columns
from sgi.report.views.correlation import Correlation, correlation
from sgi.report.views.disagreement import Disagreement, disagreement
from sgi.report.views.distribution import Distribution, distributions
from sgi.report.views.groups import GroupTable, group_tables
from sgi.report.views.head import RunHead, run_head
from sgi.report.views.headline import Headline, headline
from sgi.report.views.labelled import Labelled, labelled
from sgi.report.views.plane import Plane, plane
from sgi.report.views.scatter import Scatter, scatter
from sgi.report.views.worst import WorstRows, worst_rows
from sgi.store.queries import run_usage
from sgi.store.run_rows import reasons

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgi.kernel.ports import Usage
    from sgi.store.database import Database
    from sgi.store.queries import RunRecord
    from sgi.store.run_rows import Reason

_REASONS = 20


@dataclass(frozen=True)
class RunView:
    """A run, whole.

    Attributes:
        head: what it is.
        headline: its numbers.
        distributions: one a metric that has values.
        plane: None where no metric of the run has the two angles.
        groups: by label and by each column of the metadata with few values.
        correlation: None with fewer than two metrics that vary.
        scatter: None without a semantic and a lexical metric.
        disagreement: None without a semantic and a lexical metric.
        worst: one a metric that has values.
        labelled: one a metric, where rows of both labels have values.
        reasons: why rows have no value, the most frequent first.
        usage: what was asked of each judge, by its fingerprint.
    """

    head: RunHead
    headline: Headline
    distributions: tuple[Distribution, ...]
    plane: Plane | None
    groups: tuple[GroupTable, ...]
    correlation: Correlation | None
    scatter: Scatter | None
    disagreement: Disagreement | None
    worst: tuple[WorstRows, ...]
    labelled: tuple[Labelled, ...]
    reasons: tuple[Reason, ...]
    usage: Mapping[str, Usage]

    __repr__ = short_repr


def run_view(database: Database, record: RunRecord, *, worst: int = 10, points: int = 10_000) -> RunView:
    """All that is shown of a run.

    Args:
        database: where the run is.
        record: the run.
        worst: how many of the worst rows of each metric, and of those where two metrics disagree.
        points: how many points of the plane and of the scatter plot at most.
    """
    columns = run_columns(database, record)
    return RunView(
        head=run_head(record),
        headline=headline(database, record, columns),
        distributions=distributions(columns),
        plane=plane(database, record, most=points),
        groups=group_tables(columns),
        correlation=correlation(columns),
        scatter=scatter(columns, most=points),
        disagreement=disagreement(database, record, columns, most=worst),
        worst=worst_rows(database, record, columns, most=worst),
        labelled=labelled(columns),
        reasons=tuple(reasons(database, record, most=_REASONS)),
        usage=run_usage(database, record.id),
    )
