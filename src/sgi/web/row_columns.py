"""Columns of the table of rows: the address that sorts by a metric, and how good a value is."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Literal

from sgi.kernel.errors import SgiError
from sgi.kernel.registry import metric_class, metric_name
from sgi.web.paths import run_path, with_query

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgi.kernel.metric import MetricSpec
    from sgi.store.row_pages import RowPage

SHADES = 5
"""Number of shades of a cell; the darkest marks the worst values."""


@dataclass(frozen=True)
class RowColumn:
    """A column of the table.

    Attributes:
        address: the rows sorted by this column; again for the other direction. It is empty if a filter
            applies to the values of another metric, since the filter would then apply to this one.
        order: the present order of the column, as `aria-sort` names it.
        spec: the metric; None if it is not installed.
    """

    address: str
    order: Literal["ascending", "descending", "none"]
    spec: MetricSpec | None = None

    def shade(self, value: float) -> int:
        """Return a shade from 1 (good) to `SHADES` (bad); 0 for a metric without a finite range.

        >>> from sgi.kernel.registry import metric_class
        >>> column = RowColumn("", "none", metric_class("rouge_l").spec)
        >>> column.shade(1.0), column.shade(0.5), column.shade(0.0)
        (1, 3, 5)
        """
        spec = self.spec
        if spec is None or not (isfinite(spec.low) and isfinite(spec.high) and spec.low < spec.high):
            return 0
        share = (value - spec.low) / (spec.high - spec.low)
        distance = 1 - share if spec.higher_is_better else share
        return 1 + min(SHADES - 1, max(0, int(distance * SHADES)))


def row_columns(run: str, rows: RowPage, filters: Mapping[str, object]) -> dict[str, RowColumn]:
    """Return the columns of the metrics by their names, and "" for the position.

    The first sorting by a metric shows its worst rows first.
    """
    kept = {name: value for name, value in filters.items() if name not in {"sort", "page", "at"}}
    query, sort = rows.query, rows.query.sort
    has_value_filter = query.status is not None or query.low is not None or query.high is not None

    def column(metric: str) -> RowColumn:
        spec = _spec(metric)
        worst_first = "lowest" if spec is None or spec.higher_is_better else "highest"
        is_chosen = metric == query.metric
        is_sorted = is_chosen and sort != "position"
        other = "highest" if worst_first == "lowest" else "lowest"
        target = other if is_sorted and sort == worst_first else worst_first
        order: Literal["ascending", "descending", "none"] = "none"
        if is_sorted:
            order = "ascending" if sort == "lowest" else "descending"
        address = with_query(run_path(run), kept | {"metric": metric, "sort": target})
        return RowColumn(address if is_chosen or not has_value_filter else "", order, spec)

    by_position = RowColumn(with_query(run_path(run), kept), "ascending" if sort == "position" else "none")
    return {"": by_position} | {metric: column(metric) for metric in rows.metrics}


def _spec(metric: str) -> MetricSpec | None:
    try:
        return metric_class(metric_name(metric)).spec
    except SgiError:  # a metric of a plugin or definition that is not known here
        return None
