"""Distribution of the values of each metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from sgi.kernel.metric_column import MetricColumn
    from sgi.reporting.views.run_columns import RunColumns

_BINS = 40
_TAIL = 0.005
_LABELS = {1: "label 1", 0: "label 0", -1: "no label"}
_ALL = "all rows"


@dataclass(frozen=True)
class Distribution:
    """Histogram of a metric: the number of rows in bins of equal width, with edges of shape (bins + 1,).

    The keys of ``counts`` are ``label 1``, ``label 0`` and ``no label``, or ``all rows`` without labels. The
    first and the last bin include the rows ``below`` and ``above`` the edges.
    """

    metric: str
    edges: tuple[float, ...]
    counts: Mapping[str, tuple[int, ...]]
    below: int
    above: int


def distributions(columns: RunColumns) -> tuple[Distribution, ...]:
    """Return the histograms of the metrics that have values."""
    return tuple(_distribution(column, columns.labels) for column in columns.metrics if column.ok.any())


def _distribution(column: MetricColumn, labels: NDArray[np.int8]) -> Distribution:
    values, known = column.values[column.ok], labels[column.ok]
    edges = _edges(column, values)
    inside = np.clip(values, edges[0], edges[-1])
    if (labels >= 0).any():
        groups = {name: known == code for code, name in _LABELS.items()}
    else:
        groups = {_ALL: np.ones(len(values), dtype=np.bool_)}
    return Distribution(
        metric=column.metric,
        edges=tuple(edges.tolist()),
        counts={
            name: tuple(np.histogram(inside[rows], edges)[0].tolist())
            for name, rows in groups.items()
            if rows.any()
        },
        below=int((values < edges[0]).sum()),
        above=int((values > edges[-1]).sum()),
    )


def _edges(column: MetricColumn, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return bin edges over the range of the metric if it is [0, 1] or [0, 100], else without outliers."""
    if column.in_unit_range:
        low, high = 0.0, 1.0
    elif column.is_percentage:
        low, high = 0.0, 100.0
    else:
        low, high = (float(end) for end in np.quantile(values, [_TAIL, 1 - _TAIL]))
    if not high - low > 1e-9 * max(abs(low), abs(high)):
        low, high = low - 0.5, low + 0.5
    return np.linspace(low, high, _BINS + 1)
