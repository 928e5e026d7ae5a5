"""Columns of the table of rows: the address that sorts by a metric, and how good a value is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sgi.reporting.metric_format import is_higher_better, share_of_range
from sgi.store.row_filters import worst_first
from sgi_web.paths import run_path, with_query

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgi.store.row_pages import RowPage

SHADES = 5
"""Number of shades of a cell; the strongest marks the worst values."""


@dataclass(frozen=True)
class RowColumn:
    """A column of the table.

    Attributes:
        address: the rows sorted by this column; again for the other direction. It is empty if a filter
            applies to the values of another metric, since the filter would then apply to this one.
        order: the present order of the column, as `aria-sort` names it.
        metric: its canonical name; empty for the position.
    """

    address: str
    order: Literal["ascending", "descending", "none"]
    metric: str = ""

    def shade(self, value: float) -> int:
        """Return a shade from 1 (good) to `SHADES` (bad); 0 for a metric without a finite range.

        >>> column = RowColumn("", "none", "rouge_l")
        >>> column.shade(1.0), column.shade(0.5), column.shade(0.0)
        (1, 3, 5)
        """
        share = share_of_range(self.metric, value)
        if share is None:
            return 0
        distance = 1 - share if is_higher_better(self.metric) else share
        return 1 + min(SHADES - 1, max(0, int(distance * SHADES)))


def row_columns(run: str, rows: RowPage, filters: Mapping[str, object]) -> dict[str, RowColumn]:
    """Return the columns of the metrics by their names, and "" for the position.

    The first sorting by a metric shows its worst rows first.
    """
    kept = {name: value for name, value in filters.items() if name not in {"sort", "page", "at"}}
    query, sort = rows.query, rows.query.sort
    has_value_filter = query.status is not None or query.low is not None or query.high is not None

    def column(metric: str) -> RowColumn:
        worst = worst_first(higher_is_better=is_higher_better(metric))
        is_chosen = metric == query.metric
        is_sorted = is_chosen and sort != "position"
        best = "highest" if worst == "lowest" else "lowest"
        target = best if is_sorted and sort == worst else worst
        order: Literal["ascending", "descending", "none"] = "none"
        if is_sorted:
            order = "ascending" if sort == "lowest" else "descending"
        address = with_query(run_path(run), kept | {"metric": metric, "sort": target})
        return RowColumn(address if is_chosen or not has_value_filter else "", order, metric)

    by_position = RowColumn(with_query(run_path(run), kept), "ascending" if sort == "position" else "none")
    return {"": by_position} | {metric: column(metric) for metric in rows.metrics}
