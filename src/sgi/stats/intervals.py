"""Intervals, the scales they lie on, and what their formulas need: quantiles, clusters, standard errors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

# Draws of fewer clusters have so few different means that their percentiles are no interval; and that so few
# are all equal says next to nothing of the rest.
FEWEST_CLUSTERS = 5
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Interval:
    """Where a true value plausibly lies.

    Attributes:
        low: lower end.
        high: upper end.
        level: the share of such intervals that hold the true value, in (0, 1).
        method: how it was made.
    """

    low: float
    high: float
    level: float
    method: str


@dataclass(frozen=True)
class NoInterval:
    """No interval holds the true value as often as it should.

    Attributes:
        reason: why not.
    """

    reason: str


def interval_or_none(made: Interval | NoInterval) -> Interval | None:
    """The interval, without the reason where there is none.

    >>> interval_or_none(NoInterval("1 cluster has no spread")) is None
    True
    """
    return made if isinstance(made, Interval) else None


@dataclass(frozen=True)
class Scale:
    """The ends of a metric's scale.

    Attributes:
        low: −∞ where there is none.
        high: ∞ where there is none.
    """

    low: float
    high: float

    @classmethod
    def of(cls, low: float | None, high: float | None) -> Scale:
        """The scale between two ends, None where there is none.

        Raises:
            ValueError: there is nothing between them.
        """
        made = cls(-np.inf if low is None else float(low), np.inf if high is None else float(high))
        if not made.low < made.high:
            raise ValueError(f"{low} to {high} is not a scale.")
        return made

    @property
    def bounded(self) -> bool:
        """Whether both ends are known."""
        return bool(np.isfinite([self.low, self.high]).all())

    def holds(self, values: NDArray[np.float64]) -> bool:
        """Whether all values lie on the scale, but for rounding."""
        slack = _ROUNDING * (self.high - self.low) if self.bounded else 0.0
        return bool(((values >= self.low - slack) & (values <= self.high + slack)).all())

    def clipped(self, interval: Interval) -> Interval:
        """The part of an interval that lies on the scale."""
        return replace(interval, low=max(interval.low, self.low), high=min(interval.high, self.high))

    def stretched(self, interval: Interval) -> Interval:
        """An interval of shares, [0, 1], brought to this scale."""
        low, high = (self.low + (self.high - self.low) * end for end in (interval.low, interval.high))
        return replace(interval, low=low, high=high)


def too_few_clusters(count: int, needed: int = FEWEST_CLUSTERS) -> NoInterval:
    """Why so few clusters have no interval.

    >>> too_few_clusters(1).reason
    '1 cluster is too few for an interval; 5 are needed'
    """
    some = "1 cluster is" if count == 1 else f"{count} clusters are"
    return NoInterval(f"{some} too few for an interval; {needed} are needed")


def unseen_share(count: int, level: float = 0.95) -> float:
    """The largest share of clusters that ``count`` of them may all miss: 1 − ((1 − level)/2)^(1/count).

    >>> round(unseen_share(30), 4)
    0.1157
    """
    return float(-np.expm1(np.log((1 - level) / 2) / count))


def unseen_interval(value: float, count: int, scale: Scale, level: float) -> Interval:
    """The interval of a mean where all clusters have the same value.

    Clusters that were not seen may lie at either end of the scale. A share of them up to `unseen_share` is
    missed by so many clusters with a probability of at least (1 − level)/2, so the interval reaches
    that share of the way to each end.

    Args:
        value: that of all clusters.
        count: how many clusters there are.
        scale: where values can lie, with two ends.
        level: in (0, 1).

    >>> unseen_interval(0.75, 5, Scale(0.0, 1.0), 0.95).low.__round__(4)
    0.3586
    """
    share = unseen_share(count, level)
    low, high = value - share * (value - scale.low), value + share * (scale.high - value)
    return Interval(low, high, level, "unseen values")


def wilson_interval(successes: float, n: int, *, level: float = 0.95, method: str = "wilson") -> Interval:
    """Wilson's score interval of a share, which stays honest at 0 and at 1.

    (p + z²/2n ± z·√(p(1−p)/n + z²/4n²)) / (1 + z²/n), with p = successes / n.

    Args:
        successes: how many of n, in [0, n].
        n: how many observations, at least 1.
        level: in (0, 1).
        method: the name that the interval carries.

    Returns:
        An interval within [0, 1].

    Raises:
        ValueError: n is below 1, or successes lie outside [0, n].

    Source: Wilson (1927), J. Am. Stat. Assoc. 22.

    >>> round(wilson_interval(5, 5).low, 4)
    0.5655
    """
    if not (n >= 1 and 0 <= successes <= n):
        raise ValueError(f"{successes} successes of {n} are no share.")
    return Interval(*wilson_ends(successes / n, n, normal_quantile(level)), level, method)


def wilson_ends(share: float, n: float, quantile: float) -> tuple[float, float]:
    """The ends of Wilson's interval; n need not be a whole number.

    >>> [round(end, 3) for end in wilson_ends(0.5, 10, 1.96)]
    [0.237, 0.763]
    """
    weight = quantile**2 / n
    centre = (share + weight / 2) / (1 + weight)
    half = float(np.sqrt(weight * (share * (1 - share) + weight / 4))) / (1 + weight)
    # At the ends the formula is exactly 0 or 1; only rounding says otherwise.
    low = 0.0 if share == 0 else max(0.0, centre - half)
    high = 1.0 if share == 1 else min(1.0, centre + half)
    return low, high


def normal_quantile(level: float) -> float:
    """The z for which a normal variable lies in [−z, z] with probability ``level``.

    >>> round(normal_quantile(0.95), 4)
    1.96
    """
    from statistics import NormalDist

    return NormalDist().inv_cdf((1 + level) / 2)


def student_quantile(level: float, freedom: float) -> float:
    """The t for which Student's variable of ν degrees of freedom lies in [−t, t] with probability ``level``.

    z + Σ_k g_k(z)/ν^k over the first four terms of the Cornish–Fisher series. At a level of 95 % it is 0.12 %
    too low for ν = 3, 0.01 % for ν = 5 and less beyond; below 3 it is rough, and ν below 1 counts as 1.

    Args:
        level: in (0, 1).
        freedom: ν, not necessarily whole.

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
    """How many clusters of equal size would tell as much of a mean: n² / Σ_c n_c².

    Source: Kish (1965), Survey Sampling.

    >>> effective_clusters(np.array([2, 2, 2])), effective_clusters(np.array([8, 1, 1]))
    (3.0, 1.5151515151515151)
    """
    return float(sizes.sum()) ** 2 / float(np.square(sizes.astype(np.float64)).sum())


