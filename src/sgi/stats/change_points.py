"""Change points in a series of means that is checked again after each new mean."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sgi.stats.intervals import check_level

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

LEVEL = 0.95
"""Default level: at most 5 % of series without a change ever have a false alarm, in any number of checks."""
_MIN_MEANS = 2
_EXPECTED_CHANGE = 3.0
"""Standard deviation of expected changes, in standard errors of a run of average size."""


@dataclass(frozen=True)
class ChangePoint:
    """A position from which on the mean differs.

    Attributes:
        position: index of the first mean of the new level.
        before: weighted mean of the values since the previous change point.
        after: weighted mean of the values up to the next change point.
        p: always-valid p-value, corrected for all positions and all earlier and later checks.
    """

    position: int
    before: float
    after: float
    p: float


@dataclass(frozen=True)
class Steps:
    """The change points of a series in order, and the level of each mean, constant between change points."""

    changes: tuple[ChangePoint, ...]
    levels: tuple[float, ...]


def change_points(
    means: ArrayLike, errors: ArrayLike, sizes: ArrayLike | None = None, *, level: float = LEVEL
) -> Steps:
    r"""Find the change points of a series, by binary segmentation.

    The variance of a single value is pooled over all means, :math:`\hat\sigma^2 = \sum_i n_i \cdot n_i e_i^2
    / \sum_i n_i`, because the error of one mean can depend on its value: a share of 100 % seems to have a
    smaller error than one of 95 %. With weights :math:`n_i`, each position k of a segment has the statistic

    .. math:: z_k = |\bar x_{\ge k} - \bar x_{<k}| / \sqrt{v_k}, \qquad
        v_k = \hat\sigma^2 (1/N_{<k} + 1/N_{\ge k})

    and the Bayes factor of a change from N(0, τ²) at k against no change, with a flat prior of the mean:

    .. math:: B_k = \sqrt{\frac{v_k}{v_k + \tau^2}} \exp \frac{z_k^2 \tau^2}{2 (v_k + \tau^2)}

    τ is three standard errors of a mean of average size. The prior of position k is 1/(k(k + 1)), and the
    mixture of all positions is a martingale without a change. So p = 1/mixture is at most 1 − level in at
    most that share of series at any time (Ville), for independent normal means. If it is, the position with
    the largest z is a change point, and both sides are searched. Means over the same questions share a part
    of their error, which makes the test conservative.

    Args:
        means: the means in the order of time, shape (n,), finite.
        errors: their standard errors, shape (n,), finite and positive.
        sizes: their numbers of values, shape (n,), positive; None: proportional to 1/errors².
        level: 1 minus the largest probability that a series without a change ever has a false alarm.

    Source: Scott and Knott (1974), Biometrics 30 (binary segmentation); Robbins (1970), Ann. Math. Stat. 41
    (normal mixtures, Ville's inequality).

    >>> steps = change_points([5, 5.1, 4.9, 5, 4, 4.1], [0.1] * 6)
    >>> [change.position for change in steps.changes], [round(level, 2) for level in steps.levels]
    ([4], [5.0, 5.0, 5.0, 5.0, 4.05, 4.05])
    """
    values, spread = np.asarray(means, dtype=np.float64), np.asarray(errors, dtype=np.float64)
    if values.ndim != 1 or values.shape != spread.shape or not np.isfinite([values, spread]).all():
        raise ValueError("Change points need one column of finite means, and as many finite standard errors.")
    if not (spread > 0).all():
        raise ValueError("Each standard error must be positive.")
    check_level(level)
    least = spread.min(initial=np.inf)
    weights = np.square(least / spread)  # relative: extreme errors do not overflow
    if sizes is not None:
        weights = np.asarray(sizes, dtype=np.float64)
    if weights.shape != values.shape or not (weights > 0).all():
        raise ValueError("Each mean needs a positive size.")
    if not len(values):
        return Steps((), ())
    weights = weights / weights.mean()
    pooled = np.sqrt(np.average(weights * np.square(spread / least), weights=weights))
    found = _segment(values / least / pooled, weights, 0, 1 - level)
    ends = [0, *(position for position, _ in found), len(values)]
    levels = [
        float(np.average(values[start:end], weights=weights[start:end]))
        for start, end in pairwise(ends)
        for _ in range(start, end)
    ]
    changes = (ChangePoint(place, levels[place - 1], levels[place], p) for place, p in found)
    return Steps(tuple(changes), tuple(levels))


def _segment(values: Floats, weights: Floats, start: int, alpha: float) -> list[tuple[int, float]]:
    """Return the change points of a segment and their p-values, in order; values are in units of errors."""
    if len(values) < _MIN_MEANS:
        return []
    statistic = _statistics(values, weights)
    p = _always_valid_p(statistic, weights)
    if p > alpha:
        return []
    cut = int(statistic.argmax()) + 1
    left = _segment(values[:cut], weights[:cut], start, alpha)
    right = _segment(values[cut:], weights[cut:], start + cut, alpha)
    return [*left, (start + cut, p), *right]


def _always_valid_p(statistic: Floats, weights: Floats) -> float:
    """Return p, at most 1; see `change_points`. Later positions have the rest of the prior, 1/n."""
    place = np.arange(1, len(weights))
    before = np.cumsum(weights)[:-1]
    variance = 1 / before + 1 / (weights.sum() - before)
    share = _EXPECTED_CHANGE**2 / (variance + _EXPECTED_CHANGE**2)
    factors = np.log1p(-share) / 2 + np.square(statistic) * share / 2 - np.log(place * (place + 1))
    return min(1.0, float(np.exp(-np.logaddexp.reduce([*factors, -math.log(len(weights))]))))


def _statistics(values: Floats, weights: Floats) -> Floats:
    """Return the statistic of each position from 1 to n − 1."""
    centred = values - np.average(values, weights=weights)
    first, weight = np.cumsum(weights * centred)[:-1], np.cumsum(weights)[:-1]
    # The centred sums of both sides are opposite, so their squares have one term.
    return np.asarray(np.abs(first) * np.sqrt(1 / weight + 1 / (weights.sum() - weight)), dtype=np.float64)
