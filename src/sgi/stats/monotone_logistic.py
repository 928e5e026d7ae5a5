"""A logistic combination of signals that can only be read one way: every weight is at least 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_TINY = 1e-12


class Labelled(NamedTuple):
    """One set of labelled rows.

    Attributes:
        signals: shape (n, k), NaN where a row has none; more means likelier true.
        true: the labels, shape (n,), of both kinds.
        nuisance: what the label must not be read from, length for one, shape (n,).
    """

    signals: NDArray[np.float64]
    true: NDArray[np.bool_]
    nuisance: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MonotoneLogistic:
    r"""Log odds of being true as a weighted sum of standardised signals.

    .. math:: \mathrm{logit}\, P = b + \sum_k w_k (x_k - m_k) / s_k, \quad w_k \ge 0

    Attributes:
        weights: w, shape (k,), at least 0.
        centres: m, the signals' medians, shape (k,).
        spreads: s, their standard deviations within a set, shape (k,).
        intercept: b, where sets have as many true rows as false.

    >>> signals = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [2.0, 1.0]])
    >>> fitted = fit([Labelled(signals, np.array([False, True, False, True]), np.zeros(4))], ridge=10.0)
    >>> bool((fitted.weights >= 0).all()), fitted.contributions(np.array([[np.nan, np.nan]])).tolist()
    (True, [[0.0, 0.0]])
    """

    weights: NDArray[np.float64]
    centres: NDArray[np.float64]
    spreads: NDArray[np.float64]
    intercept: float

    def contributions(self, signals: NDArray[np.float64]) -> NDArray[np.float64]:
        """What each signal adds to the log odds, shape (n, k); 0 where a row has none."""
        return self.weights * _standardised(signals, self.centres, self.spreads)

    def log_odds(self, signals: NDArray[np.float64]) -> NDArray[np.float64]:
        """The log odds of each row, shape (n,)."""
        return np.asarray(self.contributions(signals).sum(axis=1) + self.intercept)


def fit(sets: Sequence[Labelled], *, ridge: float) -> MonotoneLogistic:
    """Fit one combination to several sets, each with an intercept and a slope of its nuisance of its own.

    Each set counts the same, and in it the true rows as much as the false: what is learnt is what tells them
    apart within sets, not which set a row comes from. The nuisance's slopes take up what it explains and are
    then dropped. Weights are drawn towards one another, not towards 0: with few sets, equal weights carry
    over to others better than fitted ones.

    Args:
        sets: at least one.
        ridge: how strongly weights are drawn to their common value, at least 0; rows count 100 in all.

    Raises:
        ValueError: a set has labels of one kind only.
    """
    from scipy.optimize import minimize

    if any(not 0 < rows.true.sum() < len(rows.true) for rows in sets):
        raise ValueError("a set has labels of one kind only")
    centres = np.nanmedian(np.concatenate([rows.signals for rows in sets]), axis=0)
    spreads = np.sqrt(np.mean([np.nanvar(rows.signals, axis=0) for rows in sets], axis=0))
    spreads = np.where(spreads > _TINY, spreads, 1.0)
    problem = _Problem([_standardised(rows.signals, centres, spreads) for rows in sets], sets, ridge)
    bounds = [(0.0, None)] * problem.k + [(None, None)] * (2 * len(sets))
    found = minimize(problem, problem.start(), jac=True, method="L-BFGS-B", bounds=bounds)
    weights = found.x[: problem.k]
    intercept = float(np.mean(found.x[problem.k : problem.k + len(sets)]))
    return MonotoneLogistic(weights, centres, spreads, intercept)


def _standardised(
    signals: NDArray[np.float64], centres: NDArray[np.float64], spreads: NDArray[np.float64]
) -> NDArray[np.float64]:
    return np.where(np.isnan(signals), 0.0, (signals - centres) / spreads)


class _Problem:
    """The penalised loss, and its gradient, of weights, then intercepts, then slopes of the nuisance."""

    def __init__(self, tables: Sequence[NDArray[np.float64]], sets: Sequence[Labelled], ridge: float) -> None:
        self.tables, self.sets, self.ridge = tables, sets, ridge
        self.k = tables[0].shape[1]
        self.nuisance = [
            (rows.nuisance - rows.nuisance.mean()) / max(float(rows.nuisance.std()), _TINY) for rows in sets
        ]
        each = 100.0 / len(sets)
        self.costs = [
            np.where(rows.true, each / 2 / rows.true.sum(), each / 2 / (~rows.true).sum()) for rows in sets
        ]

    def start(self) -> NDArray[np.float64]:
        """Equal weights."""
        return np.concatenate([np.full(self.k, 1 / self.k), np.zeros(2 * len(self.sets))])

    def __call__(self, place: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """The loss at a place, and its gradient."""
        n = len(self.sets)
        weights, intercepts, slopes = place[: self.k], place[self.k : self.k + n], place[self.k + n :]
        apart = weights - weights.mean()
        loss, gradient = self.ridge * float(apart @ apart), np.zeros_like(place)
        gradient[: self.k] = 2 * self.ridge * apart
        for number, (signals, rows) in enumerate(zip(self.tables, self.sets, strict=True)):
            nuisance, cost = self.nuisance[number], self.costs[number]
            odds = signals @ weights + intercepts[number] + slopes[number] * nuisance
            signed = np.where(rows.true, odds, -odds)
            loss += float(cost @ np.logaddexp(0.0, -signed))
            pull = cost * np.where(rows.true, -1.0, 1.0) / (1 + np.exp(np.clip(signed, -500, 500)))
            gradient[: self.k] += signals.T @ pull
            gradient[self.k + number] += pull.sum()
            gradient[self.k + n + number] += pull @ nuisance
        return loss, gradient
