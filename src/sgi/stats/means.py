"""Intervals of a mean, from independent values or from values in clusters."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sgi.stats.intervals import (
    FEWEST_CLUSTERS,
    Interval,
    NoInterval,
    Scale,
    check_level,
    cluster_codes,
    clustered_error,
    effective_clusters,
    normal_quantile,
    student_quantile,
    too_few_clusters,
    unseen_interval,
    wilson_ends,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

FEWEST_UNBOUNDED = 25
"""Clusters that an interval needs on a scale without two ends: fewer do not show how skewed values are."""

FEWEST_DIFFERENT = 8
"""If fewer clusters differ from the value that most have, their spread is not known well enough."""

_EQUAL = 1e-6
_FEWEST_SHARES = 2


def mean_interval(
    values: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    low: float | None = None,
    high: float | None = None,
    level: float = 0.95,
) -> Interval | NoInterval:
    r"""An interval of the mean of values, whole clusters being what was sampled.

    The method follows from the data and is named in the result. SE is the clustered standard error, and t has
    ν degrees of freedom (see `freedom`).

    * ``skew-corrected t``: see `skew_corrected`.
    * ``wilson``: values that are all at an end of the scale, say 0 or 1, one in each cluster.
    * ``wilson of clusters``: such values, several in a cluster. They count as p(1 − p)/SE² independent ones,
      at most as many as there are rows, and t takes the place of z.
    * ``rare values``: most clusters have the same value and fewer than 8 differ; see `rare_interval`, which
      allows for clusters that were not seen. Of values that are all at an end of the scale, each end is the
      farther one of this and of Wilson's.
    * ``unseen values``: all clusters have the same value; see `unseen_interval`.

    There is no interval of fewer than 5 clusters (2 if all values are at an end of the scale, one in each
    cluster). Without two known ends of the scale there is none of fewer than 25 clusters, and none of rare or
    unseen values: so few do not show how far the others may lie. `docs/statistics.md` has the coverage of
    each case, simulated.

    Args:
        values: finite values, shape (n,).
        clusters: rows that belong together (say, the same question) share a value, shape (n,); None if
            all rows are independent.
        low: the least possible value; None if there is none.
        high: the greatest possible value; None if there is none.
        level: in (0, 1).

    Returns:
        The interval, or why there is none.

    Raises:
        ValueError: values are not finite or not one column, lengths differ, or scale or level make no sense.

    Source: Miller (2024), arXiv:2411.00640 (clustered standard error); Wilson (1927), J. Am. Stat. Assoc. 22;
    Korn and Graubard (1998), Survey Methodology 24 (shares in clusters).

    >>> made = mean_interval([0, 0, 0, 0, 0, 1, 1, 1, 1, 1], low=0, high=1)
    >>> round(made.low, 4), round(made.high, 4), made.method
    (0.2366, 0.7634, 'wilson')
    >>> mean_interval([0.1, 0.2]).reason
    '2 clusters are too few for an interval; 5 are needed'
    """
    column = np.asarray(values, dtype=np.float64)
    if column.ndim != 1 or not np.isfinite(column).all():
        raise ValueError("An interval is made of one column of finite values.")
    check_level(level)
    scale = Scale.of(low, high)
    codes, count = cluster_codes(clusters, len(column))
    if not scale.holds(column):
        return NoInterval(f"a value lies outside the metric's scale, {scale.low:g} to {scale.high:g}")
    sums: Floats = np.bincount(codes, weights=column).astype(np.float64, copy=False)
    sizes: Floats = np.bincount(codes).astype(np.float64)
    if not (scale.bounded and np.isin(column, (scale.low, scale.high)).all()):
        return clustered_interval(sums, sizes, scale, level)
    if count < (_FEWEST_SHARES if count == len(column) else FEWEST_CLUSTERS):
        return too_few_clusters(count)
    made, rare = _of_shares(sums, sizes, scale, level), _of_rare_values(sums, sizes, scale, level)
    if rare is not None:
        made = replace(rare, low=min(made.low, rare.low), high=max(made.high, rare.high))
    return scale.clipped(made)


def clustered_interval(sums: Floats, sizes: Floats, scale: Scale, level: float) -> Interval | NoInterval:
    """The interval of a mean from the sums and sizes of clusters; see `mean_interval`.

    Args:
        sums: the sum of each cluster's values, shape (G,).
        sizes: rows of each cluster, at least 1, shape (G,).
        scale: where values can lie.
        level: in (0, 1).

    >>> clustered_interval(np.arange(8.0), np.ones(8), Scale.of(0, 10), 0.95).method
    'skew-corrected t'
    """
    count = len(sums)
    if count < FEWEST_CLUSTERS:
        return too_few_clusters(count)
    if not scale.bounded:
        reason = _unknown_spread(count, clusters_that_differ(sums / sizes, scale))
        return NoInterval(reason) if reason else skew_corrected(sums, sizes, level)
    rare = _of_rare_values(sums, sizes, scale, level)
    return scale.clipped(skew_corrected(sums, sizes, level)) if rare is None else rare


def _unknown_spread(count: int, different: int) -> str:
    """Why nothing covers the mean of values on a scale without two ends; empty where something does."""
    if not different:
        return "all values are equal, and the metric's scale has no known ends"
    if different < min(FEWEST_DIFFERENT, count / 2):
        rare = f"only {different} of {count} clusters differ from the others"
        return f"{rare}, and the metric's scale has no known ends"
    if count < FEWEST_UNBOUNDED:
        few = too_few_clusters(count, FEWEST_UNBOUNDED).reason
        return f"{few} where the metric's scale has no known ends"
    return ""


def _of_rare_values(sums: Floats, sizes: Floats, scale: Scale, level: float) -> Interval | None:
    """The interval with room for clusters that were not seen; None where enough clusters differ.

    The spread of few clusters that differ says little: Student's interval with their skewness would miss the
    truth or, corrected, be twice as wide as this one.
    """
    different = clusters_that_differ(sums / sizes, scale)
    if not different:
        return unseen_interval(float(sums.sum() / sizes.sum()), len(sums), scale, level)
    if different < min(FEWEST_DIFFERENT, len(sums) / 2):
        return rare_interval(sums, sizes, scale, level)
    return None


def clusters_that_differ(means: Floats, scale: Scale) -> int:
    """How many clusters have another value than the one that most have.

    Values that differ by less than about a millionth of the scale count as the same.

    >>> clusters_that_differ(np.array([1.0, 1.0, 0.5, 1.0 - 1e-9]), Scale.of(0, 1))
    1
    """
    width = scale.high - scale.low if scale.bounded else float(np.abs(means).max()) or 1.0
    _, counts = np.unique(np.round(means / (_EQUAL * width)), return_counts=True)
    return len(means) - int(counts.max())


def freedom(sums: Floats, sizes: Floats) -> float:
    r"""The degrees of freedom of the clustered variance of a mean.

    .. math:: \nu = \min\left(\frac{n^2}{\sum_c n_c^2} - 1, \frac{2G}{\hat\kappa - 1}\right)

    The first is the effective number of clusters less one; the second is that of a variance estimated from
    values of the kurtosis :math:`\hat\kappa = G \sum_c e_c^4 / (\sum_c e_c^2)^2`, with
    :math:`e_c = S_c - n_c \bar s`: a few far values tell less of the spread than as many near ones.

    Source: Kish (1965), Survey Sampling; Satterthwaite (1946), Biometrics Bulletin 2.

    >>> round(freedom(np.array([1.0, 2.0, 3.0, 4.0]), np.ones(4)), 2)
    3.0
    """
    few = effective_clusters(sizes) - 1
    squares = np.square(_deviations(sums, sizes))
    kurtosis = len(sums) * float(np.square(squares).sum()) / float(squares.sum()) ** 2
    return min(few, 2 * len(sums) / (kurtosis - 1)) if kurtosis > 1 else few


def _deviations(sums: Floats, sizes: Floats) -> Floats:
    """S_c − n_c·s̄, in units of the largest, so that no power of them overflows or vanishes."""
    deviations: Floats = sums - sizes * (sums.sum() / sizes.sum())
    largest = float(np.abs(deviations).max())
    return deviations / largest if largest > 0 else deviations


def skew_corrected(sums: Floats, sizes: Floats, level: float) -> Interval:
    r"""Student's interval, corrected for the skewness of the values, without regard to the scale.

    With :math:`a = \sum_c e_c^3 / (\sum_c e_c^2)^{3/2}`, the skewness over :math:`\sqrt{G}`, Hall's
    transformation makes the studentised mean nearly normal. Its inverse
    :math:`h(x) = \frac{3}{a} \left(\sqrt[3]{1 + a (x - a/6)} - 1\right)` gives the ends
    :math:`\bar s - h(t)\,SE` and :math:`\bar s - h(-t)\,SE`. Where that end would be nearer than t, it is
    half as near: the skewness of few clusters is uncertain, and values with two heavy tails look skewed too.

    Source: Hall (1992), J. R. Stat. Soc. B 54.

    >>> made = skew_corrected(np.array([0, 0, 1, 1, 2, 9.0]), np.ones(6), 0.95)
    >>> round(made.low, 2), round(made.high, 2)
    (-1.01, 14.67)
    """
    mean, error = float(sums.sum() / sizes.sum()), clustered_error(sums, sizes)
    if error == 0:
        return Interval(mean, mean, level, "skew-corrected t")
    quantile = student_quantile(level, freedom(sums, sizes))
    deviations = _deviations(sums, sizes)
    skewness = float((deviations**3).sum() / np.square(deviations).sum() ** 1.5)
    down, up = _hall(quantile, skewness), -_hall(-quantile, skewness)
    down, up = (max(end, (end + quantile) / 2) for end in (down, up))
    return Interval(mean - down * error, mean + up * error, level, "skew-corrected t")


def _hall(x: float, a: float) -> float:
    """The inverse of Hall's transformation."""
    if abs(a) < 1e-6:  # noqa: PLR2004 - the limit, where the quotient loses its digits
        return x
    return 3 / a * (float(np.cbrt(1 + a * (x - a / 6))) - 1)


