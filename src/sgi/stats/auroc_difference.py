"""The difference of the AUROCs of two scores over the same rows."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from sgi.stats.auroc_intervals import METHOD, Influence, too_few_groups, values_and_labels
from sgi.stats.intervals import Interval, NoInterval, check_level, cluster_codes, interval_or_none
from sgi.stats.ranking import auroc

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

# Weight of the prior correlation 0, in clusters.
_PRIOR_CLUSTERS = 1.0


@dataclass(frozen=True)
class AurocDifference:
    """Difference of two AUROCs, in [−1, 1], over the rows with both scores.

    Attributes:
        value: the difference, first minus second.
        interval: its confidence interval; None if there is none.
        rows: number of rows with both scores.
        no_interval: why there is no interval; empty if there is one.
    """

    value: float
    interval: Interval | None
    rows: int
    no_interval: str = ""


def auroc_difference(
    scores: ArrayLike,
    others: ArrayLike,
    labels: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    level: float = 0.95,
) -> AurocDifference | None:
    r"""Return the difference of the AUROCs of two scores, over the rows that have both.

    The interval combines the score intervals [l₁, u₁] and [l₂, u₂] of the two areas (see `auroc_interval`):

    .. math:: L = D - \sqrt{(A_1 - l_1)^2 + (u_2 - A_2)^2 - 2\rho (A_1 - l_1)(u_2 - A_2)}

    and, for the upper end U, the same with the other ends. ρ is the correlation of the two areas by their
    clustered DeLong covariance, times f/(f + 1), where f is the number of clusters that contribute to the
    variances. Two scores with a similar order of rows have a narrow interval around 0.

    Measured type I error: see ``docs/internals/results/ranking-intervals.md``.

    Rows without one of the scores (NaN) are omitted.

    Returns:
        The difference; None if a class is absent. There is no interval if the rarer class occurs in fewer
        than five clusters.

    Source: Zou and Donner (2008), Statistics in Medicine 27 (combining the ends); DeLong, DeLong and
    Clarke-Pearson (1988), Biometrics 44 (covariance); Obuchowski (1997), Biometrics 53 (clusters).

    >>> auroc_difference([4, 1, 3, 2], [1, 2, 4, 3], [1, 0, 1, 0]).value
    0.5
    """
    (column, truth), (other, _) = values_and_labels(scores, labels), values_and_labels(others, labels)
    check_level(level)
    codes, _ = cluster_codes(clusters, len(column))
    known = ~(np.isnan(column) | np.isnan(other))
    truth, codes = truth[known], codes[known]
    columns = column[known], other[known]
    areas = [area for values in columns if (area := auroc(values, truth)) is not None]
    if not areas:
        return None
    value = areas[0] - areas[1]
    reason = too_few_groups(codes, truth)
    if reason:
        return AurocDifference(value, None, len(truth), reason)
    one_stratum = np.zeros(len(truth), dtype=np.int64)
    first, second = (Influence.of(values, truth, codes, one_stratum) for values in columns)
    interval = _interval(first, second, level)
    reason = interval.reason if isinstance(interval, NoInterval) else ""
    return AurocDifference(value, interval_or_none(interval), len(truth), reason)


def _interval(first: Influence, second: Influence, level: float) -> Interval | NoInterval:
    one, other = first.interval(level), second.interval(level)
    if isinstance(one, NoInterval) or isinstance(other, NoInterval):
        return one if isinstance(one, NoInterval) else other
    correlation = _correlation(first, second)
    difference = first.area - second.area
    below, above = first.area - one.low, one.high - first.area
    other_below, other_above = second.area - other.low, other.high - second.area
    low = difference - _combine(below, other_above, correlation)
    high = difference + _combine(above, other_below, correlation)
    return Interval(max(low, -1.0), min(high, 1.0), level, METHOD)


def _combine(one: float, other: float, correlation: float) -> float:
    return sqrt(max(0.0, one**2 + other**2 - 2 * correlation * one * other))


def _correlation(first: Influence, second: Influence) -> float:
    """Return the correlation of the two areas; 0 if one of them has no estimated variance."""
    product = first.covariance(first) * second.covariance(second)
    if product <= 0:
        return 0.0
    count = min(first.effective_clusters(), second.effective_clusters())
    correlation = first.covariance(second) / sqrt(product)
    return min(max(correlation, -1.0), 1.0) * count / (count + _PRIOR_CLUSTERS)
