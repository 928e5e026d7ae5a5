"""Test whether two samples come from the same distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sgi.stats.conformal import one_row_per_cluster
from sgi.stats.intervals import MIN_CLUSTERS

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

_TIE = 1e-12
_MAX_ROWS = 1000
UNLIKELY = 0.01
"""Share of random samples that `compare_labelled` calls different."""


@dataclass(frozen=True)
class TwoSamples:
    """Greatest distance between two distribution functions, in [0, 1], and the p-value of equality."""

    distance: float
    p: float


def compare_samples(first: ArrayLike, second: ArrayLike, *, draws: int = 999, seed: int = 0) -> TwoSamples:
    r"""Compute the two-sample Kolmogorov–Smirnov test, with a permutation p-value.

    .. math:: D = \max_x |F_1(x) - F_2(x)|, \quad p = \frac{1 + \#\{D^* \ge D\}}{1 + B}

    The permutation distribution is exact for tied values, so −∞ can stand for "no value". Values in a sample
    must be independent: pass one row per question. The arguments have the shapes (n,) and (m,), without NaN.

    Source: Smirnov (1948), Ann. Math. Stat. 19; Phipson and Smyth (2010) (p of random permutations).

    >>> compare_samples([1, 2, 3, 4], [1, 2, 3, 4]).distance, compare_samples([1, 2], [3, 4]).distance
    (0.0, 1.0)
    """
    one, other = (np.asarray(values, dtype=np.float64) for values in (first, second))
    pooled = np.concatenate([one, other])
    if not len(one) or not len(other) or np.isnan(pooled).any():
        raise ValueError("Both samples need values, and none may be NaN.")
    order = np.argsort(pooled, kind="stable")
    ordered = pooled[order]
    last = np.append(ordered[1:] != ordered[:-1], [True])  # the last row of each group of ties
    shares = np.where(order < len(one), 1 / len(one), -1 / len(other))
    distance = _distance(shares, last)
    rng = np.random.default_rng(seed)
    as_far = sum(_distance(rng.permutation(shares), last) >= distance - _TIE for _ in range(draws))
    return TwoSamples(distance, (1 + as_far) / (1 + draws))


def compare_labelled(values: ArrayLike, labelled: ArrayLike, clusters: ArrayLike) -> TwoSamples | None:
    """Compare the labelled rows with the other rows, one row of each cluster on either side.

    A random sample of rows differs with p ≤ `UNLIKELY` in 1 % of cases. Equal means are not enough: labels of
    the rows in the middle of a range have the mean of all rows. None with fewer than five clusters on a side.

    >>> values = np.arange(200.0)
    >>> middle, first = np.abs(values - 99.5) < 30, values < 3
    >>> compare_labelled(values, middle, values).p, compare_labelled(values, first, values)
    (0.001, None)
    """
    column, known, codes = np.asarray(values), np.asarray(labelled, dtype=np.bool_), np.asarray(clusters)
    samples = []
    for side in (np.flatnonzero(known), np.flatnonzero(~known)):
        rows = side[one_row_per_cluster(codes[side])]
        if len(rows) < MIN_CLUSTERS:
            return None
        if len(rows) > _MAX_ROWS:
            rows = np.random.default_rng(0).choice(rows, _MAX_ROWS, replace=False)
        samples.append(column[rows])
    return compare_samples(*samples)


def _distance(shares: Floats, last: NDArray[np.bool_]) -> float:
    return float(np.abs(np.cumsum(shares)[last]).max())
