"""What the simulations share: correlated values, the coverage of intervals, and tables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sgi.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Codes = NDArray[np.int64]

MIN_INTERVALS = 30
"""With fewer intervals, their coverage is not known."""

_ROUNDING = 1e-12
ENDS = ("covered", "lower end too high", "upper end too low", "no interval")
"""Columns of `Coverage.cells`."""


class Coverage(NamedTuple):
    """How often intervals miss the true value.

    Attributes:
        above: share of the intervals above the true value: the lower end is wrong.
        below: share of the intervals below the true value: the upper end is wrong.
        none: share of the data sets in which an end is unknown; it excludes nothing.
    """

    above: float
    below: float
    none: float

    @property
    def covered(self) -> float:
        """Share of the intervals that contain the true value; NaN with too few intervals."""
        return 1 - self.above - self.below

    def cells(self) -> list[str]:
        """Format the shares in percent."""
        return [percent(share) for share in (self.covered, *self)]


def coverage(intervals: Iterable[object], truth: float) -> Coverage:
    """Compare intervals with the true value; an object without ``low`` and ``high`` is no interval."""
    ends = [(getattr(each, "low", None), getattr(each, "high", None)) for each in intervals]
    known = [pair for pair in ends if pair != (None, None)]
    none = sum(None in pair for pair in ends) / len(ends)
    if len(known) < MIN_INTERVALS:
        return Coverage(math.nan, math.nan, none)
    above = sum(low is not None and low > truth + _ROUNDING for low, _ in known)
    below = sum(high is not None and high < truth - _ROUNDING for _, high in known)
    return Coverage(above / len(known), below / len(known), none)


def percent(share: float) -> str:
    """Format a share."""
    return "–" if math.isnan(share) else f"{100 * share:.1f} %"


def clusters_of(count: int, rows: int | Sequence[int]) -> Codes:
    """Return the cluster of each row; ``rows`` per cluster, or these numbers in turn."""
    return np.repeat(np.arange(count), np.resize(rows, count))


def one_large_cluster(count: int, part: float) -> Codes:
    """Return the cluster of each row: one cluster has this part of the rows, the others have one row each."""
    return np.repeat(np.arange(count), [max(1, round(part * (count - 1) / (1 - part)))] + [1] * (count - 1))


def correlated(generator: np.random.Generator, clusters: Codes, shared: float) -> Floats:
    """Draw standard normal values; rows of a cluster share this part of the variance."""
    of_cluster = generator.normal(size=clusters[-1] + 1)[clusters]
    own = generator.normal(size=len(clusters))
    return np.asarray(math.sqrt(shared) * of_cluster + math.sqrt(1 - shared) * own)


def section(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a heading and a table in Markdown."""
    return f"## {title}\n\n{Table(columns, rows).markdown()}"
