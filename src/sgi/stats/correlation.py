"""Pearson's and Spearman's correlation of two columns of ratings, with intervals over clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from sgi.stats.agreement import MAX_JACKKNIFE_GROUPS, Agreement, fisher_interval, with_interval
from sgi.stats.bootstrap import jackknife_groups
from sgi.stats.effects import pearson, spearman
from sgi.stats.intervals import (
    MIN_CLUSTERS,
    check_level,
    cluster_codes,
    effective_clusters,
    student_quantile,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_COEFFICIENTS = {"pearson": pearson, "spearman": spearman}


def correlation(
    first: ArrayLike,
    second: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    kind: Literal["pearson", "spearman"] = "pearson",
    level: float = 0.95,
    seed: int = 0,
) -> Agreement:
    r"""Return a correlation coefficient with a jackknife interval on Fisher's scale, over whole clusters.

    .. math:: \tanh\left(\mathrm{atanh}\, r ± t\,\frac{SE}{1 - r^2}\right), \qquad
              SE^2 = \frac{G - 1}{G} \sum_g (r_{(g)} - \bar r)^2

    r_(g) is the coefficient without cluster g; t has the effective number of clusters minus one degrees of
    freedom. Unlike κ, a correlation ignores a constant shift or another unit of one rater.

    More than 400 clusters are merged into 400 random groups. ``kind`` is ``pearson`` (values) or ``spearman``
    (ranks).

    Returns:
        A value in [−1, 1], None if a column is constant. There is no interval with fewer than five clusters
        or if the coefficient is −1 or 1.

    Source: Fisher (1921), Metron 1; Tukey (1958), Ann. Math. Stat. 29 (jackknife).

    >>> result = correlation([1, 2, 3, 4, 5, 6], [1, 3, 2, 4, 6, 5])
    >>> round(result.value, 4), round(result.interval.low, 2), round(result.interval.high, 2)
    (0.8857, 0.32, 0.99)
    """
    check_level(level)
    one, other = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    coefficient = _COEFFICIENTS[kind]
    value = coefficient(one, other)
    if value is None:
        return Agreement(None, reason="one side does not vary, so nothing can correlate with it")
    codes, count = cluster_codes(clusters, len(one))
    if count < MIN_CLUSTERS:
        return with_interval(value, f"no interval: {count} questions are too few; 5 are needed")
    groups = jackknife_groups(codes, MAX_JACKKNIFE_GROUPS, seed)
    coefficients = [coefficient(one[groups != group], other[groups != group]) for group in np.unique(groups)]
    without = np.array(coefficients, dtype=np.float64)  # None becomes NaN
    if np.isnan(without).any():
        return with_interval(value, "no interval: without one question one side does not vary")
    error = float(np.sqrt((len(without) - 1) * np.var(without)))
    quantile = student_quantile(level, effective_clusters(np.bincount(codes)) - 1)
    return with_interval(value, fisher_interval(value, quantile * error, level))
