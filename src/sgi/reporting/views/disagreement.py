"""Rows with the largest disagreement between a semantic and a lexical metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sgi.kernel.errors import SgiError
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.registry import metric as metric_called
from sgi.kernel.sample import Field
from sgi.reporting.views.sample import sample_views
from sgi.stats.effects import ranks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sgi.kernel.scored import MetricColumn
    from sgi.reporting.views.columns import RunColumns
    from sgi.reporting.views.sample import SampleView
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord


@dataclass(frozen=True)
class DisagreeingRow:
    """A row that two metrics rank differently; the gap is semantic − lexical rank, as shares of the rows."""

    sample: SampleView
    semantic: float
    lexical: float
    gap: float


@dataclass(frozen=True)
class Disagreement:
    """Largest disagreements between a semantic and a lexical metric, largest gap first."""

    semantic: str
    lexical: str
    rows: tuple[DisagreeingRow, ...]


@dataclass(frozen=True)
class Gap:
    """A row that two metrics rank differently, without texts; see `DisagreeingRow`."""

    id: str
    semantic: float
    lexical: float
    gap: float


@dataclass(frozen=True)
class Gaps:
    """Largest disagreements without texts; see `Disagreement`."""

    semantic: str
    lexical: str
    rows: tuple[Gap, ...]


def gaps(columns: RunColumns, *, most: int) -> Gaps | None:
    """The rows with the largest disagreement; None without a semantic and a lexical metric."""
    pair = semantic_and_lexical(columns)
    if pair is None:
        return None
    semantic, lexical = pair
    rows = np.flatnonzero(semantic.ok & lexical.ok)
    if not len(rows):
        return None
    apart = rank_shares(semantic, rows) - rank_shares(lexical, rows)
    first = np.argsort(-np.abs(apart), kind="stable")[:most]
    return Gaps(
        semantic.metric,
        lexical.metric,
        tuple(
            Gap(
                columns.run.ids[row],
                float(semantic.values[row]),
                float(lexical.values[row]),
                float(apart[place]),
            )
            for place, row in zip(first, rows[first], strict=True)
        ),
    )


def disagreement(database: Database, record: RunRecord, found: Gaps | None) -> Disagreement | None:
    """Read the texts of the rows that `gaps` selected; rows deleted since then are left out."""
    if found is None:
        return None
    known = sample_views(database, record, (row.id for row in found.rows))
    rows = (
        DisagreeingRow(known[row.id], row.semantic, row.lexical, row.gap)
        for row in found.rows
        if row.id in known
    )
    return Disagreement(found.semantic, found.lexical, tuple(rows))


def rank_shares(column: MetricColumn, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Rank of each row from 0 (worst) to 1 (best); equal values share a rank."""
    values = column.values[rows] if column.higher_is_better else -column.values[rows]
    return (ranks(values) - 1) / max(len(rows) - 1, 1)


def semantic_and_lexical(columns: RunColumns) -> tuple[MetricColumn, MetricColumn] | None:
    """The first embedding metric and the first lexical metric that use the reference."""
    semantic = [column for column in columns.metrics if _compares(column.metric, embeds=True)]
    lexical = [column for column in columns.metrics if _compares(column.metric, embeds=False)]
    return (semantic[0], lexical[0]) if semantic and lexical else None


def _compares(canonical: str, *, embeds: bool) -> bool:
    """Whether a metric compares response and reference, with embeddings or without."""
    try:
        found = metric_called(canonical)
    except SgiError:  # a metric of a plugin that is not installed
        return False
    compares = Field.REFERENCE in found.spec.needs and not isinstance(found, JudgedMetric)
    return compares and bool(found.vector_needs) is embeds
