"""Effect sizes, Welch's test, and correlation coefficients with intervals over clusters."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

from sgi.kernel.short_text import pluralize
from sgi.stats.agreement import MAX_JACKKNIFE_GROUPS, Agreement, fisher_interval, with_interval
from sgi.stats.intervals import (
    MIN_CLUSTERS,
    check_level,
    cluster_codes,
    effective_clusters,
    jackknife_groups,
    student_quantile,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def cohen_d(first: ArrayLike, second: ArrayLike) -> float | None:
    r"""Return Cohen's d, the difference of two means in pooled standard deviations.

    .. math:: d = (\bar x_1 - \bar x_2) / s, \qquad
              s^2 = \frac{(n_1 - 1)\,s_1^2 + (n_2 - 1)\,s_2^2}{n_1 + n_2 - 2}

    By convention 0.2 is small, 0.5 medium, 0.8 large. The groups have shapes (n₁,) and (n₂,).

    Returns:
        Above 0 if the first mean is higher; None if a group is empty or neither varies.

    Source: Cohen (1988), Statistical Power Analysis, 2nd edition, 2.5.

    >>> cohen_d([2.0, 4.0, 6.0], [1.0, 3.0, 5.0])
    0.5
    """
    one, other = _scale(first, second)
    freedom = len(one) + len(other) - 2
    if not (len(one) and len(other) and freedom > 0):
        return None
    squares = _squares(one) + _squares(other)
    if squares == 0.0:
        return None
    return _mean_difference(one, other) / float(np.sqrt(squares / freedom))


def welch_p(first: ArrayLike, second: ArrayLike) -> float | None:
    r"""Return the two-sided p-value of Welch's test for equal means of two groups with unequal variances.

    .. math:: t = \frac{\bar x_1 - \bar x_2}{\sqrt{e_1 + e_2}}, \qquad
              \nu = \frac{(e_1 + e_2)^2}{e_1^2 / (n_1 - 1) + e_2^2 / (n_2 - 1)}, \qquad e_k = s_k^2 / n_k

    The test assumes independent rows. Answers to the same question are dependent, which makes p too small.

    Returns:
        A value in [0, 1], 0 if too small for a float; None if a group has fewer than two values or neither
        varies.

    Source: Welch (1947), Biometrika 34.

    >>> round(welch_p([2.0, 4.0, 6.0], [1.0, 3.0, 5.0]), 4)
    0.5734
    """
    one, other = _scale(first, second)
    if min(len(one), len(other)) < 2:
        return None
    errors = [_squares(column) / ((len(column) - 1) * len(column)) for column in (one, other)]
    whole = sum(errors)
    if whole == 0.0:
        return None
    # Shares of the whole, since squares of small errors would vanish.
    shares = [
        (error / whole) ** 2 / (len(column) - 1) for error, column in zip(errors, (one, other), strict=True)
    ]
    distance = abs(_mean_difference(one, other)) / np.sqrt(whole)
    return student_two_sided_p(float(distance), float(1.0 / sum(shares)))


def pearson(first: ArrayLike, second: ArrayLike) -> float | None:
    r"""Return Pearson's correlation, which measures how close two columns are to a linear relation.

    .. math:: r = \frac{\sum_i (x_i - \bar x)(y_i - \bar y)}
              {\sqrt{\sum_i (x_i - \bar x)^2 \sum_i (y_i - \bar y)^2}}

    Returns:
        A value in [−1, 1]; None if a column is constant or has fewer than two rows.

    Source: Pearson (1895), Proc. R. Soc. 58.

    >>> round(pearson([1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 4.0]), 4)
    0.8
    """
    one, other = _column(first), _column(second)
    if one.shape != other.shape:
        raise ValueError(f"Both columns must have the same length, not {len(one)} and {len(other)} rows.")
    if not (_varies(one) and _varies(other)):
        return None
    x, y = _center(_scale(one, one)[0]), _center(_scale(other, other)[0])
    cosine = float(np.sum(x * y) / np.sqrt(np.sum(x * x) * np.sum(y * y)))
    return max(-1.0, min(1.0, cosine))


def spearman(first: ArrayLike, second: ArrayLike) -> float | None:
    """Return Spearman's correlation: `pearson` of the ranks, with the mean rank for tied values.

    Infinities have a rank.

    Returns:
        A value in [−1, 1]; None if a column is constant or has fewer than two rows.

    Source: Spearman (1904), Am. J. Psychol. 15.

    >>> round(spearman([1.0, 2.0, 3.0, 4.0], [1.0, 9.0, 4.0, 16.0]), 4)
    0.8
    """
    return pearson(ranks(first), ranks(second))


def ranks(values: ArrayLike) -> NDArray[np.float64]:
    """Rank of each value, from 1 (least) upwards; tied values get their mean rank. Infinities have a rank.

    >>> ranks([0.5, 0.1, 0.5]).tolist()
    [2.5, 1.0, 2.5]
    """
    column = np.asarray(values, dtype=np.float64)
    if column.ndim != 1 or np.isnan(column).any():
        raise ValueError("Ranks need one column without NaN.")
    _, place, counts = np.unique(column, return_inverse=True, return_counts=True)
    places: NDArray[np.float64] = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return places


def _column(values: ArrayLike) -> NDArray[np.float64]:
    column = np.asarray(values, dtype=np.float64)
    if column.ndim != 1 or not np.isfinite(column).all():
        raise ValueError("An effect size needs a column of finite values.")
    return column


def _scale(first: ArrayLike, second: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Divide both columns by the same power of two, so that no square overflows."""
    one, other = _column(first), _column(second)
    largest = max((float(np.abs(column).max()) for column in (one, other) if len(column)), default=0.0)
    exponent = int(np.frexp(largest)[1])
    return np.ldexp(one, -exponent), np.ldexp(other, -exponent)


