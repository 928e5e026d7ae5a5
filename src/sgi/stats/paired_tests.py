"""Paired comparison of two systems: differences with intervals, tests and detectable differences."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sgi.stats.intervals import (
    MIN_CLUSTERS,
    Interval,
    NoInterval,
    ValueRange,
    check_draws,
    cluster_codes,
    interval_or_none,
    too_few_clusters,
)
from sgi.stats.means import clustered_interval
from sgi.stats.sample_size import detectable_difference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

# Above this many clusters, the normal approximation replaces slow random sign flips.
_MAX_SIGN_FLIP_CLUSTERS = 100_000
_BLOCK = 2**19
# Rounding tolerance for ties between sums, relative to Σ|S_c|.
_TIE = 1e-11
_MIN_CHI_SQUARED_PAIRS = 25


@dataclass(frozen=True)
class PairedDifference:
    """Difference of one metric between two systems on the same rows.

    Attributes:
        pairs: number of rows with a value on both sides.
        clusters: number of clusters of these rows.
        first: mean of the first side over the pairs; None without pairs.
        second: mean of the second side over the pairs; None without pairs.
        difference: mean of second − first; None without pairs.
        interval: confidence interval of the difference; None if it cannot be computed.
        p: two-sided p-value of no difference; None with fewer than five clusters.
        smallest: minimum detectable difference at 80 % power with Holm's correction; see
            `detectable_difference`.
        method: methods of interval and p.
        no_interval: why there is no interval; empty if there is one.
    """

    pairs: int
    clusters: int
    first: float | None
    second: float | None
    difference: float | None
    interval: Interval | None
    p: float | None
    smallest: float | None
    method: str
    no_interval: str = ""


def paired_differences(
    first: ArrayLike,
    second: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    ranges: Sequence[float | None] | None = None,
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> tuple[PairedDifference, ...]:
    r"""Return the differences between two systems, one per metric, with whole clusters as sampling units.

    With :math:`S_c` the sum of second − first over a cluster's pairs and n the number of pairs:

    * difference: :math:`\sum_c S_c / n`.
    * interval: that of `mean_interval`, of differences within [−R, R] where the metric's scale has the
      width R.
    * p: random sign flips of whole clusters (``sign-flip``),
      :math:`p = (1 + \#\{|T^*| \ge |T|\}) / (1 + B)` with :math:`T = \sum_c S_c`; ties count. Above
      100,000 clusters the normal approximation is used (``normal``). All columns share the B = ``draws``
      sign flips.
    * smallest: `detectable_difference` for the number of metrics with a p.

    The sign-flip test assumes that under the null hypothesis cluster differences are independent and
    symmetric about 0, as for exchangeable systems. The interval does not need symmetry.

    ``first`` and ``second`` have one column per metric, shape (n, m) or (n,). Pairs with NaN on either side
    are omitted. ``ranges`` are the widths of the metrics' scales, shape (m,); None for an unbounded metric.

    Source: Miller (2024), arXiv:2411.00640 (paired, clustered standard error and power); Phipson and Smyth
    (2010), Stat. Appl. Genet. Mol. Biol. 9 (p of random permutations).

    >>> before, after = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0.3, 0.3, 0.5, 0.5, 0.7, 0.9]
    >>> (result,) = paired_differences(before, after, ranges=[1.0])
    >>> result.pairs, round(result.difference, 4), result.interval.low > 0
    (6, 0.1833, True)
    """
    before, after = _columns(first), _columns(second)
    if before.shape != after.shape:
        raise ValueError(f"`first` and `second` need one shape, not {before.shape} and {after.shape}.")
    check_draws(level, draws)
    scales = [_scale(width) for width in ranges or (None,) * before.shape[1]]
    codes, _ = cluster_codes(clusters, len(before))
    present = ~(np.isnan(before) | np.isnan(after))
    sums, sizes = _by_cluster(np.where(present, after - before, 0.0), present, codes)
    flips = MIN_CLUSTERS <= len(sums) <= _MAX_SIGN_FLIP_CLUSTERS
    p = _sign_flips(sums, draws, seed) if flips else _normal_p(sums)
    test = "sign-flip" if flips else "normal"
    metrics = int(((sizes > 0).sum(axis=0) >= MIN_CLUSTERS).sum())
    result = []
    for column, rows in enumerate(present.T):
        pairs, occupied = (before[rows, column], after[rows, column]), sizes[:, column] > 0
        totals, counts = sums[occupied, column], sizes[occupied, column]
        result.append(_difference(pairs, totals, counts, scales[column], level))
        if len(totals) >= MIN_CLUSTERS:
            smallest = detectable_difference(totals, counts, tests=metrics, draws=draws if flips else None)
            method = f"{result[-1].method}, {test}" if result[-1].interval else test
            result[-1] = replace(result[-1], p=float(p[column]), smallest=smallest, method=method)
    return tuple(result)


def _scale(width: float | None) -> ValueRange:
    return ValueRange.of(None, None) if width is None else ValueRange.of(-width, width)


def _columns(values: ArrayLike) -> NDArray[np.float64]:
    table = np.asarray(values, dtype=np.float64)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or np.isinf(table).any():  # noqa: PLR2004 - rows and columns
        raise ValueError("Values must be finite, or NaN where missing, in one or more columns.")
    return table


def _by_cluster(
    gaps: NDArray[np.float64], present: NDArray[np.bool_], codes: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the sum and number of pairs in each non-empty cluster, two arrays of shape (G, m)."""
    rows = present.any(axis=1)
    _, selected = np.unique(codes[rows], return_inverse=True)
    shape = (int(selected.max(initial=-1)) + 1, gaps.shape[1])
    sums, sizes = np.empty(shape), np.empty(shape, dtype=np.int64)
    for column in range(shape[1]):
        sums[:, column] = np.bincount(selected, weights=gaps[rows, column], minlength=shape[0])
        sizes[:, column] = np.bincount(selected, weights=present[rows, column], minlength=shape[0])
    return sums, sizes


