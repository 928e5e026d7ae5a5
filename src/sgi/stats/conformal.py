"""Split conformal thresholds with a guaranteed false alarm rate, overall and by length stratum."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from sgi.stats.percentiles import log_choices, percentile

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

MIN_STRATUM_ROWS = 40
"""Minimum number of grounded rows per stratum."""

_BISECTIONS = 50

FLAGS_NOTHING = -math.inf
"""Threshold for too few rows: nothing is flagged."""


def conformal_threshold(grounded: ArrayLike, rate: float, *, confidence: float | None = None) -> float:
    r"""Return the threshold τ below which at most the share ``rate`` of grounded rows scores (is flagged).

    τ is the ⌊(n + 1)·rate⌋-th smallest of the n grounded scores, or −∞ if rate < 1/(n + 1). Scores
    equal to τ are not flagged, so ties can only lower the rate.

    The guarantee is marginal: it holds on average over calibration rows and a new row that is exchangeable
    with them (same kind of data, system and encoder). The share that one τ flags varies between calibrations.
    With a ``confidence`` c, the guarantee holds with this probability over the calibration rows: τ is then
    the k-th smallest score for the largest k with :math:`P(\text{Bin}(n, rate) \le k - 1) \le 1 - c`, or −∞
    below `rows_needed`.

    Rows of one question are dependent: pass one row per question (see `one_row_per_cluster`). The guarantee
    is then for one row a question. There is none for ungrounded rows or for subgroups.

    ``grounded`` are finite scores of grounded rows, higher = better, shape (n,); ``rate`` is in (0, 1),
    ``confidence`` in (0.5, 1).

    Source: Vovk, Gammerman and Shafer (2005); Lei et al. (2018), J. Am. Stat. Assoc. 113; Vovk (2012), ACML
    (confidence over calibrations); Wilks (1941), Ann. Math. Stat. 12 (tolerance limits).

    >>> conformal_threshold(range(1, 20), 0.05), conformal_threshold(range(1, 19), 0.05)
    (1.0, -inf)
    >>> [conformal_threshold(range(1, n), 0.05, confidence=0.95) for n in (59, 60, 201)]
    [-inf, 1.0, 5.0]
    """
    column = _scores(grounded)
    if confidence is not None:
        below = percentile(column, rate, level=2 * confidence - 1).low
        return FLAGS_NOTHING if below is None else float(below)
    place = math.floor((len(column) + 1) * _exact_rate(rate))
    return float(np.partition(column, place - 1)[place - 1]) if place else FLAGS_NOTHING


def rows_needed(rate: float, confidence: float | None = None) -> int:
    """Return the least number of grounded rows for a threshold that flags anything.

    It is 1/rate − 1, or with a confidence the least n with (1 − rate)^n ≤ 1 − confidence.

    >>> rows_needed(0.05), rows_needed(0.05, 0.95)
    (19, 59)
    """
    if confidence is None:
        return math.ceil(1 / _exact_rate(rate)) - 1
    return math.ceil(math.log1p(-confidence) / math.log1p(-rate))


def highest_share(count: int, n: int, tail: float) -> float:
    r"""Return the upper limit p of a share: :math:`P(\text{Bin}(n, p) \le \text{count}) = \text{tail}`.

    It is the upper end of the interval of Clopper and Pearson with 1 − ``tail`` on one side, and the
    1 − ``tail`` quantile of Beta(count + 1, n − count); 1 if count = n.

    Source: Clopper and Pearson (1934), Biometrika 26.

    >>> round(highest_share(0, 59, 0.05), 4), round(highest_share(3, 20, 0.025), 4)
    (0.0495, 0.3789)
    """
    if count >= n:
        return 1.0
    places = np.arange(count + 1)
    chosen = log_choices(n)[places]
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        share = (low + high) / 2
        chance = np.exp(chosen + places * math.log(share) + (n - places) * math.log1p(-share)).sum()
        low, high = (share, high) if chance > tail else (low, share)
    return high


def clearing_threshold(ungrounded: ArrayLike, rate: float) -> float:
    """Return the threshold such that at most the share ``rate`` of ungrounded rows scores above it.

    Rows above it are cleared (accepted as grounded). It is the ⌊(n + 1)·rate⌋-th greatest of the n ungrounded
    scores (one per question), or ∞ if rate < 1/(n + 1): the mirror image of `conformal_threshold`, with the
    same guarantee. A score equal to it is not cleared.

    Source: Angelopoulos et al. (2024), ICLR (conformal risk control, with a miss as the loss).

    >>> clearing_threshold(range(1, 20), 0.05), clearing_threshold(range(1, 19), 0.05)
    (19.0, inf)
    """
    return -conformal_threshold(-_scores(ungrounded), rate)


def one_row_per_cluster(clusters: ArrayLike, *, seed: int = 0) -> NDArray[np.int64]:
    """Sample one row of each cluster, independently of scores; returns row numbers, ascending.

    Conformal thresholds need exchangeable rows. Answers to one question are similar, so a threshold over all
    answers can flag far more than the given rate for new questions. One row per question is exchangeable.

    Source: Dunn, Wasserman and Ramdas (2023), J. Am. Stat. Assoc. 118 (subsampling one of each group).

    >>> one_row_per_cluster([7, 3, 5]).tolist(), len(one_row_per_cluster([7, 7, 7, 3]))
    ([0, 1, 2], 2)
    """
    column = np.asarray(clusters)
    order = np.random.default_rng(seed).permutation(len(column))
    _, first = np.unique(column[order], return_index=True)
    return np.sort(order[first])


@dataclass(frozen=True)
class LengthThresholds:
    """Threshold (−∞ flags nothing) and number of grounded calibration rows of each length stratum.

    ``edges`` between strata ascend; a length equal to an edge belongs to the upper stratum.
    """

    edges: tuple[float, ...]
    thresholds: tuple[float, ...]
    rows: tuple[int, ...]

    def of(self, lengths: ArrayLike, /) -> NDArray[np.float64]:
        """Return the threshold for each length."""
        return np.asarray(self.thresholds, dtype=np.float64)[stratum_of(lengths, self.edges)]


def length_thresholds(
    grounded: ArrayLike,
    lengths: ArrayLike,
    rate: float,
    *,
    bins: int = 4,
    min_rows: int = MIN_STRATUM_ROWS,
    confidence: float | None = None,
) -> LengthThresholds:
    """Return a conformal threshold per length stratum, so that the rate holds in each stratum (Mondrian).

    The edges are quantiles of the lengths. There are at most ``bins`` strata, each with at least ``min_rows``
    and `rows_needed` rows. Edges from the calibration rows change the guarantee by about 1/n. The other
    arguments are as for `conformal_threshold`; ``confidence`` holds for all strata together (Bonferroni).

    Source: Vovk (2012), ACML (Mondrian conformal predictors).

    >>> result = length_thresholds(range(100), range(100), 0.05, bins=2)
    >>> result.edges, result.thresholds, result.rows
    ((50.0,), (1.0, 51.0), (50, 50))
    """
    column, measured = _scores(grounded), np.asarray(lengths, dtype=np.float64)
    if measured.shape != column.shape or not np.isfinite(measured).all():
        raise ValueError("`lengths` must be finite, one per score.")
    if bins < 1:
        raise ValueError(f"`bins` must be at least 1, not {bins}.")

    def confidence_of(strata: int) -> float | None:
        return None if confidence is None else 1 - (1 - confidence) / strata

    edges: tuple[float, ...] = ()
    for count in range(bins, 1, -1):
        required = max(min_rows, rows_needed(rate, confidence_of(count)))
        if edges := _edges(measured, count, required):
            break
    strata = stratum_of(measured, edges)
    parts = [column[strata == stratum] for stratum in range(len(edges) + 1)]
    of_stratum = confidence_of(len(parts))
    thresholds = tuple(conformal_threshold(part, rate, confidence=of_stratum) for part in parts)
    return LengthThresholds(edges, thresholds, tuple(map(len, parts)))


def stratum_of(lengths: ArrayLike, edges: tuple[float, ...]) -> NDArray[np.int64]:
    """Return the stratum index of each length, from 0."""
    return np.searchsorted(np.asarray(edges, dtype=np.float64), lengths, side="right")


def _edges(lengths: NDArray[np.float64], count: int, min_rows: int) -> tuple[float, ...]:
    """Return the inner quantiles of this many strata; none if a stratum has too few rows."""
    if len(lengths) < count * min_rows:
        return ()
    shares = np.arange(1, count) / count
    result = np.unique(np.quantile(lengths, shares, method="higher"))
    edges = tuple(result[result > lengths.min()].tolist())
    enough = (
        bool(edges) and np.bincount(stratum_of(lengths, edges), minlength=len(edges) + 1).min() >= min_rows
    )
    return edges if enough else ()


def _scores(grounded: ArrayLike) -> NDArray[np.float64]:
    column = np.asarray(grounded, dtype=np.float64)
    if column.ndim != 1 or not np.isfinite(column).all():
        raise ValueError("A threshold needs finite scores of shape (n,).")
    return column


def _exact_rate(rate: float) -> Fraction:
    """Return the rate as an exact decimal: 29 % of 100 is 29, not 28.999…."""
    if not 0 < rate < 1:
        raise ValueError(f"`rate` must be in (0, 1), not {rate!r}.")
    return Fraction(repr(float(rate)))
