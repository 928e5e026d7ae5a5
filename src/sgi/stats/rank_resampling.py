"""Intervals of ranking statistics by resampling whole clusters: jackknife and bootstrap."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from sgi.stats.auroc_intervals import scores_and_labels
from sgi.stats.intervals import (
    MIN_CLUSTERS,
    Interval,
    bootstrap_values,
    check_draws,
    check_level,
    cluster_codes,
    effective_clusters,
    has_spread,
    jackknife_groups,
    percentile_interval,
    rarer_class_clusters,
    student_quantile,
)
from sgi.stats.ranking import average_precision

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

# More groups do not make the standard error more stable.
_MAX_JACKKNIFE_GROUPS = 1000

Statistic: TypeAlias = Callable[
    ["NDArray[np.float64]", "NDArray[np.bool_]", "NDArray[np.float64]"], "float | None"
]
"""Function of scores, labels and weights of the rows."""


def average_precision_interval(
    scores: ArrayLike,
    labels: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    level: float = 0.95,
    seed: int = 0,
) -> Interval | None:
    r"""Return a jackknife interval of average precision on the logit scale.

    .. math::
        \mathrm{logit}\,\mathrm{AP} ± t\,\frac{SE}{\mathrm{AP}(1 - \mathrm{AP})}, \qquad
        SE^2 = \frac{G - 1}{G} \sum_g (\mathrm{AP}_{(g)} - \overline{\mathrm{AP}})^2

    AP_(g) is average precision without cluster g; t has the effective number of clusters minus one degrees
    of freedom. More than 1,000 clusters are merged into 1,000 random groups.

    A bootstrap would be biased: a row that is sampled twice ties with itself. In simulations (20 to 400
    questions with two dependent answers, AUROC 0.5 to 0.96) the 95 % intervals cover 93 to 96 % where 30 or
    50 % of the rows are positive (98 % with 20 questions at AUROC 0.96), and 91 to 95 % where 10 % are.

    Returns:
        An interval within [0, 1]; None if the rarer class occurs in fewer than five clusters, or if
        leaving out a cluster never changes AP, as with a perfect ranking.

    Source: Tukey (1958), Ann. Math. Stat. 29; Boyd, Eng and Page (2013), ECML PKDD (logit of AP).

    >>> result = average_precision_interval([3, 1, 4, 1, 5, 9, 2, 6, 5, 3], [1, 0, 0, 0, 1, 1, 0, 1, 1, 0])
    >>> round(result.low, 2), round(result.high, 2)
    (0.36, 1.0)
    """
    column, truth = scores_and_labels(scores, labels)
    check_level(level)
    codes, count = cluster_codes(clusters, len(column))
    if rarer_class_clusters(codes, truth) < MIN_CLUSTERS:
        return None
    count, sizes = min(count, _MAX_JACKKNIFE_GROUPS), np.bincount(codes)
    order = np.argsort(column, kind="stable")  # once for all
    column, truth = column[order], truth[order]
    groups = jackknife_groups(codes, _MAX_JACKKNIFE_GROUPS, seed)[order]
    values = [average_precision(column, truth, groups != group) for group in range(count)]
    without = np.array(values, dtype=np.float64)  # None becomes NaN
    if np.isnan(without).any() or not has_spread(without):
        return None
    value = float(average_precision(column, truth) or np.nan)
    error = np.sqrt((count - 1) * np.var(without)) / (value * (1 - value))
    half, centre = student_quantile(level, effective_clusters(sizes) - 1) * error, np.log(value / (1 - value))
    low, high = (float((1 + np.tanh(end / 2)) / 2) for end in (centre - half, centre + half))
    return Interval(low, high, level, "jackknife")


def bootstrap_interval(
    statistic: Statistic,
    scores: ArrayLike,
    labels: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    level: float = 0.95,
    draws: int = 1000,
    seed: int = 0,
) -> Interval | None:
    """Return a percentile bootstrap interval of any statistic of scores and labels, over whole clusters.

    ``statistic`` is called with scores, labels and weights, **sorted by score**, such as
    ``lambda s, labels, weights: fpr_at_recall(s, labels, 0.95, weights)``. It returns None if a class has no
    weight; the method of the interval states how many such draws were omitted. AUROC and average precision
    have better intervals: `auroc_interval`, `average_precision_interval`.

    In simulations of binormal scores (AUROC 0.76 and 0.96, two answers per question that share half of their
    variance) the 95 % interval of the false positive rate at 95 % recall covers in 94 to 97 % of cases from
    50 positive rows on, and in 87 to 88 % with 20. With one positive row in ten it covers in 57 % with 10
    positive rows, 78 % with 20, 90 % with 40 and 94 % with 80. A logit scale does no better.

    Returns:
        None if the rarer class occurs in fewer than five clusters, or if all draws give the same value, as
        with a perfect ranking.

    Source: Efron (1979); Obuchowski (1997), Biometrics 53 (clusters).

    >>> scores, labels = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3], [1, 0, 0, 0, 1, 1, 0, 1, 1, 0]
    >>> bootstrap_interval(average_precision, scores, labels).method
    'bootstrap, 2 of 1000 draws had one class only'
    """
    column, truth = scores_and_labels(scores, labels)
    check_draws(level, draws)
    codes, _ = cluster_codes(clusters, len(column))
    if rarer_class_clusters(codes, truth) < MIN_CLUSTERS:
        return None
    order = np.argsort(column, kind="stable")  # once for all draws
    column, truth = column[order], truth[order]
    values = bootstrap_values(lambda weights: statistic(column, truth, weights), codes[order], draws, seed)
    if not has_spread(values):
        return None
    known = values[~np.isnan(values)]
    missing = draws - len(known)
    note = f", {missing} of {draws} draws had one class only" if missing else ""
    return percentile_interval(known, level, f"bootstrap{note}")
