"""Statistics of repeated answers to the same question: pass rates, and components of variance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sgi.stats.intervals import (
    MIN_CLUSTERS,
    Interval,
    check_level,
    cluster_codes,
    student_quantile,
    too_few_clusters,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


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


_ROUNDING = 1e-9
"""A smaller share of a component is a rounding error."""


@dataclass(frozen=True)
class VarianceComponents:
    """Variance of one value, split into that between questions and that between answers to a question.

    Attributes:
        questions: number of questions.
        answers: number of answers.
        between: variance of the expected values of questions; 0 if the estimate is negative.
        within: variance of answers to one question.
        within_share: within / (between + within); None without any variance.
        interval: confidence interval of ``within_share``; None if it cannot be computed.
        no_interval: why there is no interval; empty if there is one.
    """

    questions: int
    answers: int
    between: float
    within: float
    within_share: float | None
    interval: Interval | None
    no_interval: str = ""

    def standard_error(self, questions: int, repeats: int) -> float:
        """Return the standard error of a mean over this many questions with this many answers each."""
        return math.sqrt((self.between + self.within / repeats) / questions)


def variance_components(
    values: ArrayLike, questions: ArrayLike, *, level: float = 0.95
) -> VarianceComponents | None:
    r"""Split the variance of values into questions and answers, by analysis of variance.

    .. math::

        \hat\sigma^2_w = \frac{\sum_{ij} (y_{ij} - \bar y_i)^2}{N - G}, \quad
        \hat\sigma^2_b = \max\left(0, \frac{MS_b - \hat\sigma^2_w}{n_0}\right), \quad
        n_0 = \frac{N - \sum_i n_i^2 / N}{G - 1}

    for G questions with :math:`n_i` of N answers. The interval of the share of within is a jackknife over
    questions on the logit scale. It needs 5 questions with repeated answers.

    Returns None if no question has two answers, or there is only one question.

    Source: Searle, Casella and McCulloch (1992), Variance Components, section 3.6; Arvesen (1969), Ann.
    Math. Stat. 40 (jackknife).

    >>> result = variance_components([1, 1, 0, 0, 1, 0], [1, 1, 2, 2, 3, 3])
    >>> round(result.within, 4), round(result.between, 4)
    (0.1667, 0.1667)
    """
    check_level(level)
    column = np.asarray(values, dtype=np.float64)
    if column.ndim != 1 or not np.isfinite(column).all():
        raise ValueError("Variance components need one column of finite values.")
    codes, count = cluster_codes(questions, len(column))
    sizes = np.bincount(codes, minlength=count).astype(np.float64)
    repeated = int((sizes > 1).sum())
    if count <= 1 or not repeated:
        return None
    # Values near their mean keep the sums of squares exact.
    column = column - column.mean()
    sums, squares = (
        np.bincount(codes, weights=weights, minlength=count).astype(np.float64)
        for weights in (column, np.square(column))
    )
    between, within = (float(part[0]) for part in _components(sizes, sums, squares, np.zeros((1, 4)), count))
    total = between + within
    share = within / total if np.ptp(column) > 0 else None
    if share is not None and not _ROUNDING < share < 1 - _ROUNDING:
        share = float(round(share))
    interval, reason = _share_interval(sizes, sums, squares, share, repeated, level)
    return VarianceComponents(count, len(column), between, within, share, interval, reason)


def _components(
    sizes: Floats, sums: Floats, squares: Floats, without: Floats, questions: int
) -> tuple[Floats, Floats]:
    """Return both components for each row of ``without``: what to leave out of n, Σ, Σ² and Σ²/n."""
    n = sizes.sum() - without[:, 0]
    total = sums.sum() - without[:, 1]
    group_squares = (np.square(sums) / sizes).sum() - without[:, 3]
    within = np.maximum(squares.sum() - without[:, 2] - group_squares, 0.0) / (n - questions)
    between_mean = np.maximum(group_squares - np.square(total) / n, 0.0) / (questions - 1)
    weight = (n - (np.square(sizes).sum() - np.square(without[:, 0])) / n) / (questions - 1)
    return np.maximum((between_mean - within) / weight, 0.0), within


def _share_interval(
    sizes: Floats, sums: Floats, squares: Floats, share: float | None, repeated: int, level: float
) -> tuple[Interval | None, str]:
    """Return the jackknife interval of within / (between + within) on the logit scale, or the reason."""
    count = len(sizes)
    if repeated < MIN_CLUSTERS:
        return None, too_few_clusters(repeated).reason
    if share is None:
        return None, "all values are equal"
    if not 0 < share < 1:
        only = "answers to one question differ" if share else "questions differ"
        return None, f"only {only}"
    without = np.column_stack([sizes, sums, squares, np.square(sums) / sizes])
    between, within = _components(sizes, sums, squares, without, count - 1)
    if not ((between > 0) & (within > 0)).all():
        return None, "without one of the questions, a component is 0"
    centre = math.log(share / (1 - share))
    pseudo = count * centre - (count - 1) * np.log(within / between)
    half = student_quantile(level, count - 1) * float(pseudo.std(ddof=1)) / math.sqrt(count)
    low, high = (1 / (1 + math.exp(-(centre + side * half))) for side in (-1, 1))
    return Interval(low, high, level, "jackknife of questions"), ""
