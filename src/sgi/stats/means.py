"""Intervals of a mean, from independent values or from values in clusters."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from sgi.stats.intervals import (
    MIN_CLUSTERS,
    Interval,
    NoInterval,
    ValueRange,
    check_level,
    cluster_codes,
    clustered_standard_error,
    effective_clusters,
    normal_quantile,
    shown_count,
    student_quantile,
    too_few_clusters,
    unseen_values_interval,
    wilson_ends,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

MIN_CLUSTERS_UNBOUNDED = 25
"""Least number of clusters for an interval of an unbounded metric: fewer do not show the skewness."""

MIN_DIFFERENT_CLUSTERS = 8
"""If fewer clusters differ from the most frequent value, their spread is too uncertain."""

SKEW_CORRECTED = "skew-corrected t"
"""The method of intervals of means that vary enough; only these have a minimum detectable difference."""

_EQUAL = 1e-6
_ROUNDING = 1e-12
_MIN_SHARE_CLUSTERS = 2
_MIN_EFFECTIVE_SHARE = 1 / 3
"""With fewer effective clusters, of all clusters, most of the weight is that of few values."""


def mean_interval(
    values: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    low: float | None = None,
    high: float | None = None,
    level: float = 0.95,
) -> Interval | NoInterval:
    r"""Return the confidence interval of a mean, with whole clusters as the sampling units.

    With ``weights`` (above 0, shape (n,)), the mean is Σ w·s / Σ w, a ratio of two sums. S_c is then the sum
    of w·s over a cluster and n_c that of w; the same linearised formulas apply, with the jackknife's
    correction. The number of clusters is the effective one, (Σ n_c)² / Σ n_c²: few heavy ones count as few.

    The data determine the method; the result names it. SE is the clustered standard error; t has ν degrees
    of freedom (see `degrees_of_freedom`).

    * ``skew-corrected t``: see `skew_corrected_interval`.
    * ``wilson``: binary values (each at an end of the scale), one per cluster.
    * ``wilson of clusters``: binary values, several per cluster. The effective sample size is
      p(1 − p)/SE², at most the number of rows, and t replaces z.
    * ``rare values``: fewer than 8 clusters differ from the most frequent value; see `rare_values_interval`.
      For binary values, each end is the wider one of this interval and Wilson's.
    * ``unseen values``: all clusters have the same value; see `unseen_values_interval`.
    * ``few heavy clusters``: the effective number of clusters is below a third of their number. Each end is
      the wider one of the skew-corrected and the rare values interval.

    An interval needs at least 5 clusters (2 for binary values, one per cluster). An unbounded metric needs 25
    clusters, and has no interval of rare or unseen values. Simulated
    coverage: `docs/internals/statistics.md`.

    ``low`` and ``high`` are the least and greatest possible value; None means unbounded. The result is the
    interval or the reason why there is none.

    Source: Miller (2024), arXiv:2411.00640 (clustered standard error); Wilson (1927), J. Am. Stat. Assoc. 22;
    Korn and Graubard (1998), Survey Methodology 24 (shares in clusters, weights); Cochran (1977), Sampling
    Techniques, ch. 6 (ratio of sums); Kish (1965), Survey Sampling (effective number).

    >>> result = mean_interval([0, 0, 0, 0, 0, 1, 1, 1, 1, 1], low=0, high=1)
    >>> round(result.low, 4), round(result.high, 4), result.method
    (0.2366, 0.7634, 'wilson')
    >>> mean_interval([0.1, 0.2]).reason
    '2 clusters are too few for an interval; 5 are needed'
    """
    check_level(level)
    made = mean_intervals(values, clusters, weights=weights, low=low, high=high)
    return made if isinstance(made, NoInterval) else made(level)


def mean_intervals(
    values: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    low: float | None = None,
    high: float | None = None,
) -> Callable[[float], Interval] | NoInterval:
    """Return the function from the level to the interval of `mean_interval`; a level costs O(G)."""
    column = np.asarray(values, dtype=np.float64)
    if column.ndim != 1 or not np.isfinite(column).all():
        raise ValueError("An interval needs one column of finite values.")
    scale = ValueRange.of(low, high)
    codes, _ = cluster_codes(clusters, len(column))
    if not scale.contains(column):
        return NoInterval(f"a value is outside the metric's scale, {scale.low:g} to {scale.high:g}")
    mass = row_weights(weights, len(column))
    sums: Floats = np.bincount(codes, weights=column * mass).astype(np.float64, copy=False)
    sizes: Floats = np.bincount(codes, weights=mass).astype(np.float64, copy=False)
    count = effective_clusters(sizes) if (mass != 1).any() else len(sizes)
    if not (scale.is_bounded and np.isin(column, (scale.low, scale.high)).all()):
        return clustered_intervals(sums, sizes, scale, count, rows=column)
    if count < (_MIN_SHARE_CLUSTERS if count == len(column) else MIN_CLUSTERS):
        return too_few_clusters(count)
    rows = effective_clusters(mass)
    rare_values = _rare_or_unseen(sums, sizes, scale, count)

    def at(level: float) -> Interval:
        result = _share_interval(sums, sizes, scale, level, (count, rows))
        if rare_values is not None:
            rare = rare_values(level)
            result = replace(rare, low=min(result.low, rare.low), high=max(result.high, rare.high))
        return scale.clip(result)

    return at


def row_weights(weights: ArrayLike | None, n: int) -> Floats:
    """Return the weight of each row, shape (n,), with a mean of 1; all 1 for equal or no ``weights``."""
    if weights is None:
        return np.ones(n)
    mass = np.asarray(weights, dtype=np.float64)
    if mass.shape != (n,) or not (np.isfinite(mass) & (mass > 0)).all():
        raise ValueError(f"`weights` must be finite and above 0, with the shape ({n},).")
    if n and np.ptp(mass) <= _ROUNDING * mass.max():  # the mean of equal weights is rounded
        return np.ones(n)
    return mass / mass.mean() if n else mass


def clustered_intervals(
    sums: Floats,
    sizes: Floats,
    scale: ValueRange,
    count: float | None = None,
    *,
    rows: Floats,
    what: Literal["value", "difference"] = "value",
) -> Callable[[float], Interval] | NoInterval:
    """Return the function from the level to the interval of a mean, from the sums and sizes of clusters.

    Both have the shape (G,); see `mean_interval`. ``count`` is the effective number of clusters, None for G.
    A level costs O(1). A reason why there is no interval calls the ``rows``, shape (n,), ``what``.
    """
    count = len(sums) if count is None else count
    if count < MIN_CLUSTERS:
        return too_few_clusters(count)
    if not scale.is_bounded:
        reason = _unknown_spread(count, sums / sizes, rows, what)
        return NoInterval(reason) if reason else _skew_corrected(sums, sizes, count)
    made = _rare_or_unseen(sums, sizes, scale, count) or _skew_corrected(sums, sizes, count)
    if count < _MIN_EFFECTIVE_SHARE * len(sums):
        made = partial(_wider, made, _rare_values(sums, sizes, scale, count))
    return lambda level: scale.clip(made(level))


def _wider(first: Callable[[float], Interval], second: Callable[[float], Interval], level: float) -> Interval:
    one, other = first(level), second(level)
    low, high = min(one.low, other.low), max(one.high, other.high)
    return Interval(low, high, level, "few heavy clusters")


def _unknown_spread(count: float, means: Floats, rows: Floats, what: str) -> str:
    """Return the reason why the mean of an unbounded metric has no interval; empty if it has one."""
    scale = ValueRange.of(None, None)
    different = clusters_that_differ(means, scale)
    if not different:
        is_varied = clusters_that_differ(rows, scale)
        equal = f"all clusters have the same mean {what}" if is_varied else f"all {what}s are equal"
        return f"{equal}, and the metric's scale has no known ends"
    if different < min(MIN_DIFFERENT_CLUSTERS, count / 2):
        rare = f"only {different} of {shown_count(count)} clusters have another mean {what} than the rest"
        return f"{rare}, and the metric's scale has no known ends"
    if count < MIN_CLUSTERS_UNBOUNDED:
        few = too_few_clusters(count, MIN_CLUSTERS_UNBOUNDED).reason
        return f"{few} where the metric's scale has no known ends"
    return ""


def _rare_or_unseen(
    sums: Floats, sizes: Floats, scale: ValueRange, count: float
) -> Callable[[float], Interval] | None:
    """Return the intervals that allow for unseen clusters; None if enough clusters differ.

    With few different clusters, Student's interval undercovers or, corrected, is twice as wide as this one.
    """
    different = clusters_that_differ(sums / sizes, scale)
    if not different:
        mean = float(sums.sum() / sizes.sum())
        return lambda level: unseen_values_interval(mean, count, scale, level)
    if different < min(MIN_DIFFERENT_CLUSTERS, len(sums) / 2):
        return _rare_values(sums, sizes, scale, count)
    return None


def clusters_that_differ(means: Floats, scale: ValueRange) -> int:
    """Count the clusters whose mean differs from the most frequent one, by more than 1e-6 of the scale."""
    width = scale.high - scale.low if scale.is_bounded else float(np.abs(means).max()) or 1.0
    _, counts = np.unique(np.round(means / (_EQUAL * width)), return_counts=True)
    return len(means) - int(counts.max())


def degrees_of_freedom(sums: Floats, sizes: Floats) -> float:
    r"""Return the degrees of freedom of the clustered variance of a mean.

    .. math:: \nu = \min\left(\frac{n^2}{\sum_c n_c^2} - 1, \frac{2G}{\hat\kappa - 1}\right)

    The first is the effective number of clusters less one; the second is that of a variance estimated from
    values of the kurtosis :math:`\hat\kappa = G \sum_c e_c^4 / (\sum_c e_c^2)^2`, with
    :math:`e_c = S_c - n_c \bar s`.

    Source: Kish (1965), Survey Sampling; Satterthwaite (1946), Biometrics Bulletin 2.
    """
    few = effective_clusters(sizes) - 1
    squares = np.square(_deviations(sums, sizes))
    kurtosis = len(sums) * float(np.square(squares).sum()) / float(squares.sum()) ** 2
    return min(few, 2 * len(sums) / (kurtosis - 1)) if kurtosis > 1 else few


def _deviations(sums: Floats, sizes: Floats) -> Floats:
    """Return S_c − n_c·s̄, divided by the largest one, so that powers cannot overflow or vanish."""
    deviations: Floats = sums - sizes * (sums.sum() / sizes.sum())
    largest = float(np.abs(deviations).max())
    return deviations / largest if largest > 0 else deviations


def skew_corrected_interval(
    sums: Floats, sizes: Floats, level: float, count: float | None = None
) -> Interval:
    r"""Return Student's interval with Hall's correction for skewness; not clipped to the scale.

    With :math:`a = \sum_c e_c^3 / (\sum_c e_c^2)^{3/2}`, the skewness over :math:`\sqrt{G}`, Hall's
    transformation makes the studentised mean nearly normal. Its inverse
    :math:`h(x) = \frac{3}{a} \left(\sqrt[3]{1 + a (x - a/6)} - 1\right)` gives the ends
    :math:`\bar s - h(t)\,SE` and :math:`\bar s - h(-t)\,SE`. Where the correction
    shortens an end, only half of it is applied: the skewness of few clusters is uncertain. ``count`` is the
    effective number of clusters of weighted rows, None for G; if it is not G, SE is the jackknife's.

    Source: Hall (1992), J. R. Stat. Soc. B 54.

    >>> result = skew_corrected_interval(np.array([0, 0, 1, 1, 2, 9.0]), np.ones(6), 0.95)
    >>> round(result.low, 2), round(result.high, 2)
    (-1.01, 14.67)
    """
    return _skew_corrected(sums, sizes, len(sums) if count is None else count)(level)


def _skew_corrected(sums: Floats, sizes: Floats, count: float) -> Callable[[float], Interval]:
    mean = float(sums.sum() / sizes.sum())
    error = clustered_standard_error(sums, sizes, jackknife=count != len(sums))
    if error == 0:
        return lambda level: Interval(mean, mean, level, SKEW_CORRECTED)
    freedom, deviations = degrees_of_freedom(sums, sizes), _deviations(sums, sizes)
    skewness = float((deviations**3).sum() / np.square(deviations).sum() ** 1.5)

    def at(level: float) -> Interval:
        quantile = student_quantile(level, freedom)
        down, up = _hall(quantile, skewness), -_hall(-quantile, skewness)
        down, up = (max(end, (end + quantile) / 2) for end in (down, up))
        return Interval(mean - down * error, mean + up * error, level, SKEW_CORRECTED)

    return at


def _hall(x: float, a: float) -> float:
    if abs(a) < 1e-6:
        return x
    return 3 / a * (float(np.cbrt(1 + a * (x - a / 6))) - 1)


def rare_values_interval(sums: Floats, sizes: Floats, scale: ValueRange, level: float) -> Interval:
    r"""Return the interval that allows for unseen clusters anywhere on the scale (Gaffke).

    For each end one pseudo-cluster of average size is added at that end of the scale. Clusters get
    uniform Dirichlet weights, and the end is a quantile of the weighted mean. The quantile is approximated
    from three moments by a gamma distribution (Wilson and Hilferty). For binary values it is close to
    Clopper and Pearson. It is valid for few clusters and any distribution on the scale, but conservative.

    Source: Gaffke (2005), "Three test statistics for a nonparametric one-sided hypothesis on the mean of a
    nonnegative variable", Math. Methods Stat. 14; Learned-Miller and Thomas (2020), arXiv:1905.06208;
    Rubin (1981), Ann. Stat. 9 (random weights); Wilson and Hilferty (1931), PNAS 17.

    >>> values = np.array([1.0] * 27 + [0.0] * 3)
    >>> result = rare_values_interval(values, np.ones(30), ValueRange.of(0, 1), 0.95)
    >>> round(result.low, 2), round(result.high, 2)
    (0.74, 0.98)
    """
    return _rare_values(sums, sizes, scale, len(sums))(level)


def _rare_values(sums: Floats, sizes: Floats, scale: ValueRange, count: float) -> Callable[[float], Interval]:
    unseen = sizes.sum() / count
    low, high = (
        _dirichlet_quantiles(np.append(sums, unseen * end), np.append(sizes, unseen))
        for end in (scale.low, scale.high)
    )

    def at(level: float) -> Interval:
        z = normal_quantile(level)
        return scale.clip(Interval(low(-z), high(z), level, "rare values"))

    return at


def _dirichlet_quantiles(sums: Floats, sizes: Floats) -> Callable[[float], float]:
    """Return the quantile, as a function of the normal one, of a mean of clusters with Dirichlet weights."""
    count, mean = len(sums), float(sums.sum() / sizes.sum())
    deviations = (sums - sizes * mean) / sizes.mean()
    spread = math.sqrt(float(np.square(deviations).mean()) / (count + 1))
    if spread == 0:
        return lambda _: mean
    third = 2 * float((deviations**3).mean()) / ((count + 1) * (count + 2))
    skewness = third / spread**3
    if abs(skewness) < 1e-6:
        return lambda z: mean + z * spread
    shift = 1 - skewness**2 / 36
    return lambda z: mean + spread * 2 / skewness * ((shift + skewness * z / 6) ** 3 - 1)


def _share_interval(
    sums: Floats, sizes: Floats, scale: ValueRange, level: float, counts: tuple[float, float]
) -> Interval:
    """Return Wilson's interval; ``counts`` are the effective numbers of clusters and of rows."""
    count, rows = counts
    ones = (sums - sizes * scale.low) / (scale.high - scale.low)
    share = float(np.clip(ones.sum() / sizes.sum(), 0.0, 1.0))
    is_simple = len(sizes) == count == rows
    name = "wilson" if is_simple else "wilson of clusters"
    quantile, effective_rows = normal_quantile(level), float(count)
    if not is_simple and 0 < share < 1:
        # The effective sample size cannot exceed the number of rows.
        error = clustered_standard_error(ones, sizes, jackknife=count != len(sizes))
        variance = max(error**2, share * (1 - share) / rows)
        effective_rows = share * (1 - share) / variance
        quantile = student_quantile(level, effective_clusters(sizes) - 1)
    return scale.rescale(Interval(*wilson_ends(share, effective_rows, quantile), level, name))
