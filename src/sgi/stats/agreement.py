"""How far two columns of ratings agree beyond chance: Cohen's κ and Krippendorff's α, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from sgi.stats.intervals import (
    FEWEST_CLUSTERS,
    Interval,
    bootstrap_mean_interval,
    check_draws,
    cluster_codes,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

Weights = Literal["nominal", "linear", "quadratic"]
"""What a disagreement costs in κ: 1, the distance of the two values, or its square."""

Scale = Literal["nominal", "ordinal", "interval"]
"""What of the values counts in α: whether they are equal, their order, or their distance."""

# Disagreement that is left by rounding alone is none.
_NOTHING = 1e-12


@dataclass(frozen=True)
class Agreement:
    """How far two columns of ratings agree beyond chance.

    Attributes:
        value: 1 is full agreement, 0 is chance, below 0 is worse than chance; None where there is none.
        interval: of the value; None where there is none.
        reason: why there is no value, or no interval; empty where both are there.
    """

    value: float | None
    interval: Interval | None = None
    reason: str = ""


def cohen_kappa(
    first: ArrayLike,
    second: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    weights: Weights = "nominal",
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> Agreement:
    r"""Cohen's κ: agreement beyond what each rater's habits alone would bring.

    .. math:: \kappa = 1 - \frac{\frac1n \sum_i d(x_i, y_i)}{\frac1{n^2} \sum_{i,j} d(x_i, y_j)}

    with d = 1 where the values differ (``nominal``), ``|x − y|`` (``linear``), ``(x − y)²`` (``quadratic``).
    The distances are those of the values, so they need not be categories: of measurements, the quadratic κ is
    Lin's concordance correlation coefficient. Of categories numbered 0, 1, 2 … it is the weighted κ.

    The interval is a bootstrap of whole clusters, as in `mean_interval`.

    Args:
        first: one rater's values, finite, shape (n,).
        second: the other's, of the same rows.
        clusters: what belongs together (say, the same question), shape (n,); None if nothing does.
        weights: what a disagreement costs.
        level: of the interval, in (0, 1).
        draws: of the bootstrap.
        seed: of the bootstrap; equal input gives equal bits.

    Returns:
        A value in [−1, 1]; none of fewer than two rows, and where all values on both sides are the same.

    Raises:
        ValueError: values are not finite, lengths differ, or level or draws make no sense.

    Source: Cohen (1960), Educ. Psychol. Meas. 20; Cohen (1968), Psychol. Bull. 70 (weights); Lin (1989),
    Biometrics 45.

    >>> round(cohen_kappa([1, 1, 0, 0, 1, 0], [1, 1, 0, 1, 1, 0]).value, 4)
    0.6667
    """
    pairs = _Pairs.of(first, second)
    formula = {"nominal": _kappa_nominal, "linear": _kappa_linear, "quadratic": _kappa_quadratic}[weights]
    return _agreement(pairs, formula, clusters, level, draws, seed)


def krippendorff_alpha(
    first: ArrayLike,
    second: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    scale: Scale = "nominal",
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> Agreement:
    r"""Krippendorff's α of two raters who rated the same rows.

    .. math:: \alpha = 1 - \frac{\frac1n \sum_i d(x_i, y_i)}{\frac1{N(N-1)} \sum_{v \ne w} d(v, w)}

    where v and w run over all N = 2n values of both raters together, and d = 1 where the values differ
    (``nominal``), the squared distance of their mid-ranks among those N (``ordinal``), or ``(x − y)²``
    (``interval``). Other than κ, it doesn't excuse raters who use the scale differently.

    The interval is a bootstrap of whole clusters, as in `mean_interval`.

    Args:
        first: one rater's values, finite, shape (n,).
        second: the other's, of the same rows.
        clusters: what belongs together (say, the same question), shape (n,); None if nothing does.
        scale: what of the values counts.
        level: of the interval, in (0, 1).
        draws: of the bootstrap.
        seed: of the bootstrap; equal input gives equal bits.

    Returns:
        A value of at most 1; none of fewer than two rows, and where all values on both sides are the same.

    Raises:
        ValueError: values are not finite, lengths differ, or level or draws make no sense.

    Source: Krippendorff (2011), Computing Krippendorff's Alpha-Reliability.

    >>> round(krippendorff_alpha([0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]).value, 3)
    0.095
    """
    pairs = _Pairs.of(first, second)
    formula = {"nominal": _alpha_nominal, "ordinal": _alpha_ordinal, "interval": _alpha_interval}[scale]
    return _agreement(pairs, formula, clusters, level, draws, seed)


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Two columns by the values that occur in them.

    Attributes:
        values: ascending, each once, shape (k,); moved and scaled to [0, 1], which changes no ratio.
        first: the place of each row's first value, shape (n,).
        second: the place of each row's second value, shape (n,).
    """

    values: Floats
    first: NDArray[np.int64]
    second: NDArray[np.int64]

    @classmethod
    def of(cls, first: ArrayLike, second: ArrayLike) -> _Pairs:
        one, other = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
        if one.ndim != 1 or one.shape != other.shape:
            raise ValueError(f"Ratings of shape {one.shape} and {other.shape} are not of the same rows.")
        if not (np.isfinite(one).all() and np.isfinite(other).all()):
            raise ValueError("Ratings are finite numbers.")
        values, codes = np.unique(np.concatenate([one, other]), return_inverse=True)
        if len(values) > 1:
            values = values / np.abs(values).max()  # so that no distance overflows
            values = (values - values[0]) / (values[-1] - values[0])
        return cls(values, codes[: len(one)], codes[len(one) :])

    def shares(self, places: NDArray[np.int64], times: Floats) -> Floats:
        """How much of all rows has each value, a row counting as often as it was drawn."""
        return np.bincount(places, weights=times, minlength=len(self.values)) / float(times.sum())

    def distances(self, values: Floats) -> Floats:
        """How far apart the two values of each row are, given the value at each place."""
        return np.abs(values[self.first] - values[self.second])

    def disagreeing(self, times: Floats) -> float:
        """The share of rows whose values differ."""
        return float(times @ (self.first != self.second) / times.sum())