def rare_interval(sums: Floats, sizes: Floats, scale: Scale, level: float) -> Interval:
    r"""An interval that allows for clusters that were not seen, however far they lie on the scale.

    For each end one more cluster of average size is imagined at that end of the scale. Clusters get random
    weights that are uniform among all that add up to 1 (Dirichlet), and the end is a quantile of the weighted
    mean: the interval of Gaffke. Here its first three moments stand for the distribution, by the quantile of
    a gamma distribution in the approximation of Wilson and Hilferty. For 0 and 1 it is nearly that of Clopper
    and Pearson. It is valid for few clusters and any distribution on the scale, but wider than most need.

    Source: Gaffke (2005), "Three test statistics for a nonparametric one-sided hypothesis on the mean of a
    nonnegative variable", Math. Methods Stat. 14; Learned-Miller and Thomas (2020), arXiv:1905.06208;
    Rubin (1981), Ann. Stat. 9 (random weights); Wilson and Hilferty (1931), PNAS 17.

    >>> made = rare_interval(np.array([1.0] * 27 + [0.0] * 3), np.ones(30), Scale.of(0, 1), 0.95)
    >>> round(made.low, 2), round(made.high, 2)
    (0.74, 0.98)
    """
    z = normal_quantile(level)
    low, high = (
        _dirichlet_quantile(np.append(sums, sizes.mean() * end), np.append(sizes, sizes.mean()), side)
        for end, side in ((scale.low, -z), (scale.high, z))
    )
    return scale.clipped(Interval(low, high, level, "rare values"))


