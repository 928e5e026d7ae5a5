"""Views of two metrics of a run: rank correlation, scatter, and the rows on which they disagree most."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Generic

import numpy as np

from sgi.kernel.errors import SgiError
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.registry import metric as metric_called
from sgi.kernel.sample import Field
from sgi.reporting.views.row_view import Row, sample_views
from sgi.stats.effects import pearson, ranks, spearman
from sgi.stats.intervals import has_spread

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from sgi.kernel.metric_column import MetricColumn
    from sgi.reporting.views.headline import ScoredRows
    from sgi.reporting.views.row_view import SampleView
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

WIDE_GAP = 0.5
"""Rows whose two ranks differ by more than this share of the rows are marked."""


@dataclass(frozen=True)
class Correlation:
    """Spearman's ρ of m metrics, shape (m, m); None for a constant metric; and the rows of each pair."""

    metrics: tuple[str, ...]
    spearman: tuple[tuple[float | None, ...], ...]
    rows: tuple[tuple[int, ...], ...]


def correlation(columns: ScoredRows) -> Correlation | None:
    """Return the rank correlation of the metrics; None if fewer than two metrics vary."""
    varying = [column for column in columns.metrics if has_spread(column.values[column.ok])]
    if len(varying) < 2:  # noqa: PLR2004 - a pair
        return None
    pairs = dict(_pairs(varying))
    places = range(len(varying))
    return Correlation(
        metrics=tuple(column.metric for column in varying),
        spearman=tuple(tuple(pairs[min(a, b), max(a, b)][0] for b in places) for a in places),
        rows=tuple(tuple(pairs[min(a, b), max(a, b)][1] for b in places) for a in places),
    )


def _pairs(columns: Sequence[MetricColumn]) -> Iterator[tuple[tuple[int, int], tuple[float | None, int]]]:
    """Return Spearman's correlation and the number of rows of each pair of columns, by index.

    Pairs over the same rows are computed together, so that each column is ranked once for them.
    """
    by_rows: dict[bytes, list[tuple[int, int]]] = {}
    for pair in combinations_with_replacement(range(len(columns)), 2):
        both = columns[pair[0]].ok & columns[pair[1]].ok
        by_rows.setdefault(np.packbits(both).tobytes(), []).append(pair)
    for pairs in by_rows.values():
        rows = columns[pairs[0][0]].ok & columns[pairs[0][1]].ok
        count = int(rows.sum())
        ranked = {
            place: ranks(columns[place].values[rows]) for place in {place for pair in pairs for place in pair}
        }
        for one, other in pairs:
            yield (one, other), (pearson(ranked[one], ranked[other]) if count > 1 else None, count)


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


def disagreeing_ids(columns: ScoredRows, *, most: int) -> Disagreement[str] | None:
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


def semantic_and_lexical(columns: ScoredRows) -> tuple[MetricColumn, MetricColumn] | None:
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


@dataclass(frozen=True)
class ScatterPoint:
    """A row by a lexical (horizontal) and a semantic (vertical) value.

    ``gap`` is its semantic rank minus its lexical rank, both as shares of the rows, in [−1, 1].
    """

    id: str
    lexical: float
    semantic: float
    gap: float
    label: bool | None


@dataclass(frozen=True)
class Scatter:
    """A semantic metric (vertical) against a lexical metric (horizontal).

    Attributes:
        points: the rows to draw; if there are too many, evenly spaced ones.
        rows: number of rows with both values.
        spearman: rank correlation over these rows; None if a metric is constant.
        paraphrases: rows whose semantic rank is higher by more than ``WIDE_GAP``: same meaning, other words.
        overlaps: rows whose lexical rank is higher by more than ``WIDE_GAP``: same words, other meaning.
    """

    semantic: str
    lexical: str
    points: tuple[ScatterPoint, ...]
    rows: int
    spearman: float | None
    paraphrases: int
    overlaps: int


def scatter(columns: ScoredRows, *, most: int) -> Scatter | None:
    """Return the first semantic against the first lexical metric; None if no row has both values."""
    pair = semantic_and_lexical(columns)
    return None if pair is None else scatter_of(columns, *pair, most=most)


def scatter_of(
    columns: ScoredRows, semantic: MetricColumn, lexical: MetricColumn, *, most: int
) -> Scatter | None:
    """Return two metrics against each other, with at most ``most`` points; None if no row has both values."""
    rows = np.flatnonzero(semantic.ok & lexical.ok)
    if not len(rows):
        return None
    gaps = rank_shares(semantic, rows) - rank_shares(lexical, rows)
    up, across = semantic.values[rows], lexical.values[rows]
    spaced = np.unique(np.linspace(0, len(rows) - 1, min(most, len(rows))).round().astype(np.int64))
    labels = columns.labels[rows]
    points = (
        ScatterPoint(
            columns.run.ids[rows[place]],
            float(across[place]),
            float(up[place]),
            float(gaps[place]),
            None if labels[place] < 0 else bool(labels[place]),
        )
        for place in spaced.tolist()
    )
    return Scatter(
        semantic=semantic.metric,
        lexical=lexical.metric,
        points=tuple(points),
        rows=len(rows),
        spearman=spearman(up, across) if has_spread(up) and has_spread(across) else None,
        paraphrases=int((gaps > WIDE_GAP).sum()),
        overlaps=int((gaps < -WIDE_GAP).sum()),
    )