def _mean_difference(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Return the difference of the means, relative to the first values to avoid cancellation."""
    return float(one[0] - other[0] + ((one - one[0]).mean() - (other - other[0]).mean()))


def _varies(column: NDArray[np.float64]) -> bool:
    return len(column) > 1 and bool(np.any(column != column[0]))


def _center(column: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the column minus its mean, relative to the first value to avoid cancellation."""
    offsets = column - column[0]
    centred: NDArray[np.float64] = offsets - offsets.mean()
    return centred


def _squares(column: NDArray[np.float64]) -> float:
    return float(np.square(_center(column)).sum())


_LARGE = 20.0
"""From this value on, a series gives the ratio of gamma functions, because log-gamma loses digits."""
_EPSILON = 1e-16
_MAX_TERMS = 10_000


def student_two_sided_p(t: float, freedom: float) -> float:
    r"""Return the probability that Student's variable lies outside [−t, t], for t ≥ 0 and ν > 0.

    .. math:: p = I_x(\nu/2, 1/2), \quad x = \nu / (\nu + t^2)

    with the regularised incomplete beta function I as a continued fraction; 0 if too small for a float.

    Source: DiDonato and Morris (1992), ACM Transactions on Mathematical Software 18, equation 9.

    >>> round(student_two_sided_p(2.228139, 10), 6)
    0.05
    """
    if t == 0.0:
        return 1.0
    half, square = freedom / 2, t / freedom * t
    inside, outside = 1 / (1 + square), square / (1 + square) if square < 1 else 1 / (1 + 1 / square)
    front = math.exp(-half * math.log1p(square)) * math.sqrt(outside) * _inverse_beta(half)
    if inside < (half + 1) / (half + 2.5):
        return min(1.0, front / _fraction(half, 0.5, inside, outside))
    return max(0.0, 1 - front / _fraction(0.5, half, outside, inside))


def _inverse_beta(half: float) -> float:
    """Return 1 / B(half, 1/2) = Γ(half + 1/2) / (Γ(half) √π)."""
    if half < _LARGE:
        return math.exp(math.lgamma(half + 0.5) - math.lgamma(half)) / math.sqrt(math.pi)
    # The asymptotic series of Γ(h + 1/2) / Γ(h), in powers of 1/h.
    h = 1 / half
    terms = (-1 / 8, 1 / 128, 5 / 1024, -21 / 32768, -399 / 262144, 869 / 4194304, 39325 / 33554432)
    series = 1 + sum(term * h**power for power, term in enumerate(terms, 1))
    return math.sqrt(half / math.pi) * series


def _fraction(a: float, b: float, x: float, y: float) -> float:
    """Return x^a y^b / (B(a, b) I_x(a, b)) as a continued fraction, where y = 1 − x, by Lentz's method."""
    value = c = a * (a * y - b * x + 1) / (a + 1)
    d = 0.0
    for m in range(1, _MAX_TERMS):
        upper = (a + m - 1) * (a + b + m - 1) * m * (b - m) * (x / (a + 2 * m - 1)) ** 2
        lower = m + m * (b - m) * x / (a + 2 * m - 1)
        lower += (a + m) * (a * y - b * x + 1 + m * (1 + y)) / (a + 2 * m + 1)
        d = 1 / (lower + upper * d)
        c = lower + upper / c
        value *= c * d
        if abs(c * d - 1) <= _EPSILON:
            break
    return value


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
        return with_interval(
            value, f"no interval: {pluralize(count, 'question is', 'questions are')} too few; 5 are needed"
        )
    groups = jackknife_groups(codes, MAX_JACKKNIFE_GROUPS, seed)
    coefficients = [coefficient(one[groups != group], other[groups != group]) for group in np.unique(groups)]
    without = np.array(coefficients, dtype=np.float64)  # None becomes NaN
    if np.isnan(without).any():
        return with_interval(value, "no interval: without one question one side does not vary")
    error = float(np.sqrt((len(without) - 1) * np.var(without)))
    quantile = student_quantile(level, effective_clusters(np.bincount(codes)) - 1)
    return with_interval(value, fisher_interval(value, quantile * error, level))
