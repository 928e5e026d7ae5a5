"""Percentiles with distribution-free intervals, also of rows that share a question."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log
from typing import TYPE_CHECKING

import numpy as np

from sgi.stats.intervals import check_level, cluster_codes, effective_clusters, student_quantile

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    _Ranks = tuple[int | None, int | None]
    """The ranks of both ends, from 1; None for an end that the rows do not show."""

_FEW = 10
"""With fewer clusters above the percentile, their dependence cannot be measured."""

_DRAWS = 20_000
"""Draws of the number of rows below the percentile; a chance of 2.5 % is then known to ± 0.2 %."""


@dataclass(frozen=True)
class Percentile:
    """A percentile and its interval.

    Attributes:
        share: the share of the values that are at most the percentile, in (0, 1).
        value: the smallest value that so many values do not exceed; None without values.
        low: the lower end of the interval; None if the values are too few for one.
        high: the upper end; None if the values are too few for one.
        rows: the number of independent rows that the interval counts; the effective number of clusters if
            the dependence of their rows is not measured.
        needed: the number of independent rows at which both ends exist.
    """

    share: float
    value: float | None
    low: float | None
    high: float | None
    rows: int
    needed: int


def percentile(
    values: ArrayLike, share: float, *, clusters: ArrayLike | None = None, level: float = 0.95
) -> Percentile:
    r"""Return a percentile with an interval of order statistics.

    For n independent values :math:`x_{(1)} \le \dots \le x_{(n)}` and :math:`B \sim \text{Bin}(n, q)`, the
    lower end is :math:`x_{(l)}` for the largest l with :math:`P(B \le l - 1) \le \alpha/2`, the upper end
    :math:`x_{(u)}` for the smallest u with :math:`P(B \ge u) \le \alpha/2`. If no u up to n fulfils this, the
    upper end is unknown. No distribution is assumed.

    Rows of a cluster are not independent: n is then the effective number of rows, the number divided by the
    design effect of the share of rows that do not exceed the percentile, corrected for the degrees of
    freedom. This measured dependence is not used if less than 10 clusters have a row on one side of the
    percentile, if it leaves too few rows for an end, or if one cluster has so many rows that it alone can
    carry the percentile past an end. B is then :math:`\sum_c n_c B_c` with :math:`B_c \sim \text{Bin}(1, q)`:
    each cluster of :math:`n_c` rows is wholly below or wholly above.

    Args:
        values: finite numbers, shape (n,).
        share: the share q of the percentile, in (0, 1); 0.95 for p95.
        clusters: the cluster of each value, shape (n,); None: all are independent.
        level: the level of the interval, in (0, 1).

    Source: Korn and Graubard (1998), "Confidence intervals for proportions with small expected number of
    positive counts estimated from survey data"; David and Nagaraja (2003), "Order statistics", 7.1.

    >>> estimate = percentile(range(1, 101), 0.95)
    >>> estimate.value, estimate.low, estimate.high
    (95, 90, 100)
    >>> percentile(range(50), 0.99).high, percentile(range(50), 0.99).needed
    (None, 368)
    """
    check_level(level)
    if not 0 < share < 1:
        raise ValueError(f"share must be above 0 and below 1, not {share!r}")
    tail = (1 - level) / 2
    needed = ceil(max(log(tail) / log(share), log(tail) / log(1 - share)))
    column = np.asarray(values)
    ordered, n = np.sort(column), len(column)
    if not n:
        return Percentile(share, None, None, None, 0, needed)
    value = ordered[_rank(share * n) - 1].item()
    codes, count = cluster_codes(clusters, n)
    rows, (first, last) = n, _ranks(n, share, tail)
    if count < n:
        rows, (first, last) = _clustered_ranks(column <= value, codes, share, level)
    low, high = (None if rank is None else ordered[rank - 1].item() for rank in (first, last))
    return Percentile(share, value, low, high, rows, needed)


def _rank(position: float) -> int:
    return max(1, ceil(round(position, 9)))


def _clustered_ranks(
    below: NDArray[np.bool_], codes: NDArray[np.int64], share: float, level: float
) -> tuple[int, _Ranks]:
    """Return the number of independent rows, and the ranks of both ends."""
    tail, n = (1 - level) / 2, len(below)
    sizes = np.bincount(codes)
    fewest = max(1, floor(effective_clusters(sizes)))
    if min(len(np.unique(codes[side])) for side in (below, ~below)) < _FEW:
        return fewest, _ranks_of_whole_clusters(sizes, share, tail)
    rows = _independent_rows(below, codes, sizes, level)
    first, last = _ranks(rows, share, tail)
    if first is not None and last is not None:
        low, high = max(1, floor(first * n / rows)), min(n, ceil(last * n / rows))
        if sizes.max() <= min(share * n - low, high - share * n):
            return rows, (low, high)
    return fewest, _ranks_of_whole_clusters(sizes, share, tail)


def _independent_rows(
    below: NDArray[np.bool_], codes: NDArray[np.int64], sizes: NDArray[np.int64], level: float
) -> int:
    """Return the number of rows divided by the measured design effect."""
    n, count, share = len(below), len(sizes), float(below.mean())
    sums = np.bincount(codes, weights=below - share)
    effect = float(count / (count - 1) * (sums**2).sum()) / (n * share * (1 - share))
    freedom = (student_quantile(level, n - 1) / student_quantile(level, count - 1)) ** 2
    # The effect is 0 if each question has as many rows on either side. More than n rows are not independent.
    return n if effect <= freedom else max(1, floor(n / effect * freedom))


def _ranks_of_whole_clusters(sizes: NDArray[np.int64], share: float, tail: float) -> _Ranks:
    """Return the ranks of both ends if each cluster is wholly below or wholly above the percentile."""
    generator = np.random.default_rng(0)
    kinds, counts = np.unique(sizes, return_counts=True)
    below = np.zeros(_DRAWS, dtype=np.int64)
    for size, count in zip(kinds.tolist(), counts.tolist(), strict=True):
        below += size * generator.binomial(count, share, _DRAWS)
    below.sort()
    excluded = floor(tail * _DRAWS)
    low, high = int(below[excluded]), int(below[-1 - excluded]) + 1
    return low or None, high if high <= sizes.sum() else None


def log_choices(n: int) -> NDArray[np.float64]:
    """Return the logarithms of the binomial coefficients of n and 0 to n, shape (n + 1,)."""
    logs = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, n + 1)))))
    return np.asarray(logs[n] - logs - logs[::-1])


def _ranks(n: int, share: float, tail: float) -> _Ranks:
    """Return the ranks of both ends of n independent rows; None if no rank is far enough out."""
    counts = np.arange(n + 1)
    chances = np.exp(log_choices(n) + counts * log(share) + (n - counts) * log(1 - share))
    at_most, at_least = np.cumsum(chances), np.cumsum(chances[::-1])[::-1]
    lower = np.flatnonzero(at_most[:-1] <= tail)
    upper = np.flatnonzero(at_least[1:] <= tail)
    return (
        int(lower[-1]) + 1 if len(lower) else None,
        int(upper[0]) + 1 if len(upper) else None,
    )
