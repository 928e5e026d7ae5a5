"""Tail probability of Student's t distribution."""

from __future__ import annotations

import math

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
