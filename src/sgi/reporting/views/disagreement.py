"""Rows with the largest disagreement between a semantic and a lexical metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from sgi.kernel.errors import SgiError
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.registry import metric as metric_called
from sgi.kernel.sample import Field
from sgi.reporting.views.row_view import sample_views
from sgi.stats.effects import ranks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sgi.kernel.metric_column import MetricColumn
    from sgi.reporting.views.row_view import SampleView
    from sgi.reporting.views.run_columns import RunColumns
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord


Row = TypeVar("Row")
"""How a row is given: by its id, or with its texts as a `SampleView`."""


@dataclass(frozen=True)
class DisagreeingRow(Generic[Row]):
    """A row that two metrics rank differently; ``gap`` is semantic − lexical rank, as shares of the rows."""

    sample: Row
    semantic: float
    lexical: float
    gap: float


@dataclass(frozen=True)
class Disagreement(Generic[Row]):
    """The rows on which a semantic and a lexical metric disagree most, largest gap first."""

    semantic: str
    lexical: str
    rows: tuple[DisagreeingRow[Row], ...]


def disagreeing_ids(columns: RunColumns, *, most: int) -> Disagreement[str] | None:
    """Return the ids of the rows with the largest disagreement; None if the run has no such metrics."""
    pair = semantic_and_lexical(columns)
    if pair is None:
        return None
    semantic, lexical = pair
    rows = np.flatnonzero(semantic.ok & lexical.ok)
    if not len(rows):
        return None
    apart = rank_shares(semantic, rows) - rank_shares(lexical, rows)
    first = np.argsort(-np.abs(apart), kind="stable")[:most]
    return Disagreement(
        semantic.metric,
        lexical.metric,
        tuple(
            DisagreeingRow(
                columns.run.ids[row],
                float(semantic.values[row]),
                float(lexical.values[row]),
                float(apart[place]),
            )
            for place, row in zip(first, rows[first], strict=True)
        ),
    )


def disagreement(
    database: Database, record: RunRecord, ids: Disagreement[str] | None
) -> Disagreement[SampleView] | None:
    """Read the texts of the rows that `disagreeing_ids` selected; rows deleted since then are left out."""
    if ids is None:
        return None
    samples = sample_views(database, record, (row.sample for row in ids.rows))
    rows = (
        DisagreeingRow(samples[row.sample], row.semantic, row.lexical, row.gap)
        for row in ids.rows
        if row.sample in samples
    )
    return Disagreement(ids.semantic, ids.lexical, tuple(rows))


def rank_shares(column: MetricColumn, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the rank of each row from 0 (worst) to 1 (best); equal values share a rank."""
    values = column.values[rows] if column.higher_is_better else -column.values[rows]
    return (ranks(values) - 1) / max(len(rows) - 1, 1)


def semantic_and_lexical(columns: RunColumns) -> tuple[MetricColumn, MetricColumn] | None:
    """Return the first embedding metric and the first lexical metric that use the reference."""
    semantic = [column for column in columns.metrics if _compares(column.metric, embeds=True)]
    lexical = [column for column in columns.metrics if _compares(column.metric, embeds=False)]
    return (semantic[0], lexical[0]) if semantic and lexical else None


def _compares(canonical: str, *, embeds: bool) -> bool:
    """Return whether a metric compares response and reference, with embeddings or without."""
    try:
        metric = metric_called(canonical)
    except SgiError:  # a metric of a plugin that is not installed
        return False
    compares = Field.REFERENCE in metric.spec.needs and not isinstance(metric, JudgedMetric)
    return compares and bool(metric.vector_needs) is embeds
