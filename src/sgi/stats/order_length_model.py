"""Logistic model of a judge's preferences with the order and the lengths of the two responses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sgi.stats.intervals import (
    Interval,
    NoInterval,
    cluster_codes,
    student_quantile,
    too_few_clusters,
    unseen_share,
)
from sgi.stats.logistic_map import sigmoid

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

MAX_DOUBLINGS = 3.0
"""A response counts as at most this many doublings longer than the other one."""
MAX_LOG_ODDS = 15.0
"""Fitted log odds beyond this value diverge: the other reply has a probability below one in a million."""
MIN_QUESTIONS = 8

_PARAMETERS = 3  # the pair, the order and the length
_STEPS = 60
_MAX_CHANGE = 5.0  # of the log odds in one step
_CONVERGED = 1e-9
_ZERO = 1e-6
_SINGULAR = 1e-10
_METHOD = "logistic, jackknife of clusters"
_SEPARATED = "the systems, the order or the lengths predict all its replies, so it has no finite estimate"
_CONFOUNDED = "the replies cannot tell it from the effect of the lengths, or do not connect the systems"


@dataclass(frozen=True, eq=False)
class OrderLengthModel:
    """A fitted model; see `fit_order_length`.

    Attributes:
        design: the terms, the order and the doublings of each reply, shape (n, p + 2).
        misses: outcome − fitted probability of each reply, shape (n,).
        kept: the replies that do not diverge, shape (n,).
        codes: the cluster of each reply, from 0, shape (n,).
        coefficients: log odds, shape (p + 2,).
        bread: inverse of the information.
        covariance: covariance of the coefficients over clusters.
    """

    design: Floats
    misses: Floats
    kept: NDArray[np.bool_]
    codes: NDArray[np.int64]
    coefficients: Floats
    bread: Floats
    covariance: Floats

    @cached_property
    def _known_parts(self) -> tuple[Floats, Floats]:
        return _known_part(self.design), _known_part(self.design[self.kept])

    def weights_of(self, place: int) -> Floats:
        """Return the weights that select one coefficient; −2 is the order, −1 the length."""
        return np.asarray(np.eye(self.design.shape[1])[place])

    def estimate(self, weights: Floats) -> float | NoInterval:
        """Return a weighted sum of the coefficients, or why the replies do not determine it."""
        if not (self.design @ weights).any():
            return NoInterval("there are no replies")
        for known, reason in zip(self._known_parts, (_CONFOUNDED, _SEPARATED), strict=True):
            if np.abs(known @ weights - weights).max() > _ZERO * np.abs(weights).max():
                return NoInterval(reason)
        return float(weights @ self.coefficients)

    def intervals(self, weights: Floats) -> Callable[[float], Interval] | NoInterval:
        """Return the function from the level to the interval of a weighted sum, or why there is none."""
        value = self.estimate(weights)
        if isinstance(value, NoInterval):
            return value
        # Replies that diverge carry no information, so their questions do not count.
        count = len(np.unique(self.codes[self.kept & (self.design @ weights != 0)]))
        if count < MIN_QUESTIONS:
            return too_few_clusters(count, MIN_QUESTIONS)
        error = float(np.sqrt(weights @ self.covariance @ weights))

        def interval_at(level: float) -> Interval:
            # An unseen share of the questions may have other replies, also if all that were seen are ties.
            reach = max(student_quantile(level, count - _PARAMETERS) * error, 2 * unseen_share(count, level))
            return Interval(value - reach, value + reach, level, _METHOD)

        return interval_at

    def unexplained(self, weights: Floats, level: float = 0.95) -> tuple[float, Interval] | NoInterval:
        """Return a weighted sum of the misses of replies with its interval; ``weights`` has the shape (n,).

        The interval contains the uncertainty of the coefficients.
        """
        known = self.estimate(self.weights_of(-2))
        count = len(np.unique(self.codes[weights != 0]))
        if isinstance(known, NoInterval) or count < MIN_QUESTIONS:
            return known if isinstance(known, NoInterval) else too_few_clusters(count, MIN_QUESTIONS)
        mean = sigmoid(self.design @ self.coefficients)
        slope = (weights * mean * (1 - mean)) @ self.design @ self.bread
        influence = np.bincount(self.codes, (weights - self.design @ slope) * self.misses)
        error = float(np.sqrt(np.square(influence).sum()))
        reach = max(student_quantile(level, count - 1) * error, unseen_share(count, level) / 2)
        value = float(weights @ self.misses)
        return value, Interval(value - reach, value + reach, level, _METHOD)


def fit_order_length(
    terms: ArrayLike,
    order: ArrayLike,
    doublings: ArrayLike,
    preferred: ArrayLike,
    clusters: ArrayLike | None = None,
) -> OrderLengthModel:
    r"""Fit a logistic model to single replies of a judge that compares two responses.

    .. math:: \mathrm{logit}\,P(\text{the first response is preferred}) = \sum_j t_j θ_j + β o + γ x

    It estimates θ as it is at equal length and without an effect of the order. A tie counts as half a
    preference of each side. Lengths enter as logarithms, so that the slope γ is the same for short and long
    responses and both sides are treated alike; x is limited to ±3, so that no single response decides the
    slope. Newton's method finds the greatest likelihood. Replies whose fitted log odds diverge (separation)
    carry no information on the rest and are left out; coefficients that only they determine have no estimate.

    The covariance is the one-step jackknife over clusters (CR3). Quantiles are those of Student's t with
    three degrees of freedom fewer than there are clusters.

    Args:
        terms: weights of the coefficients θ in each reply, shape (n, p): 1 for the pair of systems, or 1 and
            −1 for its two systems; 0 for a system that is compared with itself.
        order: 1 if the first response is shown first, −1 if second, 0 if nothing is shown, shape (n,).
        doublings: log2 of the length of the first response by that of the second, shape (n,).
        preferred: 1 if the first response is preferred, 0 if the second is, 0.5 for a tie, shape (n,).
        clusters: as in all functions of this package.

    Source: Dubois et al. (2024), arXiv:2404.04475 (preferences at equal length); Papke and Wooldridge (1996),
    J. Appl. Econom. 11 (fractional outcomes); Albert and Anderson (1984), Biometrika 71 (separation); Bell
    and McCaffrey (2002), Survey Methodology 28 (jackknife of clusters).

    >>> order, won = [1, -1] * 8, [1, 1, 1, 0, 1, 1, 1, 0] * 2
    >>> model = fit_order_length(np.ones((16, 1)), order, np.zeros(16), won, np.repeat(range(8), 2))
    >>> model.estimate(model.weights_of(0)).reason
    'the systems, the order or the lengths predict all its replies, so it has no finite estimate'
    >>> won[0] = 0.5
    >>> model = fit_order_length(np.ones((16, 1)), order, np.zeros(16), won, np.repeat(range(8), 2))
    >>> round(model.estimate(model.weights_of(0)), 2)
    1.35
    """
    limited = np.clip(np.asarray(doublings, dtype=np.float64), -MAX_DOUBLINGS, MAX_DOUBLINGS)
    design = np.column_stack([np.asarray(terms, dtype=np.float64), np.asarray(order), limited])
    won = np.asarray(preferred, dtype=np.float64)
    codes, _ = cluster_codes(clusters, len(won))
    kept = np.ones(len(won), dtype=np.bool_)
    while True:
        coefficients = _maximise(design[kept], won[kept])
        odds = design @ coefficients
        diverging = kept & ((2 * won - 1) * odds > MAX_LOG_ODDS)
        if not diverging.any():
            break
        kept &= ~diverging
    mean = sigmoid(odds)
    misses = np.where(kept, won - mean, 0.0)
    information = _information(design[kept], mean[kept])
    covariance = _covariance(design[kept], mean[kept], misses[kept], codes[kept], information)
    return OrderLengthModel(design, misses, kept, codes, coefficients, _inverse(information), covariance)


def _maximise(design: Floats, won: Floats) -> Floats:
    """Return the maximum of the likelihood; it stops on the way if a reply diverges."""
    coefficients = np.zeros(design.shape[1])
    for _ in range(_STEPS):
        odds = design @ coefficients
        mean = sigmoid(odds)
        step = _inverse(_information(design, mean)) @ (design.T @ (won - mean))
        change = float(np.abs(design @ step).max(initial=0.0))
        if change < _CONVERGED or np.abs(odds).max(initial=0.0) > 2 * MAX_LOG_ODDS:
            break
        coefficients = coefficients + step * min(1.0, _MAX_CHANGE / change)
    return coefficients


def _information(design: Floats, mean: Floats) -> Floats:
    return np.asarray((design * (mean * (1 - mean))[:, None]).T @ design)


def _inverse(matrix: Floats) -> Floats:
    """Return the pseudoinverse of symmetric matrices, shape (…, p, p)."""
    return np.asarray(np.linalg.pinv(matrix, rcond=_SINGULAR, hermitian=True), dtype=np.float64)


def _covariance(
    design: Floats, mean: Floats, misses: Floats, codes: NDArray[np.int64], information: Floats
) -> Floats:
    """Return the jackknife covariance: each cluster moves the coefficients by one step without it."""
    order = np.argsort(codes, kind="stable")
    clusters = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
    scores = np.array([misses[rows] @ design[rows] for rows in clusters])
    own = np.array([_information(design[rows], mean[rows]) for rows in clusters])
    steps = (_inverse(information - own) @ scores[:, :, None])[:, :, 0]
    return np.asarray(steps.T @ steps * (1 - 1 / len(clusters)))


def _known_part(design: Floats) -> Floats:
    """Return the projection of coefficients on what the log odds of these rows determine."""
    products = design.T @ design
    return np.asarray(_inverse(products) @ products)
