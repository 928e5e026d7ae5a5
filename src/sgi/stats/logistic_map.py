"""A logistic map from scores to probabilities that few labelled rows suffice for, with intervals."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sgi.stats.intervals import (
    cluster_codes,
    effective_clusters,
    normal_quantile,
    student_quantile,
    unseen_share,
    wilson_ends,
)
from sgi.stats.probability_maps import finite_numbers, labelled_scores

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


_LEVEL = 0.95
_KNOTS = 41
_PARTS = (2, 4, 8)  # a window holds one of these parts of the rows
_MIN_WINDOW = 5


@dataclass(frozen=True)
class MonotoneBounds:
    """Bounds of the probability that a label is true, at increasing scores.

    Attributes:
        scores: the scores, ascending; the first and the last are the smallest and the greatest.
        lows: lower bounds at these scores.
        highs: upper bounds at these scores.
    """

    scores: tuple[float, ...]
    lows: tuple[float, ...]
    highs: tuple[float, ...]

    def __post_init__(self) -> None:
        lengths = {len(self.scores), len(self.lows), len(self.highs)}
        if len(lengths) != 1 or not self.scores or not np.all(np.diff(self.scores) > 0):
            raise ValueError("Bounds need increasing scores, each with a lower and an upper bound.")

    def at(self, scores: ArrayLike) -> tuple[Floats, Floats]:
        """Return the bounds at any scores: the lower one of the next score below, the upper one above."""
        column = np.asarray(scores, dtype=np.float64)
        below = np.searchsorted(self.scores, column, "right")
        above = np.searchsorted(self.scores, column, "left")
        return np.append(0.0, self.lows)[below], np.append(self.highs, 1.0)[above]

    def widen(
        self, scores: ArrayLike, ends: tuple[Floats, Floats], *, everywhere: bool
    ) -> tuple[Floats, Floats]:
        """Widen intervals of probabilities at these scores as far as the bounds require.

        An upper end is at least the upper bound of the lowest scores, and 1 where no false row is near; a
        lower end likewise. ``everywhere``: the interval also contains both bounds.
        """
        low, high = self.at(scores)
        floor = low if everywhere else np.where(low > 0, 1.0, 0.0)
        ceiling = high if everywhere else np.where(high < 1, 0.0, 1.0)
        return (
            np.minimum(np.minimum(ends[0], self.lows[-1]), floor),
            np.maximum(np.maximum(ends[1], self.highs[0]), ceiling),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the bounds as JSON values."""
        return {name: list(values) for name, values in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, object]) -> Self:
        """Read bounds written by `to_dict`; raises ValueError if they are invalid."""
        return cls(*(finite_numbers(values.get(name)) for name in ("scores", "lows", "highs")))


