"""Data sets from populations whose mean is known: rows in clusters of 1 to 8, a part of the spread theirs."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Table = NDArray[np.float64]

MAX_CLUSTER = 8
SHARED = 0.3
"""The part of the variance that rows of a cluster share: the intraclass correlation."""


def codes(clusters: int) -> NDArray[np.int64]:
    """The cluster of each row, shape (8·clusters,)."""
    return np.repeat(np.arange(clusters), MAX_CLUSTER)


def present_rows(generator: np.random.Generator, clusters: int, sets: int) -> NDArray[np.bool_]:
    """Which of the 8 rows each cluster has, from 1 to 8 of them, in each data set."""
    sizes = generator.integers(1, MAX_CLUSTER + 1, size=(clusters, 1, sets))
    return (np.arange(MAX_CLUSTER)[None, :, None] < sizes).reshape(clusters * MAX_CLUSTER, sets)


def noise(generator: np.random.Generator, kind: str, clusters: int, sets: int) -> Table:
    """Values of mean 0 and variance 1: ``normal``, or ``skewed`` (sums of gamma variables of skewness 1)."""

    def drawn(rows: int) -> Table:
        shape = (clusters, rows, sets)
        return generator.normal(size=shape) if kind == "normal" else (generator.gamma(4, size=shape) - 4) / 2

    values = np.sqrt(SHARED) * drawn(1) + np.sqrt(1 - SHARED) * drawn(MAX_CLUSTER)
    return values.reshape(clusters * MAX_CLUSTER, sets)


def yes_or_no(latent: Table, share: float) -> Table:
    """0 or 1, so that the share is the true mean."""
    return (latent < NormalDist().inv_cdf(share)).astype(np.float64)


def pairs(generator: np.random.Generator, kind: str, clusters: int, sets: int) -> tuple[Table, Table, float]:
    """Pairs as columns, NaN where there is none, and the true difference; ``0.7 0.8`` are two shares."""
    there = present_rows(generator, clusters, sets)
    first, other = (noise(generator, "normal", clusters, sets) for _ in range(2))
    if kind in {"normal", "skewed"}:
        second, truth = first + 0.5 + noise(generator, kind, clusters, sets), 0.5
    else:
        before, after = map(float, kind.split())
        second = yes_or_no(np.sqrt(0.5) * (first + other), after)
        first, truth = yes_or_no(first, before), after - before
    return np.where(there, first, np.nan), np.where(there, second, np.nan), truth
