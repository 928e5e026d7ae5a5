"""Rows with the worst values of each metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic

import numpy as np

from sgi.reporting.views.disagreement import Row
from sgi.reporting.views.sample import sample_views

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.kernel.scored_run import MetricColumn
    from sgi.reporting.views.columns import RunColumns
    from sgi.reporting.views.sample import SampleView
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord


@dataclass(frozen=True)
class LowestRows(Generic[Row]):
    """The rows with the worst values of a metric, worst first; equal values in the order of the data."""

    metric: str
    higher_is_better: bool
    samples: tuple[Row, ...]


def lowest_ids(columns: RunColumns, *, most: int, metric: str | None = None) -> tuple[LowestRows[str], ...]:
    """Return the ids of the worst rows of each metric, if any is not the best possible, or of one metric.

    Raises:
        UnknownNameError: no metric has this name (with or without parameters), or several have it.
    """
    only = None if metric is None else columns.run.metric(metric).metric
    ids = columns.run.ids
    return tuple(
        LowestRows(column.metric, column.higher_is_better, tuple(ids[row] for row in _worst(column, most)))
        for column in columns.metrics
        if column.ok.any() and (column.metric == only or (only is None and _has_flaws(column)))
    )


def lowest_rows(
    database: Database, record: RunRecord, ids: Sequence[LowestRows[str]]
) -> tuple[LowestRows[SampleView], ...]:
    """Read the texts of the rows that `lowest_ids` selected; rows deleted since then are left out."""
    samples = sample_views(database, record, (name for lowest in ids for name in lowest.samples))
    return tuple(
        LowestRows(
            lowest.metric,
            lowest.higher_is_better,
            tuple(samples[name] for name in lowest.samples if name in samples),
        )
        for lowest in ids
    )


def _has_flaws(column: MetricColumn) -> bool:
    """Return whether any value of a metric is not the best possible one."""
    best = column.high if column.higher_is_better else column.low
    return bool((column.values[column.ok] != best).any())


def _worst(column: MetricColumn, most: int) -> list[int]:
    rows = np.flatnonzero(column.ok)
    values = column.values[rows] if column.higher_is_better else -column.values[rows]
    return [int(row) for row in rows[np.argsort(values, kind="stable")[:most]]]
