"""Paired comparison of two systems: differences with intervals, tests and detectable differences."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sgi.stats.intervals import (
    MIN_CLUSTERS,
    Interval,
    NoInterval,
    ValueRange,
    check_level,
    cluster_codes,
    effective_clusters,
    interval_or_none,
    p_of_value,
    ratio_of,
    ratio_slope,
)
from sgi.stats.means import (
    MIN_DIFFERENT_CLUSTERS,
    SKEW_CORRECTED,
    clustered_intervals,
    clusters_that_differ,
    row_weights,
)
from sgi.stats.permutation_tests import binomial_tail
from sgi.stats.sample_size import detectable_difference

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

_MIN_CHI_SQUARED_PAIRS = 25
_MIN_LEVEL = 1e-9


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
        p: two-sided p-value of no difference, below 0.05 exactly if the 95 % interval excludes 0; None
            without interval, but 1 if all differences are 0, and 0 if each side has only one value.
        smallest: minimum detectable difference at 80 % power with Holm's correction; see
            `detectable_difference`. None for other methods than ``skew-corrected t``, or if it is wider than
            the metric's scale.
        method: method of the interval.
        no_interval: why there is no interval; empty if there is one.
        p_below: p-value of a difference of −margin or less; None without a margin or an interval.
        p_above: p-value of a difference of the margin or more.
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
    p_below: float | None = None
    p_above: float | None = None

    @property
    def no_smallest(self) -> str:
        """Why there is no minimum detectable difference; empty if there is one."""
        if self.smallest is not None:
            return ""
        if self.method == SKEW_CORRECTED:
            return "no difference on the metric's scale would be found in 80 % of cases with so few clusters"
        return self.no_interval or "too few clusters have another difference than the rest"


def paired_differences(
    first: ArrayLike,
    second: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    ranges: Sequence[float | None] | None = None,
    level: float = 0.95,
    margins: Sequence[float] | None = None,
) -> tuple[PairedDifference, ...]:
    r"""Return the differences between two systems, one per metric, with whole clusters as sampling units.

    With :math:`S_c` the sum of second − first over a cluster's pairs and n the number of pairs:

    * difference: :math:`\sum_c S_c / n`.
    * interval: that of `mean_interval`, of differences within [−R, R] with R the width of the metric's scale.
      ``equal differences``: at least 8 clusters with the same difference other than 0. If the end towards 0
      excludes 0 at twice the error, it is this end: for a given true mean, only one end can be wrong.
    * p: the least 1 − level at which the interval excludes 0 (`p_of_value`), also for skewed differences.
    * smallest: `detectable_difference` for the number of metrics with a p.
    * p_below, p_above: the least 1 − level at which the interval is above −margin, or below the margin. So
      p_below is below 0.05 exactly if the 95 % interval is above −margin: an error of 2.5 % at the margin.

    ``first`` and ``second`` have one column per metric, shape (n, m) or (n,). Pairs with NaN on either side
    are omitted. With ``weights`` (above 0, shape (n,)), S_c is the sum of weighted differences, n that of
    weights, and all means are weighted. ``ranges`` are the widths of the metrics' scales, shape (m,); None
    for an unbounded metric. ``margins`` are above 0, shape (m,).

    Source: Miller (2024), arXiv:2411.00640 (paired, clustered standard error and power); Schuirmann (1987),
    J. Pharmacokinet. Biopharm. 15 (two one-sided tests).

    >>> before, after = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0.3, 0.3, 0.5, 0.5, 0.7, 0.9]
    >>> (result,) = paired_differences(before, after, ranges=[1.0])
    >>> result.pairs, round(result.difference, 4), result.interval.low > 0, result.p < 0.05
    (6, 0.1833, True, True)
    """
    before, after = _columns(first), _columns(second)
    if before.shape != after.shape:
        raise ValueError(f"`first` and `second` need one shape, not {before.shape} and {after.shape}.")
    check_level(level)
    scales = [_scale(width) for width in ranges or (None,) * before.shape[1]]
    codes, _ = cluster_codes(clusters, len(before))
    present = ~(np.isnan(before) | np.isnan(after))
    mass = row_weights(weights, len(before))
    sums, sizes = _by_cluster(np.where(present, after - before, 0.0), present * mass[:, None], codes)
    result = []
    for column, rows in enumerate(present.T):
        margin = None if margins is None else margins[column]
        pairs, occupied = _Pairs(before[rows, column], after[rows, column], mass[rows]), sizes[:, column] > 0
        totals, counts = sums[occupied, column], sizes[occupied, column]
        effective = effective_clusters(counts) if (pairs.weights != 1).any() else None
        one = _difference(pairs, totals, counts, scales[column], level, margin, effective)
        result.append((one, totals, counts, effective))
    tests = sum(one.p is not None for one, *_ in result)
    return tuple(
        _with_smallest(one, scale, totals, counts, effective, tests)
        for (one, totals, counts, effective), scale in zip(result, scales, strict=True)
    )


def _with_smallest(
    one: PairedDifference,
    scale: ValueRange,
    sums: Floats,
    sizes: Floats,
    effective: float | None,
    tests: int,
) -> PairedDifference:
    if one.method != SKEW_CORRECTED:
        return one
    smallest = detectable_difference(sums, sizes, tests=tests, count=effective)
    return replace(one, smallest=None if smallest is None or smallest > scale.high else smallest)


def ratio_difference(result: PairedDifference) -> PairedDifference:
    """Convert a difference on the bounded scale to the unit of the ratio.

    Every number is multiplied by the slope between the two means. So the difference is that of the converted
    means, and the interval excludes 0 exactly if it did before.
    """
    if result.first is None or result.second is None:
        return result
    slope = ratio_slope(result.first, result.second)
    first, second = ratio_of(result.first), ratio_of(result.second)
    interval = result.interval
    if interval is not None:
        interval = replace(interval, low=slope * interval.low, high=slope * interval.high)
    smallest = None if result.smallest is None else slope * result.smallest
    return replace(
        result, first=first, second=second, difference=second - first, interval=interval, smallest=smallest
    )


def _scale(width: float | None) -> ValueRange:
    return ValueRange.of(None, None) if width is None else ValueRange.of(-width, width)


def _columns(values: ArrayLike) -> NDArray[np.float64]:
    table = np.asarray(values, dtype=np.float64)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or np.isinf(table).any():
        raise ValueError("Values must be finite, or NaN where missing, in one or more columns.")
    return table


class _Pairs(NamedTuple):
    """The values of each side and the weights of the pairs with both, shape (n,)."""

    before: Floats
    after: Floats
    weights: Floats


def _by_cluster(gaps: Floats, mass: Floats, codes: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return the weighted sum and the weight of the pairs in each non-empty cluster, two arrays (G, m).

    The weight ``mass`` of a pair without both values is 0.
    """
    rows = mass.any(axis=1)
    _, selected = np.unique(codes[rows], return_inverse=True)
    shape = (int(selected.max(initial=-1)) + 1, gaps.shape[1])
    sums, sizes = np.empty(shape), np.empty(shape)
    for column in range(shape[1]):
        of_pairs = mass[rows, column]
        sums[:, column] = np.bincount(selected, gaps[rows, column] * of_pairs, minlength=shape[0])
        sizes[:, column] = np.bincount(selected, of_pairs, minlength=shape[0])
    return sums, sizes


