"""Fit the weights of the grounding detector: logistic regression with non-negative weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import minimize

from sgi.metrics.grounding.grounding_model import MonotoneLogistic, standardise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_TINY = 1e-12


class Labelled(NamedTuple):
    """One set of labelled rows.

    Attributes:
        signals: shape (n, k), NaN for a missing signal; higher means more likely true.
        true: the labels, shape (n,), with both classes.
        nuisance: a variable that must not predict the label, for example length, shape (n,).
    """

    signals: NDArray[np.float64]
    true: NDArray[np.bool_]
    nuisance: NDArray[np.float64]


def fit(sets: Sequence[Labelled], *, ridge: float) -> MonotoneLogistic:
    """Fit one model to several sets.

    Each set has its own intercept and its own slope of the nuisance. All sets have the same total weight, and
    so have the two classes within a set. So the weights separate the classes within sets, and do not identify
    the set of a row. The slopes of the nuisance are dropped after the fit. The penalty draws the weights
    towards each other, not towards 0: with few sets, equal weights generalise better.

    Args:
        sets: at least one.
        ridge: strength of the penalty, at least 0; the rows have a total weight of 100.

    Raises:
        ValueError: a set has labels of one class only.
    """
    if any(not 0 < rows.true.sum() < len(rows.true) for rows in sets):
        raise ValueError("A set has labels of one class only.")
    centres = np.nanmedian(np.concatenate([rows.signals for rows in sets]), axis=0)
    spreads = np.sqrt(np.mean([np.nanvar(rows.signals, axis=0) for rows in sets], axis=0))
    spreads = np.where(spreads > _TINY, spreads, 1.0)
    problem = _Problem([standardise(rows.signals, centres, spreads) for rows in sets], sets, ridge)
    bounds = [(0.0, None)] * problem.k + [(None, None)] * (2 * len(sets))
    result = minimize(problem, problem.start(), jac=True, method="L-BFGS-B", bounds=bounds)
    weights = result.x[: problem.k]
    intercept = float(np.mean(result.x[problem.k : problem.k + len(sets)]))
    return MonotoneLogistic(weights, centres, spreads, intercept)


class _Problem:
    """The penalised loss and its gradient. Parameters: weights, intercepts, slopes of the nuisance."""

    def __init__(self, tables: Sequence[NDArray[np.float64]], sets: Sequence[Labelled], ridge: float) -> None:
        self.tables, self.sets, self.ridge = tables, sets, ridge
        self.k = tables[0].shape[1]
        self.nuisance = [
            (rows.nuisance - rows.nuisance.mean()) / max(float(rows.nuisance.std()), _TINY) for rows in sets
        ]
        total = 100.0 / len(sets)
        self.costs = [
            np.where(rows.true, total / 2 / rows.true.sum(), total / 2 / (~rows.true).sum()) for rows in sets
        ]

    def start(self) -> NDArray[np.float64]:
        """Return the start values: equal weights, zeros for the rest."""
        return np.concatenate([np.full(self.k, 1 / self.k), np.zeros(2 * len(self.sets))])

    def __call__(self, parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the loss and its gradient."""
        n = len(self.sets)
        weights, intercepts, slopes = np.split(parameters, [self.k, self.k + n])
        deviations = weights - weights.mean()
        loss, gradient = self.ridge * float(deviations @ deviations), np.zeros_like(parameters)
        gradient[: self.k] = 2 * self.ridge * deviations
        for index, (signals, rows) in enumerate(zip(self.tables, self.sets, strict=True)):
            nuisance, cost = self.nuisance[index], self.costs[index]
            log_odds = signals @ weights + intercepts[index] + slopes[index] * nuisance
            margin = np.where(rows.true, log_odds, -log_odds)
            loss += float(cost @ np.logaddexp(0.0, -margin))
            residual = cost * np.where(rows.true, -1.0, 1.0) / (1 + np.exp(np.clip(margin, -500, 500)))
            gradient[: self.k] += signals.T @ residual
            gradient[self.k + index] += residual.sum()
            gradient[self.k + n + index] += residual @ nuisance
        return loss, gradient