def _kappa_nominal(pairs: _Pairs, times: Floats) -> float:
    first, second = pairs.shares(pairs.first, times), pairs.shares(pairs.second, times)
    return _beyond_chance(pairs.disagreeing(times), 1.0 - float(first @ second))


def _kappa_linear(pairs: _Pairs, times: Floats) -> float:
    """E|X − Y| of independent values is ∫ F(1 − G) + G(1 − F), with their distribution functions F and G."""
    first, second = (np.cumsum(pairs.shares(places, times))[:-1] for places in (pairs.first, pairs.second))
    expected = np.diff(pairs.values) @ (first * (1.0 - second) + second * (1.0 - first))
    return _beyond_chance(_mean(pairs.distances(pairs.values), times), float(expected))


def _kappa_quadratic(pairs: _Pairs, times: Floats) -> float:
    first, second = pairs.shares(pairs.first, times), pairs.shares(pairs.second, times)
    gap = float((first - second) @ pairs.values)
    expected = _variance(first, pairs.values) + _variance(second, pairs.values) + gap**2
    return _beyond_chance(_mean(pairs.distances(pairs.values) ** 2, times), expected)


def _alpha_nominal(pairs: _Pairs, times: Floats) -> float:
    pooled = _pooled(pairs, times)
    chance = (1.0 - float(pooled @ pooled)) * _without_itself(times)
    return _beyond_chance(pairs.disagreeing(times), chance)


def _alpha_ordinal(pairs: _Pairs, times: Floats) -> float:
    pooled = _pooled(pairs, times)
    return _alpha_of_distances(pairs, times, np.cumsum(pooled) - pooled / 2)  # the mid-rank of each value


def _alpha_interval(pairs: _Pairs, times: Floats) -> float:
    return _alpha_of_distances(pairs, times, pairs.values)


def _alpha_of_distances(pairs: _Pairs, times: Floats, values: Floats) -> float:
    chance = 2.0 * _variance(_pooled(pairs, times), values) * _without_itself(times)
    return _beyond_chance(_mean(pairs.distances(values) ** 2, times), chance)


def _pooled(pairs: _Pairs, times: Floats) -> Floats:
    return (pairs.shares(pairs.first, times) + pairs.shares(pairs.second, times)) / 2


def _without_itself(times: Floats) -> float:
    """From pairs of any two of the N values to pairs of two different ones: N/(N − 1)."""
    both = 2.0 * float(times.sum())
    return both / (both - 1.0)


def _variance(shares: Floats, values: Floats) -> float:
    mean = float(shares @ values)
    return float(shares @ np.square(values - mean))


def _mean(values: Floats, times: Floats) -> float:
    return float(times @ values / times.sum())


def _beyond_chance(observed: float, expected: float) -> float:
    return 1.0 - observed / expected if expected > _NOTHING else float("nan")


def _agreement(
    pairs: _Pairs,
    formula: Callable[[_Pairs, Floats], float],
    clusters: ArrayLike | None,
    level: float,
    draws: int,
    seed: int,
) -> Agreement:
    check_draws(level, draws)
    n = len(pairs.first)
    codes, count = cluster_codes(clusters, n)
    if n < 2:  # noqa: PLR2004 - one row shows no habit of a rater
        return Agreement(None, reason=f"rows with both ratings: {n}, of the 2 that it takes")
    value = formula(pairs, np.ones(n))
    if np.isnan(value):
        return Agreement(None, reason="all ratings on both sides are the same, so chance alone would agree")
    if count < FEWEST_CLUSTERS:
        return Agreement(value, reason=f"no interval: {count} questions are too few")
    if np.array_equal(pairs.first, pairs.second):
        return Agreement(value, reason="no interval: without a disagreement there is no spread to draw from")
    drawn = np.array([formula(pairs, times) for times in _draws(codes, count, draws, seed)])
    if np.isnan(drawn).all():
        return Agreement(value, reason="no interval: no draw of questions has two different ratings")
    return Agreement(value, bootstrap_mean_interval(drawn, np.bincount(codes), level))


def _draws(codes: NDArray[np.int64], count: int, draws: int, seed: int) -> Iterator[Floats]:
    """How often each row is there, in each draw of as many clusters, with replacement."""
    generator = np.random.default_rng(seed)
    for _ in range(draws):
        drawn = generator.integers(0, count, size=count)
        yield np.bincount(drawn, minlength=count)[codes].astype(np.float64)
