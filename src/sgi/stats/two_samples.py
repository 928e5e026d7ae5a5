"""Tests of two samples: the same distribution, the same mean."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sgi.stats.conformal import one_row_per_cluster
from sgi.stats.intervals import MIN_CLUSTERS, Interval, NoInterval, cluster_codes, p_of_value
from sgi.stats.means import mean_intervals

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

_TIE = 1e-12
_MAX_ROWS = 1000
UNLIKELY = 0.01
"""Share of random samples that `compare_labelled` calls different."""


@dataclass(frozen=True)
class TwoSamples:
    """Greatest distance between two distribution functions, in [0, 1], and the p-value of equality."""

    distance: float
    p: float


def compare_samples(first: ArrayLike, second: ArrayLike, *, draws: int = 999, seed: int = 0) -> TwoSamples:
    r"""Compute the two-sample Kolmogorov–Smirnov test, with a permutation p-value.

    .. math:: D = \max_x |F_1(x) - F_2(x)|, \quad p = \frac{1 + \#\{D^* \ge D\}}{1 + B}

    The permutation distribution is exact for tied values, so −∞ can stand for "no value". Values in a sample
    must be independent: pass one row per question. The arguments have the shapes (n,) and (m,), without NaN.

    Source: Smirnov (1948), Ann. Math. Stat. 19; Phipson and Smyth (2010) (p of random permutations).

    >>> compare_samples([1, 2, 3, 4], [1, 2, 3, 4]).distance, compare_samples([1, 2], [3, 4]).distance
    (0.0, 1.0)
    """
    one, other = (np.asarray(values, dtype=np.float64) for values in (first, second))
    pooled = np.concatenate([one, other])
    if not len(one) or not len(other) or np.isnan(pooled).any():
        raise ValueError("Both samples need values, and none may be NaN.")
    order = np.argsort(pooled, kind="stable")
    ordered = pooled[order]
    last = np.append(ordered[1:] != ordered[:-1], [True])  # the last row of each group of ties
    shares = np.where(order < len(one), 1 / len(one), -1 / len(other))
    distance = _distance(shares, last)
    rng = np.random.default_rng(seed)
    as_far = sum(_distance(rng.permutation(shares), last) >= distance - _TIE for _ in range(draws))
    return TwoSamples(distance, (1 + as_far) / (1 + draws))


def compare_labelled(values: ArrayLike, labelled: ArrayLike, clusters: ArrayLike) -> TwoSamples | None:
    """Compare the labelled rows with the other rows, one row of each cluster on either side.

    A random sample of rows differs with p ≤ `UNLIKELY` in 1 % of cases. Equal means are not enough: labels of
    the rows in the middle of a range have the mean of all rows. None with fewer than five clusters on a side.

    >>> values = np.arange(200.0)
    >>> middle, first = np.abs(values - 99.5) < 30, values < 3
    >>> compare_labelled(values, middle, values).p, compare_labelled(values, first, values)
    (0.001, None)
    """
    column, known, codes = np.asarray(values), np.asarray(labelled, dtype=np.bool_), np.asarray(clusters)
    samples = []
    for side in (np.flatnonzero(known), np.flatnonzero(~known)):
        rows = side[one_row_per_cluster(codes[side])]
        if len(rows) < MIN_CLUSTERS:
            return None
        if len(rows) > _MAX_ROWS:
            rows = np.random.default_rng(0).choice(rows, _MAX_ROWS, replace=False)
        samples.append(column[rows])
    return compare_samples(*samples)


def _distance(shares: Floats, last: NDArray[np.bool_]) -> float:
    return float(np.abs(np.cumsum(shares)[last]).max())


_MIN_P = 1e-9


def unpaired_p(
    values: ArrayLike,
    inside: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    low: float | None = None,
    high: float | None = None,
) -> float | NoInterval:
    r"""Return the two-sided p of equal means of the rows ``inside`` and all other rows.

    It is the larger p of two tests, because the first alone fails for skewed values in small groups:

    * The interval of the difference :math:`d = \bar a - \bar b` from those of both means (`mean_interval`),
      which allow for rare and unseen values. p is the least 1 − level at which it excludes 0.

      .. math::
          \left[d - \sqrt{x^2 + y^2 - 2 \rho x y},\;\; d + \sqrt{v^2 + w^2 - 2 \rho v w}\right]

      with :math:`x = \bar a - l_a, y = u_b - \bar b, v = u_a - \bar a, w = \bar b - l_b`. ρ is the
      correlation of both means if clusters have rows on both sides, but at most 0: shared clusters never
      make p smaller. For rows in pairs, `paired_differences` finds more.
    * A permutation test: the clusters inside are a random sample of all clusters. The distribution of their
      sum is approximated from three moments by a gamma distribution.

    ``values`` and ``inside`` have the shape (n,); ``low`` and ``high`` are the ends of the metric's scale.
    The result is p, or the reason why one of the means has no interval.

    Source: Zou and Donner (2008), Stat. Med. 27 (difference of two intervals); Mielke and Berry (2007),
    Permutation Methods (moments); Wilson and Hilferty (1931), PNAS 17 (gamma).

    >>> values = np.array([0.1, 0.2, 0.1, 0.3, 0.2, 0.8, 0.7, 0.9, 0.8, 0.9])
    >>> round(unpaired_p(values, np.arange(10) < 5, low=0, high=1), 3)
    0.004
    >>> unpaired_p(values, np.arange(10) < 3, low=0, high=1).reason
    '3 clusters are too few for an interval; 5 are needed'
    """
    column, first = np.asarray(values, dtype=np.float64), np.asarray(inside, dtype=np.bool_)
    codes, count = cluster_codes(clusters, len(column))
    sides = first, ~first
    of_first, of_second = (mean_intervals(column[side], codes[side], low=low, high=high) for side in sides)
    if isinstance(of_first, NoInterval):
        return of_first
    if isinstance(of_second, NoInterval):
        return NoInterval(f"the other rows: {of_second.reason}")
    mean, other = (float(column[side].mean()) for side in sides)
    scaled = (column - column.mean()) / (float(np.abs(column).max()) or 1.0)  # powers cannot overflow
    correlation = _correlation(scaled, codes, first)

    def at(level: float) -> Interval:
        one, two = of_first(level), of_second(level)
        down = _joint(mean - one.low, two.high - other, correlation)
        up = _joint(one.high - mean, other - two.low, correlation)
        return Interval(mean - other - down, mean - other + up, level, "from the intervals of both means")

    parts, _ = cluster_codes(codes + count * first, len(codes))  # the rows of a cluster on one side
    permuted = max(_MIN_P, permutation_p(np.bincount(parts, scaled), np.bincount(parts, first) > 0))
    interval = at(1 - permuted)
    if not interval.low <= 0 <= interval.high:
        return permuted
    return p_of_value(at, 0.0) or _MIN_P


def permutation_p(sums: NDArray[np.number], inside: NDArray[np.bool_]) -> float:
    r"""Return the two-sided p of the sum of g of the G values, if these are a random sample of all.

    With the moments :math:`\mu_k` about the mean of the values, the variance of the sum is
    :math:`\frac{g (G - g)}{G - 1} \mu_2`, and its third moment
    :math:`\frac{g (G - g)(G - 2g)}{(G - 1)(G - 2)} \mu_3`.

    >>> round(permutation_p(np.arange(20.0) ** 2, np.arange(20) < 5), 4)
    0.0048
    """
    count, size = len(sums), int(inside.sum())
    deviations = sums - sums.mean()
    variance = size * (count - size) / (count - 1) * float(np.square(deviations).mean())
    if variance == 0 or count < 3:
        return 1.0
    third = size * (count - size) * (count - 2 * size) / ((count - 1) * (count - 2))
    skewness = third * float((deviations**3).mean()) / variance**1.5
    z = float(deviations[inside].sum()) / math.sqrt(variance)
    if abs(skewness) > 1e-6:
        root = float(np.cbrt(max(0.0, 1 + skewness * z / 2)))
        z = 6 / skewness * (root - 1 + skewness**2 / 36)
    return math.erfc(abs(z) / math.sqrt(2))


def _joint(one: float, two: float, correlation: float) -> float:
    return math.sqrt(one**2 + two**2 - 2 * correlation * one * two)


def _correlation(values: Floats, codes: NDArray[np.int64], first: NDArray[np.bool_]) -> float:
    """Return the correlation of the means of both sides over clusters; at most 0."""
    sums = [
        np.bincount(codes, np.where(side, values - values[side].mean(), 0.0), minlength=codes.max() + 1)
        for side in (first, ~first)
    ]
    spread = math.sqrt(float(np.square(sums[0]).sum() * np.square(sums[1]).sum()))
    return min(0.0, float(sums[0] @ sums[1]) / spread) if spread else 0.0
