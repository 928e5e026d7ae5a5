"""The rows of a run with the worst values of each metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sgi.report.views.sample import sample_views

if TYPE_CHECKING:
    from sgi.kernel.scored import MetricColumn
    from sgi.report.views.columns import RunColumns
    from sgi.report.views.sample import SampleView
    from sgi.store.database import Database
    from sgi.store.queries import RunRecord


@dataclass(frozen=True)
class WorstRows:
    """The rows with the worst values of a metric.

    Attributes:
        metric: its canonical string.
        higher_is_better: its direction.
        samples: the worst first; ties in the order of the data.
    """

    metric: str
    higher_is_better: bool
    samples: tuple[SampleView, ...]


def worst_rows(
    database: Database, record: RunRecord, columns: RunColumns, *, most: int, metric: str | None = None
) -> tuple[WorstRows, ...]:
    """The rows with the worst values of each metric that has values.

    Args:
        database: where the run is.
        record: the run.
        columns: its rows.
        most: how many rows of a metric.
        metric: the only metric, by its canonical string or its bare name; None for all.

    Raises:
        UnknownName: the run has no such metric, or several of that name.
    """
    only = None if metric is None else columns.run.metric(metric).metric
    found = (column for column in columns.metrics if only in {None, column.metric})
    wanted = {column.metric: _worst(column, most) for column in found if column.ok.any()}
    ids = columns.run.ids
    known = sample_views(database, record, (ids[row] for rows in wanted.values() for row in rows))
    higher = {column.metric: column.higher_is_better for column in columns.metrics}
    return tuple(
        WorstRows(name, higher[name], tuple(known[ids[row]] for row in rows if ids[row] in known))
        for name, rows in wanted.items()
    )


def _worst(column: MetricColumn, most: int) -> list[int]:
    rows = np.flatnonzero(column.ok)
    values = column.values[rows] if column.higher_is_better else -column.values[rows]
    return [int(row) for row in rows[np.argsort(values, kind="stable")[:most]]]
