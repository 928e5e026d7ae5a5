"""Two systems on the same questions: differences with intervals, tests, and what could have been seen."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sgi.stats.intervals import (
    FEWEST_CLUSTERS,
    Interval,
    NoInterval,
    Scale,
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

# Above this many clusters draws take long, and would give the normal distribution to all digits that count.
_MOST_DRAWN = 100_000
_BLOCK = 2**19
# Sums of the same numbers in another order differ by rounding; such a sum is a tie. Relative to Σ|S_c|.
_TIE = 1e-11
_FEWEST_DISCORDANT = 25


@dataclass(frozen=True)
class PairedDifference:
    """What one metric says of two systems over the same rows.

    Attributes:
        pairs: rows with a value on both sides.
        clusters: how many clusters they come from.
        first: mean of the first side over the pairs; None if there are none.
        second: mean of the second side over the pairs; None if there are none.
        difference: mean of second − first; None if there are no pairs.
        interval: of the difference; None where no interval covers it.
        p: of a two-sided test that there is no difference; None from fewer than five clusters.
        smallest: the least true difference that would be found in four of five such comparisons, with Holm's
            correction for all metrics compared; None where the clusters are too few for it, and where all
            differences are equal, so that their spread is not known (see `detectable_difference`).
        method: how interval and p were made.
        no_interval: why there is no interval; empty where there is one.
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
    r"""The differences of two systems, metric by metric, whole clusters being what was sampled.

    With :math:`S_c` the sum of second − first over a cluster's pairs and n the number of pairs:

    * difference: :math:`\sum_c S_c / n`.
    * interval: that of `mean_interval`, of differences within [−R, R] where the metric's scale has the
      width R. If few or no pairs changed it reaches as far as changes that were not seen may move the mean.
    * p: signs of whole clusters flipped at random (``sign-flip``),
      :math:`p = (1 + \#\{|T^*| \ge |T|\}) / (1 + B)` with :math:`T = \sum_c S_c`; ties count. Above
      100,000 clusters the normal distribution takes the place of draws (``normal``). All columns share the
      draws.
    * smallest: `detectable_difference` for as many metrics as have a p.

    The sign-flip test assumes that under the null hypothesis the differences of clusters are independent and
    symmetric about 0. They are if the two systems are exchangeable: if swapping their answers to a question
    changes nothing about the distribution. Skewed differences whose mean is 0 violate it; the interval does
    not need it.

    Args:
        first: one column a metric, NaN where there is no value, shape (n, m) or (n,).
        second: the same rows and metrics of the other system.
        clusters: what belongs together (say, the same question), shape (n,); None if nothing does.
        ranges: the width of each metric's scale, shape (m,), None where it has no two ends; None if no metric
            has them.
        level: of the intervals, in (0, 1).
        draws: sign flips, B.
        seed: equal input gives equal bits.

    Returns:
        One for each column. A pair with NaN on either side is not there for that column.

    Raises:
        ValueError: shapes differ, a value is infinite, or ranges, level or draws make no sense.

    Source: Miller (2024), arXiv:2411.00640 (paired, clustered standard error and power); Phipson and Smyth
    (2010), Stat. Appl. Genet. Mol. Biol. 9 (p of random permutations).

    >>> before, after = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0.3, 0.3, 0.5, 0.5, 0.7, 0.9]
    >>> (found,) = paired_differences(before, after, ranges=[1.0])
    >>> found.pairs, round(found.difference, 4), found.interval.low > 0
    (6, 0.1833, True)
    """
    before, after = _columns(first), _columns(second)
    if before.shape != after.shape:
        raise ValueError(f"Pairs of shape {before.shape} and {after.shape} do not pair.")
    check_draws(level, draws)
    scales = [_scale(width) for width in ranges or (None,) * before.shape[1]]
    codes, _ = cluster_codes(clusters, len(before))
    there = ~(np.isnan(before) | np.isnan(after))
    sums, sizes = _by_cluster(np.where(there, after - before, 0.0), there, codes)
    drawn = FEWEST_CLUSTERS <= len(sums) <= _MOST_DRAWN
    p = _sign_flips(sums, draws, seed) if drawn else _normal_p(sums)
    tests = int(((sizes > 0).sum(axis=0) >= FEWEST_CLUSTERS).sum())
    test = _Test("sign-flip" if drawn else "normal", tests, draws if drawn else None, level)
    return tuple(
        _difference(
            _Column(before[rows, i], after[rows, i], sums[:, i], sizes[:, i], scales[i], float(p[i])), test
        )
        for i, rows in enumerate(there.T)
    )


