"""Agreement of two columns of ratings beyond chance: Cohen's κ and Krippendorff's α, with intervals.

An interval is a jackknife over clusters and needs at least five. More than 400 clusters are merged into 400
random groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from sgi.kernel.short_text import pluralize
from sgi.stats.intervals import (
    MIN_CLUSTERS,
    Interval,
    check_level,
    cluster_codes,
    effective_clusters,
    jackknife_groups,
    student_quantile,
)
from sgi.stats.means import row_weights

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

MAX_JACKKNIFE_GROUPS = 400
"""More groups do not make the standard error more stable."""

Weights = Literal["nominal", "linear", "quadratic"]
"""Cost of a disagreement in κ: 1, |x − y| or (x − y)²."""

MeasurementScale = Literal["nominal", "ordinal", "interval"]
"""Measurement scale of the ratings in α."""

# An expected disagreement below this is rounding error.
_MIN_EXPECTED = 1e-12
# More distinct ratings than this are treated as measurements and get no pseudo-rows.
_MAX_CATEGORIES = 12
# Total weight of the pseudo-rows, spread over all combinations of two ratings.
_PSEUDO_ROWS = 4.0


@dataclass(frozen=True)
class Agreement:
    """Agreement, or correlation, of two columns of ratings.

    Attributes:
        value: 1 = full agreement, 0 = chance, below 0 = worse than chance; None if undefined.
        interval: confidence interval; None if it cannot be computed.
        reason: why the value or the interval is missing; empty if both are present.
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
    rows: ArrayLike | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Agreement:
    r"""Return Cohen's κ, the agreement of two raters corrected for agreement by chance.

    .. math:: \kappa = 1 - \frac{\frac1n \sum_i d(x_i, y_i)}{\frac1{n^2} \sum_{i,j} d(x_i, y_j)}

    with d = 1 where the values differ (``nominal``), ``|x − y|`` (``linear``), ``(x − y)²`` (``quadratic``).
    Distances use the values themselves. For categories numbered 0, 1, 2 … this is the weighted κ; for
    measurements, the quadratic κ is Lin's concordance correlation coefficient. ``rows`` are weights of the
    rows, above 0, shape (n,), which then replace their number.

    Returns:
        A value in [−1, 1]; None for fewer than two rows, or if all ratings are equal.

    Source: Cohen (1960), Educ. Psychol. Meas. 20; Cohen (1968), Psychol. Bull. 70 (weights); Lin (1989),
    Biometrics 45.

    >>> round(cohen_kappa([1, 1, 0, 0, 1, 0], [1, 1, 0, 1, 1, 0]).value, 4)
    0.6667
    """
    pairs = _Pairs.of(first, second)
    formula = {"nominal": _kappa_nominal, "linear": _kappa_linear, "quadratic": _kappa_quadratic}[weights]
    return _agreement(pairs, formula, clusters, rows, level, seed)


