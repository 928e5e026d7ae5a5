"""Rows with the worst values of each metric; those with a finding come first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic

import numpy as np

from sgi.engine.review import FINDINGS
from sgi.reporting.metric_format import importance, main_metric
from sgi.reporting.views.disagreement import Row
from sgi.reporting.views.row_view import sample_views

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sgi.engine.summary import MetricSummary
    from sgi.kernel.metric_column import MetricColumn
    from sgi.reporting.views.row_view import SampleView
    from sgi.reporting.views.run_columns import RunColumns
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord


@dataclass(frozen=True)
class LowestRows(Generic[Row]):
    """The rows with the worst findings and values of a metric, worst first; ties in the order of the data."""

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
        LowestRows(column.metric, column.higher_is_better, tuple(ids[row] for row in rows[:most].tolist()))
        for column in columns.metrics
        if column.ok.any() and (column.metric == only or (only is None and _has_flaws(column)))
        for rows in [_worst_first(column, columns.classes.get(column.metric))]
    )


def main_ids(columns: RunColumns, *, most: int) -> tuple[LowestRows[str], ...]:
    """Return the ids of the worst rows of the metric that selects the answers to check; empty without one."""
    found = lowest_ids(columns, most=most)
    order = sorted(found, key=lambda one: (not _has_findings(columns, one.metric), importance(one.metric)))
    return tuple(order[:1])


def rows_to_check(
    database: Database,
    record: RunRecord,
    metrics: Sequence[MetricSummary],
    worst: Sequence[LowestRows[str]],
    *,
    most: int,
) -> LowestRows[SampleView] | None:
    """Return the first answers to check of a run, of the ``worst`` rows by metric; None without any."""
    main = main_metric(metrics)
    if main is None or main.review is None:
        return None
    found = [
        replace(lowest, samples=lowest.samples[: min(most, main.review.rows)])
        for lowest in worst
        if lowest.metric == main.metric and main.review.rows
    ]
    return next(iter(lowest_rows(database, record, found)), None)


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


def _has_findings(columns: RunColumns, metric: str) -> bool:
    return any(found in FINDINGS for found in columns.classes.get(metric, ()))


def _worst_first(column: MetricColumn, findings: Sequence[str | None] | None) -> NDArray[np.int64]:
    rows = np.flatnonzero(column.ok)
    values = column.values[rows] if column.higher_is_better else -column.values[rows]
    places = {finding: place for place, finding in enumerate(FINDINGS)}
    ranks = np.array([places.get(finding or "", len(FINDINGS)) for finding in findings or ()])
    return rows[np.lexsort((values, ranks[rows]) if findings else (values,))]