def clustered_error(sums: NDArray[np.number], sizes: NDArray[np.number]) -> float:
    """The standard error of a mean, clusters being independent: SE² = G/(G − 1) · n⁻² Σ_c (S_c − n_c·s̄)².

    Args:
        sums: S_c, the sum of each cluster's values, shape (G,), G at least 2.
        sizes: n_c, shape (G,).

    Source: Miller (2024), arXiv:2411.00640, with the usual correction for few clusters.

    >>> round(clustered_error(np.array([1.0, 2.0, 6.0]), np.array([1, 1, 1])), 4)
    1.5275
    """
    count, rows = len(sums), sizes.sum()
    pulls = sums - sizes * (sums.sum() / rows)
    return float(np.sqrt(np.square(pulls).sum() * count / (count - 1)) / rows)


def cluster_codes(clusters: ArrayLike | None, n: int) -> tuple[NDArray[np.int64], int]:
    """The number of each row's cluster, counted from 0, and how many clusters there are.

    >>> codes, count = cluster_codes(["b", "a", "b"], 3)
    >>> codes.tolist(), count
    ([1, 0, 1], 2)
    """
    if clusters is None:
        return np.arange(n, dtype=np.int64), n
    given = np.asarray(clusters)
    if given.shape != (n,):
        raise ValueError(f"{n} rows have clusters of shape {given.shape}.")
    names, codes = np.unique(given, return_inverse=True)
    return codes.astype(np.int64), len(names)


def check_level(level: float) -> None:
    """Refuse a level outside (0, 1).

    >>> check_level(0.95)
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"level {level} is not in (0, 1).")


def check_draws(level: float, draws: int) -> None:
    """Refuse a level outside (0, 1) and fewer than one draw.

    >>> check_draws(0.95, 2000)
    """
    check_level(level)
    if draws < 1:
        raise ValueError(f"draws {draws} are fewer than 1; the level is {level}.")


def percentiles(means: NDArray[np.float64], level: float, method: str) -> Interval:
    """The central share ``level`` of what the draws gave.

    >>> round(percentiles(np.linspace(0, 1, 1001), 0.9, "bootstrap").high, 6)
    0.95
    """
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), level, method)