def krippendorff_alpha(
    first: ArrayLike,
    second: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    scale: MeasurementScale = "nominal",
    rows: ArrayLike | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Agreement:
    r"""Return Krippendorff's α of two raters who rated the same rows.

    .. math:: \alpha = 1 - \frac{\frac1n \sum_i d(x_i, y_i)}{\frac1{N(N-1)} \sum_{v \ne w} d(v, w)}

    where v and w run over all N = 2n values of both raters together, and d = 1 where the values differ
    (``nominal``), the squared distance of their mid-ranks among those N (``ordinal``), or ``(x − y)²``
    (``interval``). Unlike κ, it penalises raters who use the scale differently. ``rows`` are weights of the
    rows, as in `cohen_kappa`.

    Returns:
        The estimate, at most 1; its value is None for fewer than two rows, or if all ratings are equal.

    Source: Krippendorff (2011), Computing Krippendorff's Alpha-Reliability.

    >>> round(krippendorff_alpha([0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]).value, 3)
    0.095
    """
    pairs = _Pairs.of(first, second)
    formula = {"nominal": _alpha_nominal, "ordinal": _alpha_ordinal, "interval": _alpha_interval}[scale]
    return _agreement(pairs, formula, clusters, rows, level, seed)


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Two columns of ratings as indices into the distinct values, ascending and scaled to [0, 1]."""

    values: Floats
    first: NDArray[np.int64]
    second: NDArray[np.int64]

    @classmethod
    def of(cls, first: ArrayLike, second: ArrayLike) -> _Pairs:
        one, other = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
        if one.ndim != 1 or one.shape != other.shape:
            raise ValueError(f"Ratings must have the same shape (n,), not {one.shape} and {other.shape}.")
        if not (np.isfinite(one).all() and np.isfinite(other).all()):
            raise ValueError("Ratings must be finite numbers.")
        values, codes = np.unique(np.concatenate([one, other]), return_inverse=True)
        if len(values) > 1:
            values = values / np.abs(values).max()  # so that no distance overflows
            values = (values - values[0]) / (values[-1] - values[0])
        return cls(values, codes[: len(one)], codes[len(one) :])

    def with_every_combination(self) -> _Pairs:
        codes = np.arange(len(self.values))
        first, second = np.repeat(codes, len(codes)), np.tile(codes, len(codes))
        return _Pairs(self.values, np.concatenate([self.first, first]), np.concatenate([self.second, second]))

    def shares(self, codes: NDArray[np.int64], times: Floats) -> Floats:
        return np.bincount(codes, weights=times, minlength=len(self.values)) / float(times.sum())

    def distances(self, values: Floats) -> Floats:
        return np.abs(values[self.first] - values[self.second])

    def disagreement(self, times: Floats) -> float:
        return float(times @ (self.first != self.second) / times.sum())


def _kappa_nominal(pairs: _Pairs, times: Floats) -> float:
    first, second = pairs.shares(pairs.first, times), pairs.shares(pairs.second, times)
    return _chance_corrected(pairs.disagreement(times), 1.0 - float(first @ second))


def _kappa_linear(pairs: _Pairs, times: Floats) -> float:
    """Compute E|X − Y| of independent values as ∫ F(1 − G) + G(1 − F), with F and G their distributions."""
    first, second = (np.cumsum(pairs.shares(codes, times))[:-1] for codes in (pairs.first, pairs.second))
    expected = np.diff(pairs.values) @ (first * (1.0 - second) + second * (1.0 - first))
    return _chance_corrected(_mean(pairs.distances(pairs.values), times), float(expected))


def _kappa_quadratic(pairs: _Pairs, times: Floats) -> float:
    first, second = pairs.shares(pairs.first, times), pairs.shares(pairs.second, times)
    gap = float((first - second) @ pairs.values)
    expected = _variance(first, pairs.values) + _variance(second, pairs.values) + gap**2
    return _chance_corrected(_mean(pairs.distances(pairs.values) ** 2, times), expected)


def _alpha_nominal(pairs: _Pairs, times: Floats) -> float:
    pooled = _pool(pairs, times)
    chance = (1.0 - float(pooled @ pooled)) * _pair_correction(times)
    return _chance_corrected(pairs.disagreement(times), chance)


def _alpha_ordinal(pairs: _Pairs, times: Floats) -> float:
    pooled = _pool(pairs, times)
    return _alpha_of_distances(pairs, times, np.cumsum(pooled) - pooled / 2)  # the mid-rank of each value


def _alpha_interval(pairs: _Pairs, times: Floats) -> float:
    return _alpha_of_distances(pairs, times, pairs.values)


def _alpha_of_distances(pairs: _Pairs, times: Floats, values: Floats) -> float:
    chance = 2.0 * _variance(_pool(pairs, times), values) * _pair_correction(times)
    return _chance_corrected(_mean(pairs.distances(values) ** 2, times), chance)


def _pool(pairs: _Pairs, times: Floats) -> Floats:
    return (pairs.shares(pairs.first, times) + pairs.shares(pairs.second, times)) / 2


def _pair_correction(times: Floats) -> float:
    """Return N/(N − 1), which excludes pairs of a value with itself."""
    both = 2.0 * float(times.sum())
    return both / (both - 1.0)


def _variance(shares: Floats, values: Floats) -> float:
    mean = float(shares @ values)
    return float(shares @ np.square(values - mean))


def _mean(values: Floats, times: Floats) -> float:
    return float(times @ values / times.sum())


def _chance_corrected(observed: float, expected: float) -> float:
    return 1.0 - observed / expected if expected > _MIN_EXPECTED else float("nan")


def _agreement(
    pairs: _Pairs,
    formula: Callable[[_Pairs, Floats], float],
    clusters: ArrayLike | None,
    rows: ArrayLike | None,
    level: float,
    seed: int,
) -> Agreement:
    check_level(level)
    n = len(pairs.first)
    codes, count = cluster_codes(clusters, n)
    if n < 2:
        return Agreement(None, reason=f"{pluralize(n, 'row has', 'rows have')} both ratings; 2 are needed")
    mass = row_weights(rows, n)
    value = formula(pairs, mass)
    if np.isnan(value):
        return Agreement(None, reason="all ratings on both sides are the same, so chance alone would agree")
    if count < MIN_CLUSTERS:
        return with_interval(
            value, f"no interval: {pluralize(count, 'question is', 'questions are')} too few; 5 are needed"
        )
    return with_interval(value, _jackknife(pairs, formula, value, codes, mass, level, seed))


def with_interval(value: float, interval: Interval | str) -> Agreement:
    """Return the agreement with its interval, or with the reason why it has none."""
    return Agreement(value, interval) if isinstance(interval, Interval) else Agreement(value, reason=interval)


def _jackknife(
    pairs: _Pairs,
    formula: Callable[[_Pairs, Floats], float],
    value: float,
    codes: NDArray[np.int64],
    mass: Floats,
    level: float,
    seed: int,
) -> Interval | str:
    """Return the jackknife interval over clusters, or the reason why there is none.

    With up to 12 distinct ratings, pseudo-rows of total weight 4 are spread evenly over all combinations of
    two ratings. The interval is κ' ± t·SE, where κ' and SE include them, widened if needed to contain κ. Few
    rows with one frequent rating hide how raters disagree: with 20 rows of which 90 % have one rating, the
    bootstrap covers only 72 %.

    With more distinct ratings, the interval is symmetric on Fisher's scale, atanh κ ± t·SE/(1 − κ²).
    """
    joined = pairs.with_every_combination() if len(pairs.values) <= _MAX_CATEGORIES else pairs
    pseudo = len(joined.first) - len(codes)
    each = _PSEUDO_ROWS / pseudo if pseudo else 0.0
    weights = np.concatenate([mass, np.full(pseudo, each)])
    centre = formula(joined, weights)
    groups = np.concatenate([jackknife_groups(codes, MAX_JACKKNIFE_GROUPS, seed), -1 - np.arange(pseudo)])
    without = {group: formula(joined, weights * (groups != group)) for group in np.unique(groups).tolist()}
    left_out = np.array([result for group, result in without.items() if group >= 0])
    if np.isnan(left_out).any():
        return "no interval: without one question all ratings are the same"
    variance = (len(left_out) - 1) * float(np.var(left_out))
    variance += sum((result - centre) ** 2 / each for group, result in without.items() if group < 0)
    error = float(np.sqrt(variance)) * student_quantile(
        level, effective_clusters(np.bincount(codes, mass)) - 1
    )
    if not pseudo:
        return fisher_interval(value, error, level)
    low, high = min(centre - error, value), max(centre + error, value)
    return Interval(max(low, -1.0), min(high, 1.0), level, "jackknife with imagined rows")


def fisher_interval(value: float, half: float, level: float) -> Interval | str:
    """Return the interval of a correlation on Fisher's z scale, or the reason why there is none.

    ``half`` is the half-width on the original scale.
    """
    if abs(value) >= 1 - _MIN_EXPECTED or half == 0:
        return "no interval: the rows show no spread"
    width = half / (1 - value**2)
    low, high = (float(np.tanh(np.arctanh(value) + side * width)) for side in (-1, 1))
    return Interval(low, high, level, "jackknife, Fisher's z")
