"""A logistic regression on columns of evidence ("signals") in which every weight is at least 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class MonotoneLogistic:
    r"""Log odds that a row is true, as a weighted sum of standardised signals (columns of evidence).

    .. math:: \mathrm{logit}\, P = b + \sum_k w_k (x_k - m_k) / s_k, \quad w_k \ge 0

    Attributes:
        weights: w, shape (k,), at least 0.
        centres: m, the signals' medians, shape (k,).
        spreads: s, the signals' standard deviations within a data set, shape (k,).
        intercept: b, for data with as many true rows as false ones.

    >>> model = MonotoneLogistic(np.array([2.0, 1.0]), np.zeros(2), np.ones(2), intercept=-1.0)
    >>> model.log_odds(np.array([[0.5, 3.0], [1.0, np.nan]])).tolist()
    [3.0, 1.0]
    """

    weights: NDArray[np.float64]
    centres: NDArray[np.float64]
    spreads: NDArray[np.float64]
    intercept: float

    def contributions(self, signals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what each signal adds to the log odds, shape (n, k); 0 where a row has no value of it."""
        return self.weights * standardise(signals, self.centres, self.spreads)

    def log_odds(self, signals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log odds of each row, shape (n,)."""
        return np.asarray(self.contributions(signals).sum(axis=1) + self.intercept)


def standardise(
    signals: NDArray[np.float64], centres: NDArray[np.float64], spreads: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return (signals − centres) / spreads, with 0 for NaN."""
    return np.where(np.isnan(signals), 0.0, (signals - centres) / spreads)
