"""Data sets from populations with known means: clusters of 1 to 8 rows that share a part of the variance."""

from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.float64]


MAX_CLUSTER = 8
SHARED = 0.3
"""The part of the variance that rows of a cluster share: the intraclass correlation."""


def codes(clusters: int) -> NDArray[np.int64]:
    """The cluster of each row, shape (8·clusters,)."""
    return np.repeat(np.arange(clusters), MAX_CLUSTER)


def present_rows(generator: np.random.Generator, clusters: int, sets: int) -> NDArray[np.bool_]:
    """Which of 8 rows exist in each cluster of each data set (at least one), shape (8·clusters, sets)."""
    sizes = generator.integers(1, MAX_CLUSTER + 1, size=(clusters, 1, sets))
    return (np.arange(MAX_CLUSTER)[None, :, None] < sizes).reshape(clusters * MAX_CLUSTER, sets)


def noise(generator: np.random.Generator, kind: str, clusters: int, sets: int) -> Table:
    """Values of mean 0 and variance 1: ``normal``, or ``skewed`` (sums of gamma variables of skewness 1)."""

    def draw(rows: int) -> Table:
        shape = (clusters, rows, sets)
        return generator.normal(size=shape) if kind == "normal" else (generator.gamma(4, size=shape) - 4) / 2

    values = np.sqrt(SHARED) * draw(1) + np.sqrt(1 - SHARED) * draw(MAX_CLUSTER)
    return values.reshape(clusters * MAX_CLUSTER, sets)


def yes_or_no(latent: Table, share: float) -> Table:
    """Values of 0 or 1 with the true mean ``share``."""
    return (latent < NormalDist().inv_cdf(share)).astype(np.float64)


def pairs(generator: np.random.Generator, kind: str, clusters: int, sets: int) -> tuple[Table, Table, float]:
    """Two columns, NaN where a row does not exist, and the true difference; kind ``0.7 0.8``: two shares."""
    present = present_rows(generator, clusters, sets)
    first, other = (noise(generator, "normal", clusters, sets) for _ in range(2))
    if kind in {"normal", "skewed"}:
        second, truth = first + 0.5 + noise(generator, kind, clusters, sets), 0.5
    else:
        before, after = map(float, kind.split())
        second = yes_or_no(np.sqrt(0.5) * (first + other), after)
        first, truth = yes_or_no(first, before), after - before
    return np.where(present, first, np.nan), np.where(present, second, np.nan), truth
