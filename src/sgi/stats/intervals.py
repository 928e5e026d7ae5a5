"""Intervals of a mean, from independent values or from values in clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

# Draws of fewer clusters have so few different means that their percentiles are no interval.
_FEWEST_BOOTSTRAPPED = 5
# Above this many clusters the means of draws are normal to more digits than anyone prints.
_MOST_BOOTSTRAPPED = 20_000
_BLOCK = 2**19


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


def mean_interval(
    values: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
    shares: bool = True,
) -> Interval | None:
    """An interval of the mean of values, whole clusters being what was sampled.

    The method follows from the data and is named in the result:

    * ``wilson``: values that are all 0 or 1, one in each cluster. Where values repeat in clusters and are all
      equal, each cluster counts as one observation (``wilson of clusters``): all 1 in a few rows is no proof
      of 1.
    * ``constant``: other values that are all equal; the interval has no width.
    * ``bootstrap``: percentiles of the mean over draws of clusters, with replacement.
    * ``normal``: above 20,000 clusters, mean ± z·SE with SE² = n⁻² Σ_c (Σ_{i∈c} (s_i − s̄))².

    Under about 30 clusters the bootstrap is somewhat too narrow, as it always is.

    Args:
        values: finite numbers, shape (n,).
        clusters: what belongs together (say, the same question), shape (n,); None if nothing does.
        level: in (0, 1).
        draws: of the bootstrap.
        seed: of the bootstrap; equal input gives equal bits.
        shares: whether 0 and 1 are the ends of the scale, so that values of only these are a proportion.

    Returns:
        The interval, or None where there are too few clusters to say anything of the spread: fewer than two,
        or fewer than five where it would take a bootstrap.

    Raises:
        ValueError: values are not finite or not one column, lengths differ, or level or draws make no sense.

    Source: Miller (2024), arXiv:2411.00640 (clustered standard error); Wilson (1927); Efron (1979).

    >>> found = mean_interval([0, 0, 1, 1, 1, 1, 1, 1, 1, 1])
    >>> round(found.low, 4), round(found.high, 4), found.method
    (0.4902, 0.9433, 'wilson')
    """
    column = np.asarray(values, dtype=np.float64)
    if column.ndim != 1 or not np.isfinite(column).all():
        raise ValueError("An interval is made of one column of finite values.")
    check_draws(level, draws)
    codes, n_clusters = cluster_codes(clusters, len(column))
    if n_clusters < 2:  # noqa: PLR2004 - one cluster has no spread
        return None
    share = _of_zeros_and_ones(column, n_clusters, level) if shares else None
    if share is not None:
        return share
    if np.all(column == column[0]):
        return Interval(float(column[0]), float(column[0]), level, "constant")
    if n_clusters > _MOST_BOOTSTRAPPED:
        return _normal(column, codes, level)
    enough = n_clusters >= _FEWEST_BOOTSTRAPPED
    return _bootstrap(column, codes, level, draws, seed) if enough else None


def _of_zeros_and_ones(column: NDArray[np.float64], n_clusters: int, level: float) -> Interval | None:
    """Wilson's interval of values that are all 0 or 1, if each stands alone or all are equal."""
    if not np.isin(column, (0.0, 1.0)).all():
        return None
    if n_clusters == len(column):
        return wilson_interval(float(column.sum()), len(column), level=level)
    if np.all(column == column[0]):
        return wilson_interval(column[0] * n_clusters, n_clusters, level=level, method="wilson of clusters")
    return None


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
    z2 = normal_quantile(level) ** 2
    centre = (successes + z2 / 2) / (n + z2)
    half = np.sqrt(z2 * (successes * (n - successes) / n + z2 / 4)) / (n + z2)
    # At the ends the formula is exactly 0 or 1; only rounding says otherwise.
    low = 0.0 if successes == 0 else max(0.0, float(centre - half))
    high = 1.0 if successes == n else min(1.0, float(centre + half))
    return Interval(low, high, level, method)


def normal_quantile(level: float) -> float:
    """The z for which a normal variable lies in [−z, z] with probability ``level``.

    >>> round(normal_quantile(0.95), 4)
    1.96
    """
    from statistics import NormalDist

    return NormalDist().inv_cdf((1 + level) / 2)


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


def check_draws(level: float, draws: int) -> None:
    """Refuse a level outside (0, 1) and fewer than one draw.

    >>> check_draws(0.95, 2000)
    """
    if not (0.0 < level < 1.0 and draws >= 1):
        raise ValueError(f"level {level} lies in (0, 1) and draws {draws} are at least 1.")


def percentiles(means: NDArray[np.float64], level: float, method: str) -> Interval:
    """The central share ``level`` of what the draws gave.

    >>> round(percentiles(np.linspace(0, 1, 1001), 0.9, "bootstrap").high, 6)
    0.95
    """
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), level, method)


def _bootstrap(
    column: NDArray[np.float64], codes: NDArray[np.int64], level: float, draws: int, seed: int
) -> Interval:
    """Draw clusters, block by block; a mean needs only each cluster's sum and size."""
    sums, sizes = np.bincount(codes, weights=column), np.bincount(codes)
    n = len(sums)
    generator = np.random.default_rng(seed)
    step = max(1, _BLOCK // n)
    means = np.empty(draws)
    for start in range(0, draws, step):
        block = means[start : start + step]
        drawn = generator.integers(0, n, size=(len(block), n))
        if sizes.max() == sizes.min():
            block[:] = sums[drawn].sum(axis=1) / (n * sizes[0])
        else:
            block[:] = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    return percentiles(means, level, "bootstrap")


def _normal(column: NDArray[np.float64], codes: NDArray[np.int64], level: float) -> Interval:
    mean = float(column.mean())
    error = float(np.sqrt(np.square(np.bincount(codes, weights=column - mean)).sum())) / len(column)
    half = normal_quantile(level) * error
    return Interval(mean - half, mean + half, level, "normal")
