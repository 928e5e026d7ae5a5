"""Intraclass correlation of pass/fail values, by the likelihood of the beta-binomial distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sgi.stats.intervals import Interval, student_quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_SHARES = np.linspace(0.0, 0.995, 200)
_MEANS = (np.arange(200) + 0.5) / 200


def correlation_interval(passes: NDArray[np.int64], sizes: NDArray[np.int64], level: float) -> Interval:
    r"""Return the profile likelihood interval of the share of questions in the variance of pass/fail values.

    Question q passes with a probability that has a beta distribution with the mean μ; ρ is the correlation of
    two values of a question, and θ = ρ/(1 − ρ). With :math:`k_q` passes among :math:`n_q` values,

    .. math:: \ell = \sum_q \Bigl[\sum_{i < k_q} \log(\mu + i\theta) + \sum_{j < n_q - k_q}
        \log(1 - \mu + j\theta) - \sum_{l < n_q} \log(1 + l\theta)\Bigr]

    The interval has each ρ with :math:`2(\ell_{\max} - \max_\mu \ell) \le t^2`, with Student's quantile t of
    the number of questions minus 1, instead of that of the normal distribution.

    Source: Griffiths (1973), Biometrics 29 (maximum likelihood of the beta-binomial distribution).

    >>> interval = correlation_interval(np.array([3, 3, 3, 0, 3, 1]), np.full(6, 3), 0.95)
    >>> round(interval.low, 2), round(interval.high, 2)
    (0.01, 1.0)
    """
    theta = (_SHARES / (1 - _SHARES))[:, None]
    loglik = np.zeros((len(_SHARES), len(_MEANS)))
    for step in range(int(sizes.max())):
        passed, failed, all_of = (int((count > step).sum()) for count in (passes, sizes - passes, sizes))
        loglik += passed * np.log(_MEANS + step * theta) + failed * np.log(1 - _MEANS + step * theta)
        loglik -= all_of * np.log1p(step * theta)
    profile = loglik.max(axis=1)
    reach = student_quantile(level, len(sizes) - 1) ** 2 / 2
    inside = np.flatnonzero(profile >= profile.max() - reach)
    # The ends lie between two points of the grid; the outer ones are taken.
    low, high = max(inside[0] - 1, 0), inside[-1] + 1
    return Interval(
        float(_SHARES[low]), float(_SHARES[high]) if high < len(_SHARES) else 1.0, level, "beta-binomial"
    )
