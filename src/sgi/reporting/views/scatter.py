"""Scatter of two metrics of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sgi.reporting.views.disagreement import rank_shares, semantic_and_lexical
from sgi.stats.bootstrap import has_spread
from sgi.stats.effects import spearman

if TYPE_CHECKING:
    from sgi.kernel.metric_column import MetricColumn
    from sgi.reporting.views.run_columns import RunColumns

WIDE_GAP = 0.5
"""Rows whose two ranks differ by more than this share of the rows are marked."""


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


def scatter(columns: RunColumns, *, most: int) -> Scatter | None:
    """Return the first semantic against the first lexical metric; None if no row has both values."""
    pair = semantic_and_lexical(columns)
    return None if pair is None else scatter_of(columns, *pair, most=most)


def scatter_of(
    columns: RunColumns, semantic: MetricColumn, lexical: MetricColumn, *, most: int
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
