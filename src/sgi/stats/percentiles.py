"""Percentiles with distribution-free intervals, also of rows that share a question."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log
from typing import TYPE_CHECKING

import numpy as np

from sgi.stats.intervals import check_level, cluster_codes, effective_clusters, student_quantile

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_FEW = 10
"""With fewer clusters above the percentile, their dependence cannot be measured."""


@dataclass(frozen=True)
class Percentile:
    """A percentile and its interval.

    Attributes:
        share: the share of the values that are at most the percentile, in (0, 1).
        value: the smallest value that so many values do not exceed; None without values.
        low: the lower end of the interval; None if the values are too few for one.
        high: the upper end; None if the values are too few for one.
        rows: the number of independent rows that the interval counts.
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
    freedom. If less than 10 clusters have a row above the percentile, the effective number of clusters is
    used.

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
    ordered = np.sort(np.asarray(values))
    n = len(ordered)
    if not n:
        return Percentile(share, None, None, None, 0, needed)
    value = ordered[_rank(share * n) - 1].item()
    rows = _independent_rows(np.asarray(values), value, clusters, level)
    first, last = _ranks(rows, share, tail)
    low = None if first is None else ordered[max(1, floor(first * n / rows)) - 1].item()
    high = None if last is None else ordered[min(n, ceil(last * n / rows)) - 1].item()
    return Percentile(share, value, low, high, rows, needed)


def _rank(position: float) -> int:
    return max(1, ceil(round(position, 9)))


def _independent_rows(
    values: NDArray[np.number], value: float, clusters: ArrayLike | None, level: float
) -> int:
    n = len(values)
    codes, count = cluster_codes(clusters, n)
    if count == n:
        return n
    sizes = np.bincount(codes, minlength=count)
    below = values <= value
    share = float(below.mean())
    fewest = max(1, floor(effective_clusters(sizes)))
    if len(np.unique(codes[~below])) < _FEW or len(np.unique(codes[below])) < _FEW:
        return fewest
    sums = np.bincount(codes, weights=below - share, minlength=count)
    effect = float(count / (count - 1) * (sums**2).sum()) / (n * share * (1 - share))
    freedom = (student_quantile(level, n - 1) / student_quantile(level, count - 1)) ** 2
    return max(1, min(n, floor(n / effect * freedom)))


def _ranks(n: int, share: float, tail: float) -> tuple[int | None, int | None]:
    """Return the ranks of both ends, from 1; None if no rank is far enough out."""
    logs = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, n + 1)))))
    counts = np.arange(n + 1)
    chances = np.exp(logs[n] - logs - logs[::-1] + counts * log(share) + (n - counts) * log(1 - share))
    at_most, at_least = np.cumsum(chances), np.cumsum(chances[::-1])[::-1]
    lower = np.flatnonzero(at_most[:-1] <= tail)
    upper = np.flatnonzero(at_least[1:] <= tail)
    return (
        int(lower[-1]) + 1 if len(lower) else None,
        int(upper[0]) + 1 if len(upper) else None,
    )
