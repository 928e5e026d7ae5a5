"""Rows sorted by score in groups of ties, and checks of scores, labels and weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, eq=False)
class TieGroups:
    """Row numbers sorted by score, lowest first, and where each of the k groups of equal scores begins."""

    order: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, scores: NDArray[np.float64], strata: NDArray[np.int64] | None = None) -> Self:
        """Sort the rows; with strata, by stratum first, and no group spans two strata."""
        # A stable sort is fast for sorted rows, as in bootstrap resamples.
        order = np.argsort(scores, kind="stable") if strata is None else np.lexsort((scores, strata))
        begins = np.ones(len(order), dtype=np.bool_)
        ordered = scores[order]
        begins[1:] = ordered[1:] != ordered[:-1]
        if strata is not None:
            places = strata[order]
            begins[1:] |= places[1:] != places[:-1]
        return cls(order, np.flatnonzero(begins))

    def sums(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum of the weights of each group, shape (k,)."""
        ordered = weights[self.order]
        # Without ties, skip the slow reduction.
        return ordered if len(self.starts) == len(ordered) else np.add.reduceat(ordered, self.starts)

    def of_rows(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the value of each row's group: shape (k,) to shape (n,)."""
        spread = np.empty(len(self.order))
        spread[self.order] = np.repeat(values, np.diff(self.starts, append=len(self.order)))
        return spread


def scores_and_labels(scores: ArrayLike, labels: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Check scores and labels and convert them to arrays."""
    column, truth = values_and_labels(scores, labels)
    if np.isnan(column).any():
        raise ValueError("A score is NaN and has no rank.")
    return column, truth


def values_and_labels(values: ArrayLike, labels: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Check values and labels as `scores_and_labels` does, but allow NaN values."""
    column, truth = np.asarray(values, dtype=np.float64), np.asarray(labels)
    if column.ndim != 1 or column.shape != truth.shape:
        raise ValueError(f"Scores and labels must have one shape (n,), not {column.shape} and {truth.shape}.")
    if truth.dtype != np.bool_ and not np.isin(truth, (0, 1)).all():
        raise ValueError("Labels must be true or false, or 1 or 0.")
    return column, truth.astype(np.bool_)


def row_weights(weights: ArrayLike | None, n: int) -> NDArray[np.float64]:
    """Check row weights, which must be finite and not negative; None gives 1 each, and 0 omits a row."""
    if weights is None:
        return np.ones(n)
    column = np.asarray(weights, dtype=np.float64)
    if column.shape != (n,):
        raise ValueError(f"`weights` must have shape ({n},), not {column.shape}.")
    if not (np.isfinite(column) & (column >= 0)).all():
        raise ValueError("Weights must be finite and 0 or more.")
    return column
