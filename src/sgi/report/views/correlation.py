"""How alike the metrics of a run rank its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sgi.stats.draws import differ
from sgi.stats.effects import spearman

if TYPE_CHECKING:
    from sgi.report.views.columns import RunColumns


@dataclass(frozen=True)
class Correlation:
    """How alike metrics rank the rows.

    Attributes:
        metrics: canonical strings.
        spearman: one row and one column a metric, over the rows that have both values; None where a metric
            does not vary there.
        rows: how many rows each pair was computed over, of the same shape.
    """

    metrics: tuple[str, ...]
    spearman: tuple[tuple[float | None, ...], ...]
    rows: tuple[tuple[int, ...], ...]


def correlation(columns: RunColumns) -> Correlation | None:
    """How alike the metrics rank the rows; None with fewer than two that vary."""
    varying = [column for column in columns.metrics if differ(column.values[column.ok])]
    if len(varying) < 2:  # noqa: PLR2004 - one metric has nothing to be compared with
        return None
    both = [[one.ok & other.ok for other in varying] for one in varying]
    return Correlation(
        metrics=tuple(column.metric for column in varying),
        spearman=tuple(
            tuple(
                spearman(one.values[rows], other.values[rows]) if rows.sum() > 1 else None
                for other, rows in zip(varying, line, strict=True)
            )
            for one, line in zip(varying, both, strict=True)
        ),
        rows=tuple(tuple(int(rows.sum()) for rows in line) for line in both),
    )
