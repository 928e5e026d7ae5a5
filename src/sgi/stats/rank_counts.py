"""Rows sorted by score, with tied rows grouped into one step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, eq=False)
class Steps:
    """Rows sorted by score from low to high, with tied rows grouped into one step.

    A threshold separates two steps, so no statistic has to treat ties itself.

    Attributes:
        order: the rows, lowest score first, shape (n,).
        starts: where in this order each step begins, shape (k,).
    """

    order: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, scores: NDArray[np.float64], strata: NDArray[np.int64] | None = None) -> Self:
        """Sort the rows; with strata, by stratum first, and no step spans two strata.

        >>> Steps.of(np.array([0.5, 0.2, 0.5])).starts.tolist()
        [0, 1]
        """
        # A stable sort needs one pass where rows are sorted already, as in bootstrap draws.
        order = np.argsort(scores, kind="stable") if strata is None else np.lexsort((scores, strata))
        begins = np.ones(len(order), dtype=np.bool_)
        ordered = scores[order]
        begins[1:] = ordered[1:] != ordered[:-1]
        if strata is not None:
            places = strata[order]
            begins[1:] |= places[1:] != places[:-1]
        return cls(order, np.flatnonzero(begins))

    def sums(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """The sum of the weights of each step, shape (k,).

        >>> Steps.of(np.array([0.5, 0.2, 0.5])).sums(np.array([1.0, 2.0, 4.0])).tolist()
        [2.0, 5.0]
        """
        ordered = weights[self.order]
        # Without ties there is nothing to sum: skip the slow reduction.
        return ordered if len(self.starts) == len(ordered) else np.add.reduceat(ordered, self.starts)

    def of_rows(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The value of each row's step: shape (k,) to shape (n,).

        >>> Steps.of(np.array([0.5, 0.2, 0.5])).of_rows(np.array([7.0, 9.0])).tolist()
        [9.0, 7.0, 9.0]
        """
        spread = np.empty(len(self.order))
        spread[self.order] = np.repeat(values, np.diff(self.starts, append=len(self.order)))
        return spread


def scores_and_truths(scores: ArrayLike, labels: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Scores and labels as columns of the same length.

    Args:
        scores: shape (n,); not NaN.
        labels: true or false (or 1 and 0), shape (n,).

    Raises:
        ValueError: a score is NaN, a label is neither true nor false, or lengths differ.

    >>> scores_and_truths([0.1, 0.4], [0, 1])
    (array([0.1, 0.4]), array([False,  True]))
    """
    column, truth = values_and_truths(scores, labels)
    if np.isnan(column).any():
        raise ValueError("A score is NaN and has no rank.")
    return column, truth


def values_and_truths(values: ArrayLike, labels: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """As `scores_and_truths`, with NaN for an unknown value.

    >>> values_and_truths([np.nan, 0.4], [False, True])[0]
    array([nan, 0.4])
    """
    column, truth = np.asarray(values, dtype=np.float64), np.asarray(labels)
    if column.ndim != 1 or column.shape != truth.shape:
        raise ValueError(f"Scores of shape {column.shape} have labels of shape {truth.shape}.")
    if truth.dtype != np.bool_ and not np.isin(truth, (0, 1)).all():
        raise ValueError("A label is true or false, or 1 or 0.")
    return column, truth.astype(np.bool_)


def row_weights(weights: ArrayLike | None, n: int) -> NDArray[np.float64]:
    """The weight of each row; 1 by default.

    Args:
        weights: finite and not negative, shape (n,); 0 leaves a row out.
        n: the number of rows.

    Raises:
        ValueError: a weight is negative or not finite, or lengths differ.

    >>> row_weights(None, 2).tolist(), row_weights([3, 0], 2).tolist()
    ([1.0, 1.0], [3.0, 0.0])
    """
    if weights is None:
        return np.ones(n)
    column = np.asarray(weights, dtype=np.float64)
    if column.shape != (n,):
        raise ValueError(f"{n} rows have weights of shape {column.shape}.")
    if not (np.isfinite(column) & (column >= 0)).all():
        raise ValueError("A weight is a finite number, 0 or more.")
    return column
