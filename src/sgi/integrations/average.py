"""The mean of a metric over rows, with its coverage."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sgi.engine.summarise import on_mean_scale, with_range
from sgi.kernel.scored_run import MetricColumn
from sgi.stats.ratios import ratio_of

if TYPE_CHECKING:
    from collections.abc import Sequence


class Average(NamedTuple):
    """The mean over the rows with a value, None without any; the number of these rows, and of all rows.

    >>> str(Average(0.5, 3, 4))
    '3 of 4 rows have a value'
    """

    mean: float | None
    ok: int
    rows: int

    @property
    def coverage(self) -> float | None:
        """The share of rows with a value; None without rows."""
        return self.ok / self.rows if self.rows else None

    def __str__(self) -> str:
        return f"{self.ok} of {self.rows} rows have a value"


def average(metric: str, values: Sequence[float | None]) -> Average:
    """Return the mean of a metric, as the summary of a run computes it, and its coverage.

    Args:
        metric: the canonical string of the metric. The mean of a ratio v is that of v/(1+v), converted back.
        values: the values of all rows; None for a row without a value.

    >>> average("rouge_l", [0.5, None, 1.0]), average("sgi", [0.5, 2.0]).mean, average("rouge_l", [None]).mean
    (Average(mean=0.75, ok=2, rows=3), 1.0, None)
    """
    known = [value for value in values if value is not None]
    return Average(_mean(metric, known) if known else None, len(known), len(values))


def _mean(metric: str, values: Sequence[float]) -> float:
    column = with_range(MetricColumn(metric, np.array(values), np.zeros(len(values), dtype=np.int8)))
    mean = float(on_mean_scale(column).values.mean())
    return ratio_of(mean) if column.is_ratio else mean
