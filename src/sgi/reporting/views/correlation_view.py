"""Rank correlation of the metrics of a run."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

import numpy as np

from sgi.stats.bootstrap import has_spread
from sgi.stats.effects import pearson, ranks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.kernel.metric_column import MetricColumn
    from sgi.reporting.views.run_columns import RunColumns


@dataclass(frozen=True)
class Correlation:
    """Spearman's ρ of m metrics, shape (m, m); None for a constant metric; and the rows of each pair."""

    metrics: tuple[str, ...]
    spearman: tuple[tuple[float | None, ...], ...]
    rows: tuple[tuple[int, ...], ...]


def correlation(columns: RunColumns) -> Correlation | None:
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
