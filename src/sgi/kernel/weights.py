"""Weights of rows: how much traffic each row of a sample stands for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.kernel.errors import DataError
from sgi.kernel.placeholders import display_text
from sgi.kernel.short_text import shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

_MOST = 0.5
_FEW = 0.1
_LONGEST = 40


@dataclass(frozen=True)
class Weighting:
    """The weights of a run in numbers.

    Attributes:
        column: the column of the data with the weights.
        rows: number of rows.
        effective: Kish's effective number of rows, (Σ w)² / Σ w².
        heaviest: least number of rows that carry half of the weight.
    """

    column: str
    rows: int
    effective: float
    heaviest: int

    @classmethod
    def of(cls, column: str, weights: NDArray[np.float64]) -> Weighting:
        """Return the numbers of these weights, all above 0, shape (n,).

        >>> Weighting.of("traffic", np.array([8.0, 1, 1, 1, 1, 1, 1, 1, 1, 1]))
        Weighting(column='traffic', rows=10, effective=3.958904109589041, heaviest=2)
        """
        share = np.sort(weights / weights.max(initial=1.0))[::-1]
        total = np.cumsum(share)
        heaviest = int(np.searchsorted(total, _MOST * total[-1]) + 1) if len(total) else 0
        effective = float(total[-1] ** 2 / np.square(share).sum()) if len(total) else 0.0
        return cls(column, len(weights), effective, heaviest)

    def notes(self) -> Iterator[str]:
        """Yield notes that say which numbers are weighted, and whether few rows carry most of the weight."""
        yield (
            f"Means, their intervals and tests are weighted by the column {self.column!r}: the {self.rows:,}"
            f" rows count as {self.effective:,.1f} rows of equal weight. Not weighted: numbers of rows,"
            " coverage, percentiles, AUROC, classes, causes, flags and charts of single values."
        )
        if self.heaviest <= max(1.0, _FEW * self.rows):
            rows = "1 row carries" if self.heaviest == 1 else f"{self.heaviest:,} rows carry"
            yield f"{rows} at least half of the weight, so the means depend mostly on them."


def read_weights(column: str, values: Sequence[Any], ids: Sequence[str], file: str) -> NDArray[np.float64]:
    """Return the weights of rows, shape (n,), from JSON values; a text must be a number, as in CSV.

    Raises DataError for a weight that is not a finite number above 0; it names the file, row and column.

    >>> read_weights("traffic", [3, "0.5"], ["a", "b"], "questions.csv")
    array([3. , 0.5])
    """
    weights = [_weight(value) for value in values]
    for value, weight, row in zip(values, weights, ids, strict=True):
        if not 0 < weight < math.inf:
            shown = "the row has no weight" if value is None else f"the weight is {_shown(value)}"
            hint = "Each row needs a number above 0, such as how often the question was asked."
            raise DataError(
                f"{shown}; a number above 0 is needed", file=file, sample_id=row, field=column, hint=hint
            )
    return np.array(weights, dtype=np.float64)


def _weight(value: Any) -> float:
    """Return a JSON value as a number, NaN if it is none; true and false are none."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return math.nan
    try:
        return float(value)
    except (ValueError, OverflowError):
        return math.nan


def _shown(value: Any) -> str:
    return shorten(repr(display_text(value) if isinstance(value, str) else value), _LONGEST)