def _two_sided(z: float) -> float:
    """Return P(|Z| ≥ z) of a standard normal variable."""
    return math.erfc(z / math.sqrt(2))


def _difference(
    values: _Pairs,
    sums: Floats,
    sizes: Floats,
    scale: ValueRange,
    level: float,
    margin: float | None,
    effective: float | None,
) -> PairedDifference:
    """Return the means, interval and p, from the values of each side and the differences of each cluster.

    ``effective`` is the effective number of clusters of weighted pairs.
    """
    (before, after, mass), pairs = values, len(values.before)
    intervals, p = _intervals(after - before, sums, sizes, scale, effective), None
    if not isinstance(intervals, NoInterval):
        p = p_of_value(intervals, 0.0)
    if len(sums) >= MIN_CLUSTERS and not sums.any():
        p = 1.0
    elif isinstance(intervals, NoInterval) and _is_certain(before, after, len(sums)):
        intervals, p = NoInterval("each side has only one value, so the difference is certain"), 0.0
    interval = intervals if isinstance(intervals, NoInterval) else intervals(level)
    difference = float(sums.sum() / sizes.sum()) if pairs else 0.0
    sides = (None, None) if margin is None else _p_of_margins(intervals, difference, margin, certain=p == 0.0)
    return PairedDifference(
        pairs=pairs,
        clusters=len(sums),
        first=float(np.average(before, weights=mass)) if pairs else None,
        second=float(np.average(after, weights=mass)) if pairs else None,
        difference=difference if pairs else None,
        interval=interval_or_none(interval),
        p=p,
        smallest=None,
        method=interval.method if isinstance(interval, Interval) else "",
        no_interval=interval.reason if isinstance(interval, NoInterval) else "",
        p_below=sides[0],
        p_above=sides[1],
    )