def fit_bounds(scores: Floats, truth: NDArray[np.bool_], clusters: NDArray[np.int64]) -> MonotoneBounds:
    """Return 95 % bounds of the probability that a label is true, from labelled rows.

    If a higher score is never less probable, the rows at and above a score are true at least as often as it.
    The upper bound is the least upper end of Wilson's intervals for the next eighth, quarter and half of the
    rows (at least 5), and never below the share that as many rows without a true one can hide
    (`unseen_share`, the rule of three). The lower bound is computed from the rows at and below the value.
    Rows of a cluster count as copies of each other (`effective_clusters`).

    >>> bounds = fit_bounds(np.arange(40.0), np.arange(40) >= 20, np.arange(40))
    >>> [end.round(2).tolist() for end in bounds.at([0.0, 39.0])]
    [[0.0, 0.83], [0.17, 1.0]]
    """
    order = np.argsort(scores, kind="stable")
    column, true, codes = scores[order], truth[order], clusters[order]
    places = np.linspace(0, len(column) - 1, min(_KNOTS, len(column))).round().astype(np.int64)
    knots = np.unique(column[places])
    sizes = {max(len(column) // part, _MIN_WINDOW) for part in _PARTS}
    highs = [min(_upper(true, codes, window) for window in _windows(column, knot, sizes)) for knot in knots]
    mirrored = -column[::-1], ~true[::-1], codes[::-1]
    lows = [
        1 - min(_upper(*mirrored[1:], window) for window in _windows(mirrored[0], -knot, sizes))
        for knot in knots
    ]
    rising = np.minimum.accumulate(highs[::-1])[::-1]
    return MonotoneBounds(
        tuple(knots.tolist()), tuple(np.maximum.accumulate(lows).tolist()), tuple(rising.tolist())
    )


def _windows(column: Floats, knot: float, sizes: Iterable[int]) -> Iterator[slice]:
    """Yield the next rows at or above a score, at least ``size`` if there are as many; ties are not split."""
    first = int(np.searchsorted(column, knot, "left"))
    for size in sizes:
        last = column[min(first + size, len(column)) - 1]
        yield slice(first, int(np.searchsorted(column, last, "right")))


def _upper(true: NDArray[np.bool_], codes: NDArray[np.int64], window: slice) -> float:
    """Return the upper end of the share of true rows."""
    count = effective_clusters(np.unique(codes[window], return_counts=True)[1])
    end = wilson_ends(float(true[window].mean()), count, normal_quantile(_LEVEL))[1]
    return max(end, unseen_share(round(count), _LEVEL))


PRIOR_MODE = 2.0
"""Slope at which the prior is greatest, in log odds for one standard deviation of the scores."""

LEVEL = 0.95
FIT_LEVEL = 0.2
"""Share of data sets with a logistic truth for which the check of the curve rejects it."""

_WAVES = (2, 3)  # half waves over the ranks of the scores, which the check of the curve tests
_PARAMETERS = 2
_MAX_STEPS = 200
_TOLERANCE = 1e-10  # of the gradient of the penalised log likelihood, per row
_MIN_STEP_SHARE = 1e-9


@dataclass(frozen=True)
class LogisticMap:
    r"""A rising logistic curve, with the covariance of its two parameters.

    .. math:: \mathrm{logit}\,p = a + b\,(x - m)/s

    Attributes:
        slope: b, above 0 (0 if all scores were equal).
        intercept: a.
        centre: m, the mean of the scores that it was fitted on.
        spread: s, their standard deviation (1 if they are equal).
        covariance: variance of a, covariance of a and b, variance of b.
        quantile: how many standard errors of the log odds a 95 % interval reaches to each side.
        bounds: bounds that assume no curve; None in calibrations of earlier versions.
        fit_p: p-value of the check that a logistic curve fits.

    >>> fitted = LogisticMap(2.0, -1.0, 0.0, 1.0, (0.25, 0.0, 0.0), 2.0)
    >>> fitted.probability([0.5, 30.0]).tolist()
    [0.5, 1.0]
    >>> low, high = fitted.interval([0.5])
    >>> low.round(2).tolist(), high.round(2).tolist()
    ([0.27], [0.73])
    """

    slope: float
    intercept: float
    centre: float
    spread: float
    covariance: tuple[float, float, float]
    quantile: float
    bounds: MonotoneBounds | None = None
    fit_p: float = 1.0

    @property
    def fits(self) -> bool:
        """Whether the check finds no difference from a logistic curve."""
        return self.fit_p > FIT_LEVEL

    def __post_init__(self) -> None:
        of_intercept, _, of_slope = self.covariance
        if self.slope < 0 or self.spread <= 0 or min(of_intercept, of_slope) < 0 or self.quantile <= 0:
            raise ValueError("A logistic map needs a slope and variances of 0 or more, and a spread above 0.")

    def probability(self, scores: ArrayLike, /) -> Floats:
        """Return the probability that the label is true, for each score, in [0, 1]; NaN for NaN."""
        return sigmoid(self._log_odds(self._standardise(scores)))

    def interval(self, scores: ArrayLike, /) -> tuple[Floats, Floats]:
        """Return the ends of the 95 % interval of each probability.

        They come from the delta method on the log odds, widened by the bounds: at the lowest and highest
        scores, and everywhere if the curve does not fit.
        """
        standard = self._standardise(scores)
        odds = self._log_odds(standard)
        of_intercept, mixed, of_slope = self.covariance
        with np.errstate(over="ignore", invalid="ignore"):
            variance = of_intercept + 2 * mixed * standard + of_slope * standard**2
            reach = self.quantile * np.sqrt(np.maximum(variance, 0.0))
        ends = sigmoid(odds - reach), sigmoid(odds + reach)
        return ends if self.bounds is None else self.bounds.widen(scores, ends, everywhere=not self.fits)

    def _standardise(self, scores: ArrayLike) -> Floats:
        with np.errstate(over="ignore"):
            return np.asarray((np.asarray(scores, dtype=np.float64) - self.centre) / self.spread)

    def _log_odds(self, standard: Floats) -> Floats:
        with np.errstate(over="ignore"):  # odds beyond the range of floats are as good as infinite
            return np.asarray(self.intercept + self.slope * standard)

    def to_dict(self) -> dict[str, Any]:
        """Return the map as JSON values."""
        content = {"map": "logistic"} | asdict(self)
        if self.bounds is None:  # an unchanged file keeps its digest
            return {name: content[name] for name in content if name not in {"bounds", "fit_p"}}
        return content | {"bounds": self.bounds.to_dict()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Read a map written by `to_dict`; raises ValueError if a value is absent or not finite."""
        known = {"fit_p": 1.0} | dict(values)
        names = [field.name for field in fields(cls) if field.name not in {"covariance", "bounds"}]
        numbers = dict(zip(names, finite_numbers([known.get(name) for name in names]), strict=True))
        covariance = finite_numbers(values.get("covariance"))
        if len(covariance) != 3:
            raise ValueError("The covariance of a logistic map has three numbers.")
        bounds = None if values.get("bounds") is None else MonotoneBounds.from_dict(values["bounds"])
        return cls(covariance=covariance, bounds=bounds, **numbers)


def fit_logistic(scores: ArrayLike, labels: ArrayLike, clusters: ArrayLike | None = None) -> LogisticMap:
    r"""Fit intercept and slope of the log odds, with a weak prior for the slope.

    It maximises

    .. math:: \sum_i \left[y_i \eta_i - \log(1 + e^{\eta_i})\right] + \log b - b/2,
        \quad \eta_i = a + b z_i

    with standardised scores z. The second part is the logarithm of a gamma density of shape 2 and rate ½. It
    is −∞ at b = 0 and falls for large b, so the slope is above 0 and finite, also if the classes are
    separated or ranked in reverse. The penalised likelihood is concave; Newton's method finds its maximum.

    The covariance is the inverse Hessian. If rows share a cluster, the part by which the cluster-robust
    covariance exceeds it is added, so no score has a smaller variance. The quantile is that of Student's t
    with two degrees of freedom fewer than there are clusters. A score test checks the curve against two waves
    over the ranks of the scores. Measured coverage: docs/internals/statistics.md.

    Raises:
        ValueError: a class is absent, or a score is not finite.

    Source: Platt (1999) (logistic map of a score); Chung et al. (2013), Psychometrika 78 (a gamma prior that
    avoids the boundary); Liang and Zeger (1986), Biometrika 73 (cluster-robust covariance); Rayner and Best
    (1989), Smooth Tests of Goodness of Fit.

    >>> fitted = fit_logistic([0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1])
    >>> fitted.probability([0.1, 0.4]).round(2).tolist()
    [0.13, 0.87]
    """
    column, truth = labelled_scores(scores, labels)
    codes, count = cluster_codes(clusters, len(column))
    quantile = student_quantile(LEVEL, max(count - _PARAMETERS, 1))
    centre, spread = _location(column)
    bounds = fit_bounds(column, truth, codes)
    if not spread:
        return replace(_constant(truth, codes, column[0], quantile), bounds=bounds)
    standard = (column - centre) / spread
    line = _maximise(standard, truth.astype(np.float64))
    covariance = _covariance(line, standard, truth, codes, count)
    return LogisticMap(
        float(line[1]),
        float(line[0]),
        centre,
        spread,
        covariance,
        quantile,
        bounds,
        _lack_of_fit(line, standard, truth, codes),
    )


def _location(column: Floats) -> tuple[float, float]:
    """Return mean and standard deviation, without overflow; the deviation is 0 if all scores are equal."""
    reach = float(np.abs(column).max()) or 1.0
    if np.all(column == column[0]):
        return float(column[0]), 0.0
    return float((column / reach).mean()) * reach, float((column / reach).std()) * reach


def _constant(
    truth: NDArray[np.bool_], codes: NDArray[np.int64], score: float, quantile: float
) -> LogisticMap:
    """Return the map of equal scores: the share of true rows, with half a row of each class added."""
    true, rows = int(truth.sum()), len(truth)
    share = (true + 0.5) / (rows + 1)
    largest = int(np.bincount(codes).max())  # rows of a cluster may be copies of each other
    variance = largest / (rows * share * (1 - share))
    odds = float(np.log(share / (1 - share)))
    return LogisticMap(0.0, odds, float(score), 1.0, (variance, 0.0, 0.0), quantile)


def _maximise(standard: Floats, truth: Floats) -> Floats:
    """Return the intercept and slope with the greatest penalised likelihood.

    Uses sums, not BLAS products, whose last bits depend on the number of threads.
    """
    rate = float(truth.mean())
    line = np.array([np.log(rate / (1 - rate)), 1.0])
    loss = _loss(line, standard, truth)
    for _ in range(_MAX_STEPS):
        gradient = _scores(line, standard, truth).sum(axis=0)
        if np.abs(gradient).max() <= _TOLERANCE * len(truth):
            break
        step = np.linalg.solve(_hessian(line, standard), -gradient)
        share = 1.0
        while (tried := _loss(line - share * step, standard, truth)) > loss and share > _MIN_STEP_SHARE:
            share /= 2
        if tried > loss:  # no further progress in floating point
            break
        line, loss = line - share * step, tried
    return line


def _loss(line: Floats, standard: Floats, truth: Floats) -> float:
    if line[1] <= 0:
        return np.inf
    odds = line[0] + line[1] * standard
    return float((np.logaddexp(0.0, odds) - truth * odds).sum() - np.log(line[1]) + line[1] / PRIOR_MODE)


def _scores(line: Floats, standard: Floats, truth: Floats) -> Floats:
    """Return the gradient of the penalised log likelihood by row; each has the same part of the prior."""
    miss = truth - sigmoid(line[0] + line[1] * standard)
    prior = (1 / line[1] - 1 / PRIOR_MODE) / len(truth)
    return np.column_stack([miss, miss * standard + prior])


def _hessian(line: Floats, standard: Floats) -> Floats:
    """Return the Hessian of the loss, which is positive definite."""
    probability = sigmoid(line[0] + line[1] * standard)
    weight = probability * (1 - probability)
    mixed = float((weight * standard).sum())
    own = float((weight * standard * standard).sum()) + 1 / line[1] ** 2
    return np.array([[float(weight.sum()), mixed], [mixed, own]])


def _covariance(
    line: Floats, standard: Floats, truth: NDArray[np.bool_], codes: NDArray[np.int64], count: int
) -> tuple[float, float, float]:
    inverse = np.linalg.inv(_hessian(line, standard))
    if count < len(truth):
        scores = _scores(line, standard, truth.astype(np.float64))
        sums = np.column_stack([np.bincount(codes, column, count) for column in scores.T])
        meat = np.array([[float((one * other).sum()) for other in sums.T] for one in sums.T])
        robust = inverse @ meat @ inverse * (count / max(count - 1, 1))
        values, vectors = np.linalg.eigh(robust - inverse)
        inverse = inverse + (vectors * np.maximum(values, 0.0)) @ vectors.T
    return float(inverse[0, 0]), float(inverse[0, 1]), float(inverse[1, 1])


def _lack_of_fit(line: Floats, standard: Floats, truth: NDArray[np.bool_], codes: NDArray[np.int64]) -> float:
    """Return the p-value of a score test with two degrees of freedom, over clusters."""
    ordered = np.sort(standard)
    ranks = sum(np.searchsorted(ordered, standard, side) for side in ("left", "right")) / (2 * len(ordered))
    waves = np.cos(np.pi * np.multiply.outer(ranks, _WAVES))
    design = np.column_stack([np.ones(len(ordered)), standard])
    probability = sigmoid(line[0] + line[1] * standard)
    weight = probability * (1 - probability)
    inner, shared = (np.einsum("n,ni,nj->ij", weight, design, other) for other in (design, waves))
    rest = waves - np.einsum("ni,ij->nj", design, np.linalg.pinv(inner) @ shared)
    misses = rest * (truth - probability)[:, None]
    if codes.max() + 1 == len(codes):
        variance = np.einsum("n,ni,nj->ij", weight, rest, rest)
    else:
        sums = np.column_stack([np.bincount(codes, column) for column in misses.T])
        variance = np.einsum("ni,nj->ij", sums, sums)
    total = misses.sum(axis=0)
    return float(np.exp(-max(float(total @ np.linalg.pinv(variance) @ total), 0.0) / 2))


def sigmoid(odds: Floats) -> Floats:
    """Return the probabilities of log odds."""
    return np.asarray((1 + np.tanh(odds / 2)) / 2)
