"""Maps from scores to probabilities, fitted on labelled rows: Platt, isotonic, base rate."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from sgi.stats.auroc_intervals import values_and_labels

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

_MAX_STEPS = 200
_TOLERANCE = 1e-11  # of the gradient of the mean log loss
_RIDGE = 1e-12  # added to the Hessian, which can vanish far from the optimum
_MIN_STEP_SHARE = 1e-6  # the line search stops below this share of a Newton step
_SCORE_RESOLUTION = 1e-15  # closer scores count as equal in an isotonic fit


@dataclass(frozen=True)
class PlattMap:
    """p = 1/(1 + exp(−(slope·score + intercept))).

    Attributes:
        slope: change of the log odds per unit of score; 0 if the scores are uninformative.
        intercept: the log odds at a score of 0.

    >>> PlattMap(slope=2.0, intercept=-1.0).probability([0.5, 30.0]).tolist()
    [0.5, 1.0]
    """

    slope: float
    intercept: float

    def probability(self, scores: ArrayLike, /) -> Floats:
        """Return the probability that the label is true, for each score, in [0, 1]; NaN for NaN."""
        with np.errstate(over="ignore"):  # odds beyond the range of floats are as good as infinite
            odds = self.slope * np.asarray(scores, dtype=np.float64) + self.intercept
        return np.asarray((1 + np.tanh(odds / 2)) / 2)


@dataclass(frozen=True)
class IsotonicMap:
    """Piecewise linear, non-decreasing map; constant before the first and after the last point.

    Attributes:
        scores: scores of the points, ascending.
        probabilities: probabilities of the points, non-decreasing, in [0, 1].

    >>> IsotonicMap((0.0, 1.0), (0.2, 0.6)).probability([-5, 0.5, 9]).tolist()
    [0.2, 0.4, 0.6]
    """

    scores: tuple[float, ...]
    probabilities: tuple[float, ...]

    def __post_init__(self) -> None:
        rising = np.diff(self.scores) > 0, np.diff(self.probabilities) >= 0
        if not (0 < len(self.scores) == len(self.probabilities) and all(map(np.all, rising))):
            raise ValueError("An isotonic map needs increasing scores and non-decreasing probabilities.")
        if not 0 <= self.probabilities[0] <= self.probabilities[-1] <= 1:
            raise ValueError("A probability is outside [0, 1].")

    def probability(self, scores: ArrayLike, /) -> Floats:
        """Return the probability that the label is true, for each score, in [0, 1]; NaN for NaN."""
        column = np.asarray(scores, dtype=np.float64)
        result = np.interp(column, self.scores, self.probabilities)
        return np.where(np.isnan(column), np.nan, result)  # np.interp maps NaN to the value of a single point

    def to_dict(self) -> dict[str, Any]:
        """Return the map as JSON values."""
        return {"map": "isotonic"} | asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, object]) -> Self:
        """Read a map written by `to_dict`; raises ValueError if it is invalid."""
        return cls(finite_numbers(values.get("scores")), finite_numbers(values.get("probabilities")))


ProbabilityMap: TypeAlias = PlattMap | IsotonicMap
"""Maps scores to probabilities of true."""


def fit_platt(scores: ArrayLike, labels: ArrayLike) -> PlattMap:
    """Fit a logistic curve to the labels (Platt scaling); the slope may be negative.

    Targets are smoothed: (n⁺ + 1)/(n⁺ + 2) for true, 1/(n⁻ + 2) for false. This keeps the slope finite for
    separable classes without a penalty. The fit uses standardised scores and Newton's method with
    backtracking. Constant scores give slope 0 and the mean of the targets.

    Raises:
        ValueError: a class is absent.

    Source: Platt (1999), Advances in Large Margin Classifiers; Lin, Lin and Weng (2007), Machine Learning 68.

    >>> fitted = fit_platt([0.1, 0.2, 0.3, 0.4], [0, 0, 1, 1])
    >>> fitted.probability([0.1, 0.4]).round(2).tolist()
    [0.2, 0.8]
    """
    column, truth = labelled_scores(scores, labels)
    positives, negatives = int(truth.sum()), int((~truth).sum())
    targets = np.where(truth, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    # Divide by the largest score first, so that squares and sums cannot overflow.
    reach = float(np.abs(column).max()) or 1.0
    centre, spread = float((column / reach).mean()), float((column / reach).std())
    scale = spread * reach
    if not scale or np.all(column == column[0]):
        rate = float(targets.mean())
        return PlattMap(0.0, float(np.log(rate / (1 - rate))))
    standard = (column / reach - centre) / spread
    slope, intercept = _logistic_line(standard, targets)
    return PlattMap(slope / scale, intercept - slope * centre / spread)


def _logistic_line(column: Floats, targets: Floats) -> tuple[float, float]:
    """Return the slope and intercept that minimise the mean log loss.

    Uses sums, not BLAS products, whose last bits depend on the number of threads.
    """
    rate = float(targets.mean())
    line = np.array([0.0, np.log(rate / (1 - rate))])
    loss = _log_loss(line, column, targets)
    for _ in range(_MAX_STEPS):
        probability = (1 + np.tanh((line[0] * column + line[1]) / 2)) / 2
        miss, weight = probability - targets, probability * (1 - probability)
        gradient = np.array([(miss * column).mean(), miss.mean()])
        if np.abs(gradient).max() <= _TOLERANCE:
            break
        mixed = (weight * column).mean()
        curvature = np.array(
            [[(weight * column * column).mean() + _RIDGE, mixed], [mixed, weight.mean() + _RIDGE]]
        )
        step = np.linalg.solve(curvature, gradient)
        share = 1.0
        while (tried := _log_loss(line - share * step, column, targets)) > loss and share > _MIN_STEP_SHARE:
            share /= 2
        if tried > loss:  # no further progress in floating point
            break
        line, loss = line - share * step, tried
    return float(line[0]), float(line[1])


def _log_loss(line: Floats, column: Floats, targets: Floats) -> float:
    odds = line[0] * column + line[1]
    return float((np.maximum(odds, 0) + np.log1p(np.exp(-np.abs(odds))) - targets * odds).mean())


def fit_isotonic(scores: ArrayLike, labels: ArrayLike) -> IsotonicMap:
    """Fit a rising step function to the labels by least squares.

    It assumes only that a higher score is never less probable. It needs more rows than `fit_platt`: some
    hundreds. Where the classes are separable it gives 0 and 1.

    Source: Zadrozny and Elkan (2002), KDD; Barlow et al. (1972). The result has the bits of scikit-learn's.

    >>> fit_isotonic([1, 2, 3, 4], [0, 1, 0, 1])
    IsotonicMap(scores=(1.0, 2.0, 3.0, 4.0), probabilities=(0.0, 0.5, 0.5, 1.0))
    """
    column, truth = labelled_scores(scores, labels)
    order = np.lexsort((truth, column))
    points, means, weights = _distinct_scores(column[order].tolist(), truth[order].tolist())
    fitted = np.repeat(*_pool_adjacent_violators(means, weights))
    inner = (fitted[1:-1] != fitted[:-2]) | (fitted[1:-1] != fitted[2:])
    corners = np.concatenate([[True], inner, [True]])[: len(fitted)]
    return IsotonicMap(tuple(np.array(points)[corners].tolist()), tuple(fitted[corners].tolist()))


def _distinct_scores(column: list[float], truth: list[bool]) -> tuple[list[float], list[float], list[float]]:
    """Return each distinct score with its share of true rows and its number of rows.

    Scores less than 1e-15 above the first score of a group belong to that group.
    """
    points, positives, weights = [column[0]], [0.0], [0.0]
    for score, true in zip(column, truth, strict=True):
        if score - points[-1] >= _SCORE_RESOLUTION:
            points.append(score)
            positives.append(0.0)
            weights.append(0.0)
        positives[-1] += true
        weights[-1] += 1
    return points, [count / rows for count, rows in zip(positives, weights, strict=True)], weights


def _pool_adjacent_violators(means: list[float], weights: list[float]) -> tuple[Floats, NDArray[np.int64]]:
    """Return the means of the rising blocks, and how many points each block has.

    Source: Busing (2022), Journal of Statistical Software 102, algorithm 1.
    """
    blocks: list[tuple[float, float, int]] = []  # mean, weight, points
    place = 0
    while place < len(means):
        mean, weight, first = means[place], weights[place], place
        place += 1
        if blocks and blocks[-1][0] >= mean:
            before, heavier, points = blocks.pop()
            total, weight = heavier * before + weight * mean, weight + heavier
            first -= points
            mean = total / weight
            while place < len(means) and mean >= means[place]:
                total, weight = total + weights[place] * means[place], weight + weights[place]
                place += 1
                mean = total / weight
            while blocks and blocks[-1][0] >= mean:
                before, heavier, points = blocks.pop()
                total, weight = total + heavier * before, weight + heavier
                first -= points
                mean = total / weight
        blocks.append((mean, weight, place - first))
    return np.array([mean for mean, _, _ in blocks]), np.array([points for _, _, points in blocks])


def fit_base_rate(scores: ArrayLike, labels: ArrayLike) -> IsotonicMap:
    """Fit the constant map, the share of true rows, as a baseline for other maps.

    >>> fit_base_rate([1, 2, 3, 4], [0, 0, 0, 1]).probability([-9, 9]).tolist()
    [0.25, 0.25]
    """
    column, truth = labelled_scores(scores, labels)
    return IsotonicMap((float(column[0]),), (float(truth.mean()),))


def labelled_scores(scores: ArrayLike, labels: ArrayLike) -> tuple[Floats, NDArray[np.bool_]]:
    """Check scores and labels: finite, and both classes present."""
    column, truth = values_and_labels(scores, labels)
    if not np.isfinite(column).all():
        raise ValueError("A score is NaN or infinite; leave out rows without a value.")
    if truth.all() or not truth.any():
        raise ValueError("All rows have the same label; both classes are needed.")
    return column, truth


def finite_numbers(values: object) -> tuple[float, ...]:
    """Check that a value is a list of finite numbers."""
    if not isinstance(values, (list, tuple)) or not all(type(value) in (int, float) for value in values):
        raise ValueError("A map needs a list of numbers.")
    numbers = tuple(map(float, values))
    if not np.isfinite(numbers).all():
        raise ValueError("A map needs finite numbers.")
    return numbers
