"""Pass rates of repeated answers to the same question, their intraclass correlation, and a test of it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sgi.stats.intervals import Interval, student_quantile
from sgi.stats.paired_tests import benjamini_hochberg

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_DRAWS = 9999
_FALSE_DISCOVERIES = 0.05
_MIN_EQUAL_JUDGEMENTS = 5


def pass_at_k(n: int, passed: int, k: int) -> float:
    r"""Return the probability that at least one of k of the n answers passes.

    .. math:: 1 - \binom{n - c}{k} / \binom{n}{k}

    with c passed answers. This is the unbiased estimate for one question.

    Source: Chen et al. (2021), arXiv:2107.03374, equation 1.

    >>> pass_at_k(4, 1, 2)
    0.5
    """
    _check(n, passed, k)
    return 1.0 - math.comb(n - passed, k) / math.comb(n, k)


def pass_hat_k(n: int, passed: int, k: int) -> float:
    r"""Return the probability that all of k of the n answers pass (pass^k).

    .. math:: \binom{c}{k} / \binom{n}{k}

    Source: Yao et al. (2024), arXiv:2406.12045, section 3.

    >>> pass_hat_k(4, 3, 2)
    0.5
    """
    _check(n, passed, k)
    return math.comb(passed, k) / math.comb(n, k)


def _check(n: int, passed: int, k: int) -> None:
    if not (0 <= passed <= n and 1 <= k <= n):
        raise ValueError(f"`passed` must be in 0..n and `k` in 1..n, not n={n}, passed={passed}, k={k}.")


def differing_answers(questions: Sequence[Sequence[NDArray[np.float64]]], *, seed: int = 0) -> list[bool]:
    r"""Return, for each question, whether its answers differ by more than the judge's random variation.

    Each question has the values of the judgements of each answer. Under the null hypothesis, the judgements
    of a question can be exchanged between its answers. Its p is the share of 9,999 random permutations whose
    sum of :math:`n_a \bar x_a^2` over the answers is at least the observed one. The procedure of Benjamini
    and Hochberg limits the expected share of false ones among the questions that differ to 5 %. If at least 5
    answers have several judgements, and no two judgements of an answer differ, the judge adds no chance, and
    all different answers differ.

    Source: Benjamini and Hochberg (1995), J. R. Stat. Soc. B 57.

    >>> fails, passes = np.zeros(3), np.ones(3)
    >>> differing_answers([[fails, passes, fails, passes, passes], [fails, fails, fails, fails, passes[:1]]])
    [True, True]
    """
    several = [answer for answers in questions for answer in answers if len(answer) > 1]
    if len(several) >= _MIN_EQUAL_JUDGEMENTS and not any(np.ptp(answer) for answer in several):
        return [bool(np.ptp(np.concatenate(answers)) > 0) for answers in questions]
    generator = np.random.default_rng(seed)
    adjusted = benjamini_hochberg([_permutation_p(answers, generator) for answers in questions])
    return [one is not None and one <= _FALSE_DISCOVERIES for one in adjusted]


def _permutation_p(answers: Sequence[NDArray[np.float64]], generator: np.random.Generator) -> float:
    values, sizes = np.concatenate(answers), np.array([len(answer) for answer in answers])
    if np.ptp(values) == 0 or len(answers) == len(values) or len(answers) == 1:
        return 1.0
    shuffled = generator.permuted(np.tile(values - values.mean(), (_DRAWS, 1)), axis=1)
    starts = np.cumsum(sizes) - sizes
    between = (np.square(np.add.reduceat(shuffled, starts, axis=1)) / sizes).sum(axis=1)
    observed = (np.square(np.add.reduceat(values - values.mean(), starts)) / sizes).sum()
    return float(1 + (between >= observed * (1 - 1e-9)).sum()) / (1 + _DRAWS)


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
