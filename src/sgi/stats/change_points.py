"""Change points in a series of means with known standard errors."""

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

LEVEL = 0.99
"""Default level: a series that is checked after each of 20 runs then has few false alarms."""
_MIN_MEANS = 2


@dataclass(frozen=True)
class ChangePoint:
    """A position from which on the mean differs.

    Attributes:
        position: index of the first mean of the new level.
        before: weighted mean of the values since the previous change point.
        after: weighted mean of the values up to the next change point.
        p: two-sided p-value, corrected for all positions of the series (Bonferroni).
    """

    position: int
    before: float
    after: float
    p: float


@dataclass(frozen=True)
class Steps:
    """The change points of a series in order, and the level of each mean: that between its change points."""

    changes: tuple[ChangePoint, ...]
    levels: tuple[float, ...]


def change_points(means: ArrayLike, errors: ArrayLike, *, level: float = LEVEL) -> Steps:
    r"""Find the change points of a series, by binary segmentation.

    With the weights :math:`w_i = 1/e_i^2`, each position k of a segment has the statistic

    .. math:: z_k = |\bar x_{\ge k} - \bar x_{<k}| / \sqrt{1/W_{<k} + 1/W_{\ge k}}

    The position with the largest statistic is a change point if its normal p-value times the number of
    positions of the whole series is at most 1 − level; then both sides are searched. Without a change, the
    probability of a change point is at most 1 − level for independent normal means (Bonferroni). Means over
    the same questions share a part of their error, which makes the test conservative.

    Args:
        means: the means in the order of time, shape (n,), finite.
        errors: their standard errors, shape (n,), finite and positive.
        level: 1 minus the largest probability of a false alarm in one check of the whole series.

    Source: Scott and Knott (1974), Biometrics 30 (binary segmentation).

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
    weights = np.square(spread.min(initial=np.inf) / spread)  # relative: extreme errors do not overflow
    least = float(spread.min()) if len(spread) else 1.0
    found = _segment(values / least, weights, 0, max(1, len(values) - 1), 1 - level)
    ends = [0, *(position for position, _ in found), len(values)]
    levels = [
        float(np.average(values[start:end], weights=weights[start:end]))
        for start, end in pairwise(ends)
        for _ in range(start, end)
    ]
    changes = (ChangePoint(place, levels[place - 1], levels[place], p) for place, p in found)
    return Steps(tuple(changes), tuple(levels))


def _segment(
    values: Floats, weights: Floats, start: int, positions: int, alpha: float
) -> list[tuple[int, float]]:
    """Return the change points of a segment and their p-values, in order; values are in units of errors."""
    if len(values) < _MIN_MEANS:
        return []
    statistic = _statistics(values, weights)
    best = int(statistic.argmax())
    p = min(1.0, positions * math.erfc(float(statistic[best]) / math.sqrt(2)))
    if p > alpha:
        return []
    cut = best + 1
    left = _segment(values[:cut], weights[:cut], start, positions, alpha)
    right = _segment(values[cut:], weights[cut:], start + cut, positions, alpha)
    return [*left, (start + cut, p), *right]


def _statistics(values: Floats, weights: Floats) -> Floats:
    """Return the statistic of each position from 1 to n − 1."""
    centred = values - np.average(values, weights=weights)
    first, weight = np.cumsum(weights * centred)[:-1], np.cumsum(weights)[:-1]
    # The centred sums of both sides are opposite, so their squares have one term.
    return np.asarray(np.abs(first) * np.sqrt(1 / weight + 1 / (weights.sum() - weight)), dtype=np.float64)
