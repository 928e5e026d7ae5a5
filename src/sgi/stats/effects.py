"""Effect sizes, Welch's test and correlation coefficients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sgi.stats.student import student_two_sided_p

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
    if min(len(one), len(other)) < 2:  # noqa: PLR2004 - one value has no variance
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
