"""Resampling of clusters: bootstrap, jackknife groups, and permutations of labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray


def bootstrap_values(
    statistic: Callable[[NDArray[np.float64]], float | None],
    codes: NDArray[np.int64],
    draws: int,
    seed: int,
) -> NDArray[np.float64]:
    """Compute a statistic over bootstrap resamples of clusters, shape (draws,); NaN if undefined.

    ``statistic`` is a function of the row weights, shape (n,), and returns None if undefined. ``codes`` are
    the cluster indices from 0. The same clusters and seed give the same resamples.

    Source: Efron (1979), Ann. Stat. 7.
    """
    generator = np.random.default_rng(seed)
    count = int(codes.max()) + 1
    values = np.full(draws, np.nan)
    for draw in range(draws):
        sample = generator.integers(0, count, size=count)
        times = np.bincount(sample, minlength=count).astype(np.float64)
        value = statistic(times[codes])
        if value is not None:
            values[draw] = value
    return values


def has_spread(values: NDArray[np.float64]) -> bool:
    """Return whether the values other than NaN differ."""
    known = values[~np.isnan(values)]
    return len(known) > 0 and bool(np.any(known != known[0]))


def jackknife_groups(codes: NDArray[np.int64], most: int, seed: int) -> NDArray[np.int64]:
    """Return the jackknife group of each row: its cluster, or one of ``most`` random groups of clusters."""
    count = int(codes.max()) + 1
    return codes if count <= most else np.random.default_rng(seed).permutation(count)[codes] % most


def shuffled_labels(
    truth: NDArray[np.bool_], codes: NDArray[np.int64], draws: int, seed: int
) -> Iterator[NDArray[np.bool_]]:
    """Yield random permutations of labels: between clusters of equal size, and within each cluster.

    >>> pairs = shuffled_labels(np.array([True, True, False, False]), np.array([0, 0, 1, 1]), 50, seed=0)
    >>> sorted({tuple(labels.tolist()) for labels in pairs})
    [(False, False, True, True), (True, True, False, False)]
    """
    generator = np.random.default_rng(seed)
    sizes = np.bincount(codes)
    by_size = np.lexsort((codes, sizes[codes]))
    rank = np.empty(len(sizes))
    for _ in range(draws):
        rank[np.lexsort((generator.random(len(sizes)), sizes))] = np.arange(len(sizes))
        shuffled = np.empty_like(truth)
        shuffled[by_size] = truth[np.argsort(rank[codes] + generator.random(len(codes)), kind="stable")]
        yield shuffled


def rarer_class_clusters(codes: NDArray[np.int64], truth: NDArray[np.bool_]) -> int:
    """Return the number of clusters that contain the rarer class."""
    return min(len(np.unique(codes[truth])), len(np.unique(codes[~truth])))
