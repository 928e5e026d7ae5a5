"""Rows with the worst values of each metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sgi.reporting.views.sample import sample_views

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.kernel.scored import MetricColumn
    from sgi.reporting.views.columns import RunColumns
    from sgi.reporting.views.sample import SampleView
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord


@dataclass(frozen=True)
class LowestRows:
    """The rows with the worst values of a metric, worst first; ties in the order of the data."""

    metric: str
    higher_is_better: bool
    samples: tuple[SampleView, ...]


@dataclass(frozen=True)
class LowestIds:
    """The ids of the rows with the worst values of a metric; see `LowestRows`."""

    metric: str
    higher_is_better: bool
    ids: tuple[str, ...]


def lowest_ids(columns: RunColumns, *, most: int, metric: str | None = None) -> tuple[LowestIds, ...]:
    """The ids of the worst rows of each metric that has values, or of one metric (full or bare name).

    Raises:
        UnknownNameError: the run has no such metric, or several of that name.
    """
    only = None if metric is None else columns.run.metric(metric).metric
    ids = columns.run.ids
    return tuple(
        LowestIds(column.metric, column.higher_is_better, tuple(ids[row] for row in _worst(column, most)))
        for column in columns.metrics
        if only in {None, column.metric} and column.ok.any()
    )


def lowest_rows(
    database: Database, record: RunRecord, sequence_lowest_ids: Sequence[LowestIds]
) -> tuple[LowestRows, ...]:
    """Read the texts of the rows that `lowest_ids` selected; rows deleted since then are left out."""
    known = sample_views(database, record, (name for made in sequence_lowest_ids for name in made.ids))
    return tuple(
        LowestRows(
            made.metric, made.higher_is_better, tuple(known[name] for name in made.ids if name in known)
        )
        for made in sequence_lowest_ids
    )


def _worst(column: MetricColumn, most: int) -> list[int]:
    rows = np.flatnonzero(column.ok)
    values = column.values[rows] if column.higher_is_better else -column.values[rows]
    return [int(row) for row in rows[np.argsort(values, kind="stable")[:most]]]
