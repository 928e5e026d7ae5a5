"""Pass rates of repeated answers to the same question."""

from __future__ import annotations

import math


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