def _p_of_margins(
    intervals: Callable[[float], Interval] | NoInterval, difference: float, margin: float, *, certain: bool
) -> tuple[float | None, float | None]:
    """Return the p of −margin and of the margin; 1 for an end that the difference does not reach."""

    def p_of(end: float, *, inside: bool) -> float | None:
        if isinstance(intervals, NoInterval):
            return (0.0 if inside else 1.0) if certain else None
        return p_of_value(intervals, end) if inside else 1.0

    return p_of(-margin, inside=difference > -margin), p_of(margin, inside=difference < margin)


def _is_certain(before: NDArray[np.float64], after: NDArray[np.float64], clusters: int) -> bool:
    # Equal differences of values that vary may be chance: differences of +1 or −1 with the same probability
    # are equal in all of 5 clusters in 6 % of cases.
    constant = clusters >= MIN_CLUSTERS and np.ptp(before) == 0 == np.ptp(after)
    return bool(constant and before[0] != after[0])


def _intervals(
    gaps: Floats, sums: Floats, sizes: Floats, scale: ValueRange, effective: float | None
) -> Callable[[float], Interval] | NoInterval:
    """Return the interval of the mean difference as a function of the level, or why there is none.

    ``effective`` is the effective number of clusters of weighted pairs.
    """
    made = clustered_intervals(sums, sizes, scale, effective, rows=gaps, what="difference")
    if not scale.contains(gaps) and len(sums) >= MIN_CLUSTERS:
        return NoInterval(f"a difference exceeds the width of the metric's scale, {scale.high:g}")
    count = len(sums) if effective is None else effective
    equal = count >= MIN_DIFFERENT_CLUSTERS and not clusters_that_differ(sums / sizes, scale)
    if isinstance(made, NoInterval) or not equal or not sums.any():
        return made
    return partial(_of_equal_differences, made)


def _of_equal_differences(intervals: Callable[[float], Interval], level: float) -> Interval:
    """Return the interval whose end towards 0 has the whole error if it then excludes 0."""
    interval = replace(intervals(level), method="equal differences")
    narrow = intervals(max(2 * level - 1, _MIN_LEVEL))
    if narrow.low > 0:
        return replace(interval, low=narrow.low)
    return replace(interval, high=narrow.high) if narrow.high < 0 else interval


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
        tail = binomial_tail(max(lost, gained), changed, 0.5)
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
    known = _sorted_p(p)
    adjusted: list[float | None] = [None] * len(p)
    least = 0.0
    for rank, (value, place) in enumerate(known):
        least = max(least, min(1.0, (len(known) - rank) * value))
        adjusted[place] = least
    return tuple(adjusted)


def benjamini_hochberg(p: Sequence[float | None]) -> tuple[float | None, ...]:
    """Correct p-values so that at most a share α of those below α is expected to be false.

    The k-th smallest of m values becomes the minimum over j ≥ k of (m / j)·p_(j). None stays None and is not
    counted. The proof needs independent tests, or tests that depend positively on each other.

    Source: Benjamini and Hochberg (1995), J. R. Stat. Soc. B 57.

    >>> benjamini_hochberg([0.01, None, 0.04, 0.03])
    (0.03, None, 0.04, 0.04)
    """
    known = _sorted_p(p)
    adjusted: list[float | None] = [None] * len(p)
    least = 1.0
    for rank, (value, place) in reversed([*enumerate(known, 1)]):
        least = min(least, len(known) / rank * value)
        adjusted[place] = least
    return tuple(adjusted)


def _sorted_p(p: Sequence[float | None]) -> list[tuple[float, int]]:
    """Return the p-values that are not None with their places, the smallest first."""
    known = [(value, place) for place, value in enumerate(p) if value is not None]
    if not all(0 <= value <= 1 for value, _ in known):
        raise ValueError("p-values must be in [0, 1].")
    return sorted(known)