def _dirichlet_quantile(sums: Floats, sizes: Floats, z: float) -> float:
    """The quantile at the normal quantile z of a mean whose clusters get Dirichlet weights."""
    count, mean = len(sums), float(sums.sum() / sizes.sum())
    deviations = (sums - sizes * mean) / sizes.mean()
    variance = float(np.square(deviations).mean()) / (count + 1)
    spread = math.sqrt(variance)
    if variance == 0:
        return mean
    third = 2 * float((deviations**3).mean()) / ((count + 1) * (count + 2))
    skewness = third / spread**3
    if abs(skewness) < 1e-6:  # noqa: PLR2004 - the limit, where the quotient loses its digits
        return mean + z * spread
    root = 1 + skewness * z / 6 - skewness**2 / 36
    return mean + spread * 2 / skewness * (root**3 - 1)


def _of_shares(sums: Floats, sizes: Floats, scale: Scale, level: float) -> Interval:
    """Wilson's interval of values that are all at an end of the scale."""
    count, rows = len(sums), int(sizes.sum())
    ones = (sums - sizes * scale.low) / (scale.high - scale.low)
    share = float(np.clip(ones.sum() / rows, 0.0, 1.0))
    name = "wilson" if count == rows else "wilson of clusters"
    quantile, worth = normal_quantile(level), float(count)
    if count < rows and 0 < share < 1:
        # Clusters that differ less than chance must not count for more rows than there are.
        variance = max(clustered_error(ones, sizes) ** 2, share * (1 - share) / rows)
        worth = share * (1 - share) / variance
        quantile = student_quantile(level, effective_clusters(sizes) - 1)
    return scale.stretched(Interval(*wilson_ends(share, worth, quantile), level, name))