@dataclass(frozen=True, eq=False)
class _Column:
    """The pairs of one metric, and the sum and number of differences in each cluster."""

    before: NDArray[np.float64]
    after: NDArray[np.float64]
    sums: NDArray[np.float64]
    sizes: NDArray[np.int64]
    scale: Scale
    p: float


@dataclass(frozen=True)
class _Test:
    """The test of all metrics.

    Attributes:
        name: ``sign-flip`` or ``normal``.
        metrics: how many metrics have a p.
        draws: random signs; None where there are none.
        level: of the intervals.
    """

    name: str
    metrics: int
    draws: int | None
    level: float


def _scale(width: float | None) -> Scale:
    """Where differences of a metric can lie, whose scale is so wide."""
    return Scale.of(None, None) if width is None else Scale.of(-width, width)


def _columns(values: ArrayLike) -> NDArray[np.float64]:
    table = np.asarray(values, dtype=np.float64)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or np.isinf(table).any():  # noqa: PLR2004 - rows and columns
        raise ValueError("Pairs are made of columns of finite values, NaN where there is none.")
    return table


def _by_cluster(
    gaps: NDArray[np.float64], there: NDArray[np.bool_], codes: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Sum and number of the pairs in each cluster that has any, two arrays of shape (G, m)."""
    rows = there.any(axis=1)
    _, kept = np.unique(codes[rows], return_inverse=True)
    shape = (int(kept.max(initial=-1)) + 1, gaps.shape[1])
    sums, sizes = np.empty(shape), np.empty(shape, dtype=np.int64)
    for column in range(shape[1]):
        sums[:, column] = np.bincount(kept, weights=gaps[rows, column], minlength=shape[0])
        sizes[:, column] = np.bincount(kept, weights=there[rows, column], minlength=shape[0])
    return sums, sizes


def _sign_flips(sums: NDArray[np.float64], draws: int, seed: int) -> NDArray[np.float64]:
    """How often, in each column, sums of clusters with random signs lie as far from 0 as the sum itself."""
    count = len(sums)
    generator = np.random.default_rng(seed)
    total = sums.sum(axis=0)
    reached = np.abs(total) - _TIE * np.abs(sums).sum(axis=0)
    step = max(1, _BLOCK // count)
    further = np.zeros(sums.shape[1], dtype=np.int64)
    for start in range(0, draws, step):
        rows = min(step, draws - start)
        random = generator.integers(0, 256, size=(rows, -(-count // 8)), dtype=np.uint8)
        kept = np.unpackbits(random, axis=1, count=count).astype(np.float64)
        further += (np.abs(2 * _products(kept, sums) - total) >= reached).sum(axis=0)
    return (1 + further) / (1 + draws)


def _products(weights: NDArray[np.float64], columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """The matrix product, column by column: no bit of one column depends on the others or on threads."""
    made = np.empty((len(weights), columns.shape[1]))
    for place, column in enumerate(np.ascontiguousarray(columns.T)):
        np.einsum("ij,j->i", weights, column, out=made[:, place])
    return made


def _normal_p(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """What `_sign_flips` tends to: under random signs the sum has the variance Σ S_c²."""
    total, error = np.abs(sums.sum(axis=0)), np.sqrt(np.square(sums).sum(axis=0))
    return np.array([_two_sided(t / e) if e > 0 else 1.0 for t, e in zip(total, error, strict=True)])


def _two_sided(z: float) -> float:
    """The chance that a standard normal variable lies at least this far from 0."""
    return math.erfc(z / math.sqrt(2))


def _difference(column: _Column, test: _Test) -> PairedDifference:
    pairs = len(column.before)
    held = column.sizes > 0
    sums, sizes = column.sums[held], column.sizes[held]
    made = PairedDifference(
        pairs=pairs,
        clusters=len(sums),
        first=float(column.before.mean()) if pairs else None,
        second=float(column.after.mean()) if pairs else None,
        difference=float(sums.sum()) / pairs if pairs else None,
        interval=None,
        p=None,
        smallest=None,
        method="",
    )
    if made.difference is None or made.clusters < FEWEST_CLUSTERS:
        return replace(made, no_interval=too_few_clusters(made.clusters).reason)
    if column.scale.holds(column.after - column.before):
        found = clustered_interval(sums, sizes.astype(np.float64), column.scale, test.level)
    else:
        width = column.scale.high
        found = NoInterval(f"a difference exceeds the width of the metric's scale, {width:g}")
    return replace(
        made,
        interval=interval_or_none(found),
        no_interval=found.reason if isinstance(found, NoInterval) else "",
        p=column.p,
        smallest=detectable_difference(sums, sizes, tests=test.metrics, draws=test.draws),
        method=f"{found.method}, {test.name}" if isinstance(found, Interval) else test.name,
    )


@dataclass(frozen=True)
class McNemar:
    """A test of two yes/no columns.

    Attributes:
        lost: pairs that were 1 and became 0.
        gained: pairs that were 0 and became 1.
        p: of a two-sided test that both are equally likely.
        method: ``exact binomial`` or ``chi-squared``.
    """

    lost: int
    gained: int
    p: float
    method: str


def mcnemar(first: ArrayLike, second: ArrayLike) -> McNemar:
    """McNemar's test of two columns of 0 and 1 over the same rows.

    It tests whether a pair is as likely to go from 1 to 0 as from 0 to 1. If so, each of the b + c pairs that
    changed, b from 1 to 0, did so with probability ½. Under 25 of them p = min(1, 2·P(X ≤ min(b, c))), X
    binomial(b + c, ½); else χ² = (b − c)²/(b + c) with one degree of freedom. If none changed p is 1.

    It assumes that pairs are independent of one another and that, under the null hypothesis, the two answers
    of a pair are exchangeable: their difference is symmetric about 0. Rows that share a question are not
    independent, and p then comes out too small: use `paired_differences`, which flips the signs of whole
    questions and makes the same assumption of symmetry about them.

    Args:
        first: 0 or 1, shape (n,).
        second: 0 or 1, shape (n,).

    Raises:
        ValueError: lengths differ, or a value is neither 0 nor 1.

    Source: McNemar (1947), Psychometrika 12.

    >>> found = mcnemar([1, 1, 1, 1, 0, 0], [1, 0, 0, 0, 0, 1])
    >>> found.lost, found.gained, found.p, found.method
    (3, 1, 0.625, 'exact binomial')
    """
    before, after = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if before.ndim != 1 or before.shape != after.shape or not np.isin([before, after], (0, 1)).all():
        raise ValueError("McNemar's test takes two columns of 0 and 1 of one length.")
    lost, gained = int((before > after).sum()), int((after > before).sum())
    changed = lost + gained
    if changed < _FEWEST_DISCORDANT:
        tail = sum(math.comb(changed, k) for k in range(min(lost, gained) + 1)) / 2**changed
        return McNemar(lost, gained, min(1.0, 2 * tail), "exact binomial")
    return McNemar(lost, gained, _two_sided(abs(lost - gained) / math.sqrt(changed)), "chi-squared")


def holm(p: Sequence[float | None]) -> tuple[float | None, ...]:
    """Holm's step-down correction of several tests, so that the chance of any false discovery stays as one's.

    The k-th smallest of m becomes max over j ≤ k of min(1, (m − j + 1)·p_(j)). A test that has no p keeps
    none, and doesn't count.

    Args:
        p: in [0, 1], or None.

    Returns:
        Adjusted p, in the order given.

    Raises:
        ValueError: a p lies outside [0, 1].

    Source: Holm (1979), Scand. J. Stat. 6.

    >>> holm([0.01, None, 0.04, 0.03])
    (0.03, None, 0.06, 0.06)
    """
    known = [(value, place) for place, value in enumerate(p) if value is not None]
    if not all(0 <= value <= 1 for value, _ in known):
        raise ValueError("A p lies in [0, 1].")
    adjusted: list[float | None] = [None] * len(p)
    least = 0.0
    for rank, (value, place) in enumerate(sorted(known)):
        least = max(least, min(1.0, (len(known) - rank) * value))
        adjusted[place] = least
    return tuple(adjusted)
