"""Confidence intervals and their parts: value ranges, quantiles, clusters, standard errors, resampling."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike, NDArray


def bootstrap_values(
    statistic: Callable[[NDArray[np.float64]], float | None],
    codes: NDArray[np.int64],
    draws: int,
    seed: int,
) -> NDArray[np.float64]:
    """Compute a statistic over bootstrap resamples of clusters, shape (draws,); NaN if undefined.

    ``statistic`` is a function of the row weights, shape (n,), and returns None if undefined. ``codes`` are
    the cluster indices from 0. The same clusters and seed give the same resamples.

    Source: Efron (1979), Ann. Stat. 7.
    """
    generator = np.random.default_rng(seed)
    count = int(codes.max()) + 1
    values = np.full(draws, np.nan)
    for draw in range(draws):
        sample = generator.integers(0, count, size=count)
        times = np.bincount(sample, minlength=count).astype(np.float64)
        value = statistic(times[codes])
        if value is not None:
            values[draw] = value
    return values


def has_spread(values: NDArray[np.float64]) -> bool:
    """Return whether the values other than NaN differ."""
    known = values[~np.isnan(values)]
    return len(known) > 0 and bool(np.any(known != known[0]))


def jackknife_groups(codes: NDArray[np.int64], most: int, seed: int) -> NDArray[np.int64]:
    """Return the jackknife group of each row: its cluster, or one of ``most`` random groups of clusters."""
    count = int(codes.max()) + 1
    return codes if count <= most else np.random.default_rng(seed).permutation(count)[codes] % most


def shuffled_labels(
    truth: NDArray[np.bool_], codes: NDArray[np.int64], draws: int, seed: int
) -> Iterator[NDArray[np.bool_]]:
    """Yield random permutations of labels: between clusters of equal size, and within each cluster.

    >>> pairs = shuffled_labels(np.array([True, True, False, False]), np.array([0, 0, 1, 1]), 50, seed=0)
    >>> sorted({tuple(labels.tolist()) for labels in pairs})
    [(False, False, True, True), (True, True, False, False)]
    """
    generator = np.random.default_rng(seed)
    sizes = np.bincount(codes)
    by_size = np.lexsort((codes, sizes[codes]))
    rank = np.empty(len(sizes))
    for _ in range(draws):
        rank[np.lexsort((generator.random(len(sizes)), sizes))] = np.arange(len(sizes))
        shuffled = np.empty_like(truth)
        shuffled[by_size] = truth[np.argsort(rank[codes] + generator.random(len(codes)), kind="stable")]
        yield shuffled


def rarer_class_clusters(codes: NDArray[np.int64], truth: NDArray[np.bool_]) -> int:
    """Return the number of clusters that contain the rarer class."""
    return min(len(np.unique(codes[truth])), len(np.unique(codes[~truth])))


def bounded_ratio(ratios: ArrayLike) -> NDArray[np.float64]:
    r"""Convert ratios v = a/b in [0, ∞) to shares a/(a + b) = v / (1 + v), in [0, 1); NaN stays NaN.

    The scale is monotone and symmetric: v and 1/v have shares that add up to 1.

    >>> bounded_ratio([0.0, 1.0, 3.0]).tolist()
    [0.0, 0.5, 0.75]
    """
    values = np.asarray(ratios, dtype=np.float64)
    # A ratio above 1e16 would round to a share of 1.
    return np.minimum(values / (1.0 + values), np.nextafter(1.0, 0.0))


def ratio_of(share: float) -> float:
    """Return the ratio v = s/(1 − s) of a share s in [0, 1); infinite for s = 1.

    >>> ratio_of(0.75), ratio_of(1.0)
    (3.0, inf)
    """
    return share / (1.0 - share) if share < 1.0 else float("inf")


def ratio_slope(first: float, second: float) -> float:
    r"""Return the slope of the ratio over the share, between two shares in [0, 1).

    .. math:: k = \frac{v_2 - v_1}{s_2 - s_1} = \frac{1}{(1 - s_1)(1 - s_2)}

    This is the slope of the secant; for equal shares, that of the tangent.

    >>> ratio_slope(0.5, 0.75) == (ratio_of(0.75) - ratio_of(0.5)) / 0.25
    True
    """
    return 1.0 / ((1.0 - first) * (1.0 - second))


# Resamples of fewer clusters have too few distinct means for percentiles.
MIN_CLUSTERS = 5
_ROUNDING = 1e-9
_MIN_P = 1e-9
_BISECTIONS = 40
_MAX_GAPS = 32


@dataclass(frozen=True)
class Interval:
    """Confidence interval at a level in (0, 1), with the name of its method.

    Attributes:
        low: the lower end.
        high: the upper end.
        level: the confidence level, such as 0.95.
        method: the name of the method.
    """

    low: float
    high: float
    level: float
    method: str

    def __iter__(self) -> Iterator[float]:
        """Yield the two ends, so that ``low, high = interval`` works."""
        yield self.low
        yield self.high


@dataclass(frozen=True)
class NoInterval:
    """Reason why an interval cannot be computed with the right coverage."""

    reason: str


def interval_or_none(interval: Interval | NoInterval) -> Interval | None:
    """Return the interval, or None for `NoInterval`."""
    return interval if isinstance(interval, Interval) else None


@dataclass(frozen=True)
class ValueRange:
    """Range of possible values of a metric; −∞ or ∞ if unbounded."""

    low: float
    high: float

    @classmethod
    def of(cls, low: float | None, high: float | None) -> ValueRange:
        """Return the range from two ends; None means unbounded.

        Raises:
            ValueError: ``low`` is not below ``high``.
        """
        result = cls(-np.inf if low is None else float(low), np.inf if high is None else float(high))
        if not result.low < result.high:
            raise ValueError(f"The low end of a range must be below the high end, not {low} to {high}.")
        return result

    @property
    def is_bounded(self) -> bool:
        """Whether both ends are finite."""
        return bool(np.isfinite([self.low, self.high]).all())

    def contains(self, values: NDArray[np.float64]) -> bool:
        """Return whether all values are in the range, up to rounding."""
        slack = _ROUNDING * (self.high - self.low) if self.is_bounded else 0.0
        return bool(((values >= self.low - slack) & (values <= self.high + slack)).all())

    def clip(self, interval: Interval) -> Interval:
        """Clip an interval to the range."""
        return replace(interval, low=max(interval.low, self.low), high=min(interval.high, self.high))

    def rescale(self, interval: Interval) -> Interval:
        """Map an interval of shares in [0, 1] to this range."""
        low, high = (self.low + (self.high - self.low) * end for end in (interval.low, interval.high))
        return replace(interval, low=low, high=high)


def p_of_value(interval_at: Callable[[float], Interval | NoInterval], value: float) -> float | None:
    """Return the two-sided p of a value: the least 1 − level at which the interval excludes the value.

    So p is below 0.05 exactly if the 95 % interval excludes the value. p is at least 1e-9; None without
    interval. ``interval_at`` is a function from the level; intervals of higher levels are wider.

    >>> p = p_of_value(lambda level: Interval(0.25, 0.25 + level, level, ""), 1)
    >>> round(p, 6)
    0.25
    """
    if isinstance(interval_at(1 - _MIN_P), NoInterval):
        return None

    def excludes(p: float) -> bool:
        interval = interval_at(1 - p)
        return isinstance(interval, Interval) and not interval.low <= value <= interval.high

    low, high = math.log(_MIN_P), 0.0
    if excludes(_MIN_P):
        return _MIN_P
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if excludes(math.exp(middle)) else (middle, high)
    return 1.0 if high == 0 else math.exp(high)


def shown_count(count: float) -> str:
    """Format a number of clusters; with weights it is the effective number, which need not be whole.

    >>> shown_count(12), shown_count(3.24)
    ('12', '3.2 effective')
    """
    return f"{count:.0f}" if count == int(count) else f"{count:.1f} effective"


def too_few_clusters(count: float, needed: int = MIN_CLUSTERS) -> NoInterval:
    """Return the reason why there is no interval if there are too few clusters."""
    some = "1 cluster is" if count == 1 else f"{shown_count(count)} clusters are"
    return NoInterval(f"{some} too few for an interval; {needed} are needed")


def unseen_share(count: float, level: float = 0.95) -> float:
    """Bound the share of clusters that a sample of ``count`` can miss: 1 − ((1 − level)/2)^(1/count).

    >>> round(unseen_share(30), 4)
    0.1157
    """
    return float(-np.expm1(np.log((1 - level) / 2) / count))


def unseen_values_interval(value: float, count: float, scale: ValueRange, level: float) -> Interval:
    """Return the interval of a mean of ``count`` clusters with the same value.

    A share of up to `unseen_share` of the population can be absent from the sample, at either end of the
    finite range ``scale``. The interval therefore extends by that share towards each end.

    >>> unseen_values_interval(0.75, 5, ValueRange(0.0, 1.0), 0.95).low.__round__(4)
    0.3586
    """
    share = unseen_share(count, level)
    low, high = value - share * (value - scale.low), value + share * (scale.high - value)
    return Interval(low, high, level, "unseen values")


def wilson_ends(share: float, n: float, quantile: float) -> tuple[float, float]:
    """Return the ends of Wilson's interval of a share: (p + z²/2n ± z·√(p(1−p)/n + z²/4n²)) / (1 + z²/n).

    n need not be whole; the quantile is z or t.

    Source: Wilson (1927), J. Am. Stat. Assoc. 22.

    >>> [round(end, 3) for end in wilson_ends(0.5, 10, 1.96)]
    [0.237, 0.763]
    """
    weight = quantile**2 / n
    centre = (share + weight / 2) / (1 + weight)
    half = float(np.sqrt(weight * (share * (1 - share) + weight / 4))) / (1 + weight)
    # Exactly 0 or 1 at the ends, without rounding.
    low = 0.0 if share == 0 else max(0.0, centre - half)
    high = 1.0 if share == 1 else min(1.0, centre + half)
    return low, high


def normal_quantile(level: float) -> float:
    """Return the two-sided quantile z of the normal distribution: P(|Z| ≤ z) = level.

    >>> round(normal_quantile(0.95), 4)
    1.96
    """
    from statistics import NormalDist

    return NormalDist().inv_cdf((1 + level) / 2)


def student_quantile(level: float, freedom: float) -> float:
    """Return the two-sided quantile t of Student's distribution: P(|T| ≤ t) = level, ν = ``freedom``.

    z + Σ_k g_k(z)/ν^k over the first four terms of the Cornish–Fisher series. At a level of 95 % it is 0.12 %
    too low for ν = 3, 0.01 % for ν = 5 and less beyond; below 3 it is rough, and ν below 1 counts as 1.

    Source: Abramowitz and Stegun (1964), 26.7.5.

    >>> round(student_quantile(0.95, 11), 4)
    2.201
    """
    z, v = normal_quantile(level), max(freedom, 1.0)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92_160,
    )
    return z + sum(term / v**power for power, term in enumerate(terms, start=1))


def effective_clusters(sizes: NDArray[np.number]) -> float:
    """Return the effective number of clusters: n² / Σ_c n_c².

    Source: Kish (1965), Survey Sampling.

    >>> effective_clusters(np.array([2, 2, 2])), effective_clusters(np.array([8, 1, 1]))
    (3.0, 1.5151515151515151)
    """
    return float(sizes.sum()) ** 2 / float(np.square(sizes.astype(np.float64)).sum())


def clustered_standard_error(
    sums: NDArray[np.number], sizes: NDArray[np.number], *, jackknife: bool = False
) -> float:
    r"""Return the clustered standard error of a mean: SE² = G/(G − 1) · n⁻² Σ_c (S_c − n_c·s̄)².

    S_c is the sum and n_c the size of each cluster, shape (G,), G ≥ 2. ``jackknife`` divides each term by
    (1 − n_c/n)² and multiplies the sum by (1 − 1/G)²: a cluster that carries much of the weight pulls the
    mean to itself, and its term is too small otherwise. For clusters of one size, both are equal.

    Source: Miller (2024), arXiv:2411.00640, with the usual correction for few clusters; Bell and McCaffrey
    (2002), Survey Methodology 28 (jackknife).

    >>> round(clustered_standard_error(np.array([1.0, 2.0, 6.0]), np.array([1, 1, 1])), 4)
    1.5275
    """
    count, rows = len(sums), sizes.sum()
    influences = sums - sizes * (sums.sum() / rows)
    if jackknife:
        influences = influences * (1 - 1 / count) / (1 - sizes / rows)
    return float(np.sqrt(np.square(influences).sum() * count / (count - 1)) / rows)


def cluster_codes(clusters: ArrayLike | None, n: int) -> tuple[NDArray[np.int64], int]:
    """Return the cluster index of each row, from 0, and the number of clusters."""
    if clusters is None:
        return np.arange(n, dtype=np.int64), n
    labels = np.asarray(clusters)
    if labels.shape != (n,):
        raise ValueError(f"`clusters` must have the shape ({n},), not {labels.shape}.")
    if labels.dtype.kind in "iu" and n and labels.min() >= 0 and labels.max() < _MAX_GAPS * n:
        seen = np.bincount(labels) > 0  # the same as `unique`, without sorting
        return (np.cumsum(seen) - 1)[labels], int(seen.sum())
    names, codes = np.unique(labels, return_inverse=True)
    return codes.astype(np.int64), len(names)


def check_level(level: float) -> None:
    """Raise ValueError for a level outside (0, 1)."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"`level` must be in (0, 1), not {level}.")


def check_draws(level: float, draws: int) -> None:
    """Raise ValueError for a level outside (0, 1) or fewer than one draw."""
    check_level(level)
    if draws < 1:
        raise ValueError(f"`draws` must be at least 1, not {draws}.")


def percentile_interval(means: NDArray[np.float64], level: float, method: str) -> Interval:
    """Return the percentile interval of resampled values."""
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), level, method)
