"""Draws of whole clusters, and the interval of what a statistic gave in each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sgi.stats.intervals import Interval, percentiles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray


def drawn_values(
    statistic: Callable[[NDArray[np.float64]], float | None],
    codes: NDArray[np.int64],
    draws: int,
    seed: int,
) -> NDArray[np.float64]:
    """A statistic of draws of clusters with replacement, a draw being how often each cluster came.

    Args:
        statistic: of the rows' weights, shape (n,); None where it has no value.
        codes: the number of each row's cluster, counted from 0, shape (n,).
        draws: how many.
        seed: equal input gives equal bits, and statistics of the same clusters see the same draws.

    Returns:
        Shape (draws,), NaN where there is no value.

    >>> drawn_values(np.sum, np.array([0, 0, 1, 1]), 3, seed=0)
    array([4., 4., 4.])
    """
    generator = np.random.default_rng(seed)
    count = int(codes.max()) + 1
    values = np.full(draws, np.nan)
    for draw in range(draws):
        drawn = generator.integers(0, count, size=count)
        times = np.bincount(drawn, minlength=count).astype(np.float64)
        value = statistic(times[codes])
        if value is not None:
            values[draw] = value
    return values


def differ(values: NDArray[np.float64]) -> bool:
    """Whether the draws show any spread: two of them, at least, have different values.

    >>> differ(np.array([1.0, np.nan, 1.0])), differ(np.array([1.0, 0.5]))
    (False, True)
    """
    known = values[~np.isnan(values)]
    return len(known) > 0 and bool(np.any(known != known[0]))


def interval_of_draws(values: NDArray[np.float64], level: float, lack: str) -> Interval | None:
    """The percentiles of what the draws gave, and in the method how many gave nothing.

    Args:
        values: NaN where a draw gave nothing, shape (draws,).
        level: in (0, 1).
        lack: what such a draw had.

    Returns:
        None where no draw gave anything.

    >>> interval_of_draws(np.array([0.2, np.nan, 0.4]), 0.95, "one class only").method
    'bootstrap, 1 of 3 draws had one class only'
    """
    kept = values[~np.isnan(values)]
    if not len(kept):
        return None
    dropped = len(values) - len(kept)
    note = f", {dropped} of {len(values)} draws had {lack}" if dropped else ""
    return percentiles(kept, level, f"bootstrap{note}")


def shuffled_labels(
    truth: NDArray[np.bool_], codes: NDArray[np.int64], draws: int, seed: int
) -> Iterator[NDArray[np.bool_]]:
    """Labels as they could as well have come: each cluster's laid over another of its size, in any order.

    Args:
        truth: the labels, shape (n,).
        codes: the number of each row's cluster, counted from 0, shape (n,).
        draws: how many.
        seed: equal input gives equal bits.

    Yields:
        Shape (n,).

    >>> pairs = shuffled_labels(np.array([True, True, False, False]), np.array([0, 0, 1, 1]), 50, seed=0)
    >>> sorted({tuple(labels.tolist()) for labels in pairs})
    [(False, False, True, True), (True, True, False, False)]
    """
    generator = np.random.default_rng(seed)
    sizes = np.bincount(codes)
    laid = np.lexsort((codes, sizes[codes]))
    turn = np.empty(len(sizes))
    for _ in range(draws):
        turn[np.lexsort((generator.random(len(sizes)), sizes))] = np.arange(len(sizes))
        shuffled = np.empty_like(truth)
        shuffled[laid] = truth[np.argsort(turn[codes] + generator.random(len(codes)), kind="stable")]
        yield shuffled


def clusters_of_the_rarer(codes: NDArray[np.int64], truth: NDArray[np.bool_]) -> int:
    """In how many clusters the class stands that stands in fewer; below 2 it has no spread to be seen.

    >>> clusters_of_the_rarer(np.array([0, 0, 1, 2]), np.array([True, False, False, False]))
    1
    """
    return min(len(np.unique(codes[truth])), len(np.unique(codes[~truth])))