def _sign_flips(sums: NDArray[np.float64], draws: int, seed: int) -> NDArray[np.float64]:
    """Return the p-value of each column: share of sign flips with a sum as far from 0 as the observed one."""
    count = len(sums)
    generator = np.random.default_rng(seed)
    whole = _whole_numbers(sums)
    total = whole.sum(axis=0)
    reached = np.abs(total) - _TIE * np.abs(whole).sum(axis=0) - count
    step = max(1, _BLOCK // count)
    further = np.zeros(sums.shape[1], dtype=np.int64)
    for start in range(0, draws, step):
        rows = min(step, draws - start)
        random = generator.integers(0, 256, size=(rows, -(-count // 8)), dtype=np.uint8)
        for part in np.array_split(random, -(-rows * len(total) // _BLOCK) or 1):
            selected = np.unpackbits(part, axis=1, count=count).astype(np.float64)
            further += (np.abs(2 * (selected @ whole) - total) >= reached).sum(axis=0)
    return (1 + further) / (1 + draws)


def _whole_numbers(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale each column to whole numbers, as large as twice their sums of magnitudes can be exact.

    Sums of them are exact in any order, so that bits do not depend on other columns or threads. Rounding
    changes a sum by at most half the number of rows.
    """
    largest = np.abs(sums).max(axis=0)
    scale = np.where(largest > 0, largest, 1.0)
    bits = 51 - math.ceil(math.log2(len(sums) + 1))
    return np.asarray(np.rint(sums / scale * 2.0**bits), dtype=np.float64)


def _normal_p(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the normal approximation of `_sign_flips`: under random signs the sum has variance Σ S_c²."""
    total, error = np.abs(sums.sum(axis=0)), np.sqrt(np.square(sums).sum(axis=0))
    return np.array([_two_sided(t / e) if e > 0 else 1.0 for t, e in zip(total, error, strict=True)])


def _two_sided(z: float) -> float:
    """Return P(|Z| ≥ z) of a standard normal variable."""
    return math.erfc(z / math.sqrt(2))


def _difference(
    values: tuple[NDArray[np.float64], NDArray[np.float64]],
    sums: NDArray[np.float64],
    sizes: NDArray[np.int64],
    scale: ValueRange,
    level: float,
) -> PairedDifference:
    """Return the means and interval, from the values of each side and the differences of each cluster."""
    (before, after), pairs = values, len(values[0])
    if scale.contains(after - before):
        interval = clustered_interval(sums, sizes.astype(np.float64), scale, level)
    else:
        interval = NoInterval(f"a difference exceeds the width of the metric's scale, {scale.high:g}")
    if len(sums) < MIN_CLUSTERS:
        interval = too_few_clusters(len(sums))
    return PairedDifference(
        pairs=pairs,
        clusters=len(sums),
        first=float(before.mean()) if pairs else None,
        second=float(after.mean()) if pairs else None,
        difference=float(sums.sum()) / pairs if pairs else None,
        interval=interval_or_none(interval),
        p=None,
        smallest=None,
        method=interval.method if isinstance(interval, Interval) else "",
        no_interval=interval.reason if isinstance(interval, NoInterval) else "",
    )


@dataclass(frozen=True)
class McNemar:
    """Result of McNemar's test: pairs that changed from 1 to 0 (lost) and from 0 to 1 (gained).

    Attributes:
        lost: number of pairs that changed from 1 to 0.
        gained: number of pairs that changed from 0 to 1.
        p: the p-value, two-sided.
        method: ``exact binomial`` or ``chi-squared``.
    """

    lost: int
    gained: int
    p: float
    method: str


def mcnemar(first: ArrayLike, second: ArrayLike) -> McNemar:
    """Compute McNemar's test of two columns of 0 and 1 over the same rows.

    Of b + c changed pairs, b went from 1 to 0. With fewer than 25, p = min(1, 2·P(X ≤ min(b, c))) with X
    binomial(b + c, ½); otherwise χ² = (b − c)²/(b + c) with one degree of freedom. Without changes p is 1.

    The test assumes independent pairs. For rows that share a question p is too small: use
    `paired_differences`.

    Source: McNemar (1947), Psychometrika 12.

    >>> result = mcnemar([1, 1, 1, 1, 0, 0], [1, 0, 0, 0, 0, 1])
    >>> result.lost, result.gained, result.p, result.method
    (3, 1, 0.625, 'exact binomial')
    """
    before, after = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if before.ndim != 1 or before.shape != after.shape or not np.isin([before, after], (0, 1)).all():
        raise ValueError("McNemar's test needs two columns of 0 and 1 with the same length.")
    lost, gained = int((before > after).sum()), int((after > before).sum())
    changed = lost + gained
    if changed < _MIN_CHI_SQUARED_PAIRS:
        tail = sum(math.comb(changed, k) for k in range(min(lost, gained) + 1)) / 2**changed
        return McNemar(lost, gained, min(1.0, 2 * tail), "exact binomial")
    return McNemar(lost, gained, _two_sided(abs(lost - gained) / math.sqrt(changed)), "chi-squared")


def holm(p: Sequence[float | None]) -> tuple[float | None, ...]:
    """Correct p-values by Holm's step-down method, which controls the family-wise error rate.

    The k-th smallest of m values becomes the maximum over j ≤ k of min(1, (m − j + 1)·p_(j)). None stays
    None and is not counted.

    Source: Holm (1979), Scand. J. Stat. 6.

    >>> holm([0.01, None, 0.04, 0.03])
    (0.03, None, 0.06, 0.06)
    """
    known = [(value, place) for place, value in enumerate(p) if value is not None]
    if not all(0 <= value <= 1 for value, _ in known):
        raise ValueError("p-values must be in [0, 1].")
    adjusted: list[float | None] = [None] * len(p)
    least = 0.0
    for rank, (value, place) in enumerate(sorted(known)):
        least = max(least, min(1.0, (len(known) - rank) * value))
        adjusted[place] = least
    return tuple(adjusted)
