"""Rows sorted once by score, tied rows as one step: what every statistic of a ranking is summed over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, eq=False)
class Steps:
    """Rows by score, rows of one score together, from the lowest to the highest.

    A threshold can only lie between two steps, so that ties need no further thought.

    Attributes:
        order: the rows, lowest score first, shape (n,).
        starts: where in this order each step begins, shape (k,).
    """

    order: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, scores: NDArray[np.float64], strata: NDArray[np.int64] | None = None) -> Self:
        """Sort the rows; with strata, stratum after stratum, no step reaching over two.

        >>> Steps.of(np.array([0.5, 0.2, 0.5])).starts.tolist()
        [0, 1]
        """
        # A stable sort takes rows that are sorted already in one pass, as those of bootstrap draws are.
        order = np.argsort(scores, kind="stable") if strata is None else np.lexsort((scores, strata))
        begins = np.ones(len(order), dtype=np.bool_)
        ordered = scores[order]
        begins[1:] = ordered[1:] != ordered[:-1]
        if strata is not None:
            places = strata[order]
            begins[1:] |= places[1:] != places[:-1]
        return cls(order, np.flatnonzero(begins))

    def sums(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """The weight that stands on each step, shape (k,).

        >>> Steps.of(np.array([0.5, 0.2, 0.5])).sums(np.array([1.0, 2.0, 4.0])).tolist()
        [2.0, 5.0]
        """
        ordered = weights[self.order]
        # Without ties there is nothing to sum, which summing would take most of the time to find.
        return ordered if len(self.starts) == len(ordered) else np.add.reduceat(ordered, self.starts)

    def of_rows(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """What each row has, from what its step has: shape (k,) to shape (n,).

        >>> Steps.of(np.array([0.5, 0.2, 0.5])).of_rows(np.array([7.0, 9.0])).tolist()
        [9.0, 7.0, 9.0]
        """
        spread = np.empty(len(self.order))
        spread[self.order] = np.repeat(values, np.diff(self.starts, append=len(self.order)))
        return spread


@dataclass(frozen=True, eq=False)
class Within:
    """AUROC inside strata: rows sorted once by stratum and score, an area under any weights then a few sums.

    Attributes:
        truth: of the rows, shape (n,).
        true: the true rows, by stratum and score, shape (n⁺,).
        false: the false rows, likewise, shape (n⁻,).
        below: how many of these come before each true row, other strata among them, shape (n⁺,).
        up_to: the same and those that tie with it, shape (n⁺,).
        strata: of the true rows, counted from 0, shape (n⁺,).
        starts: how many false rows come before each stratum, and all of them, shape (strata + 1,).
    """

    truth: NDArray[np.bool_]
    true: NDArray[np.int64]
    false: NDArray[np.int64]
    below: NDArray[np.int64]
    up_to: NDArray[np.int64]
    strata: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, scores: NDArray[np.float64], truth: NDArray[np.bool_], strata: NDArray[np.int64]) -> Self:
        """Sort the rows; the strata are counted from 0."""
        steps = Steps.of(scores, strata)
        places = steps.of_rows(np.arange(len(steps.starts), dtype=np.float64))
        true, false = (steps.order[side[steps.order]] for side in (truth, ~truth))
        below, up_to = (np.searchsorted(places[false], places[true], side=side) for side in ("left", "right"))
        count = int(strata.max(initial=-1)) + 1
        starts = np.searchsorted(strata[false], np.arange(count + 1))
        return cls(truth, true, false, below, up_to, strata[true], starts)

    def area(self, weights: NDArray[np.float64]) -> float | None:
        """The share of pairs within strata that the true row wins, ties counting half.

        Args:
            weights: of the rows, shape (n,).

        Returns:
            None where no stratum has weight in both classes.

        >>> scores, truth = np.array([1.0, 2.0, 9.0, 8.0]), np.array([False, True, False, True])
        >>> Within.of(scores, truth, np.array([0, 0, 1, 1])).area(np.array([2.0, 1.0, 1.0, 1.0]))
        0.6666666666666666
        """
        true = weights[self.true]
        passed = np.zeros(len(self.false) + 1)
        np.cumsum(weights[self.false], out=passed[1:])
        strata = len(self.starts) - 1
        # Of one stratum the sum is the same, in a tenth of the time.
        of_strata = true.sum(keepdims=True) if strata == 1 else np.bincount(self.strata, true, strata)
        before = passed[self.starts]
        pairs = np.einsum("i,i->", of_strata, np.diff(before))
        won = np.einsum("i,i->", true, passed[self.below] + passed[self.up_to]) / 2
        return float((won - np.einsum("i,i->", of_strata, before[:-1])) / pairs) if pairs else None


def scores_and_truths(scores: ArrayLike, labels: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Both as columns of one length.

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
        raise ValueError("A score is NaN, which has no rank.")
    return column, truth


def values_and_truths(values: ArrayLike, labels: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """As `scores_and_truths`, NaN standing for a value that is not known.

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
    """How often each row counts; once where nothing is said.

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
