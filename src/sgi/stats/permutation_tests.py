"""Permutation tests with known distributions: signs of differences, an old reply among new ones; a tail."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_STEPS = 100
"""Steps of the grid to which values are rounded, so that sums have an exact distribution."""


def sign_flip_p(differences: ArrayLike) -> float:
    r"""Return the two-sided mid-p of paired differences whose signs are random.

    The sum of the differences is compared with its distribution over all :math:`2^n` choices of their signs;
    half of the probability of the observed sum counts. For differences of −1, 0 and 1 this is McNemar's
    mid-p test. The number of pairs may depend on the absolute differences. Differences are rounded to 1 % of
    the largest one. Without a difference, p is 1.

    Source: Pitman (1937), J. R. Stat. Soc. Suppl. 4 (random signs); Fagerland, Lydersen and Laake (2013), BMC
    Med. Res. Methodol. 13 (mid-p of McNemar's test).

    >>> sign_flip_p([1, 1, 1, 1, 1, 0, 0]), sign_flip_p([0.0, 0.0])
    (0.03125, 1.0)
    """
    gaps = np.asarray(differences, dtype=np.float64)
    sizes = _on_grid(np.abs(gaps))
    sums = np.stack([sizes, np.zeros_like(sizes)], axis=1)
    up = int(sizes[gaps > 0].sum())
    return min(1.0, 2 * _tail(sums, max(up, int(sizes.sum()) - up)))


def old_reply_p(replies: ArrayLike, *, shift: float = 0.2) -> float:
    r"""Return the p of the hypothesis that the first reply of each row is exchangeable with the others.

    Two tests with permutations within rows: whether the first reply is farther from the others than they are
    from each other, and whether it is higher or lower (two-sided). p is the smaller one of
    :math:`p_1/(1 - s)` and :math:`p_2/s`, for s = ``shift``. Both are mid-p. ``replies`` has the shape
    (n, k); values are rounded to 1 % of the largest range of a row. If all replies of each row are equal, p
    is 1.

    Source: Good (2005), Permutation, Parametric and Bootstrap Tests of Hypotheses (permutations within
    blocks); Lancaster (1961), J. Am. Stat. Assoc. 56 (mid-p); the weights are a choice of this package.

    >>> same, changed = [[1, 1, 1]] * 20, [[0, 1, 1]] * 6
    >>> round(old_reply_p(same + changed), 4), old_reply_p(same)
    (0.0009, 1.0)
    """
    values = np.asarray(replies, dtype=np.float64)
    distances = np.abs(values[:, :, None] - values[:, None, :]).sum(axis=2)
    farther = _on_grid(distances - distances.min(axis=1, keepdims=True))
    higher = _on_grid(values - values.min(axis=1, keepdims=True))
    if not higher.any():
        return 1.0
    lower = higher.max(axis=1, keepdims=True) - higher
    p_farther, p_higher, p_lower = (_tail(each, int(each[:, 0].sum())) for each in (farther, higher, lower))
    return min(1.0, p_farther / (1 - shift), 2 * min(p_higher, p_lower) / shift)


def binomial_tail(count: int, n: int, share: float) -> float:
    """Return P(X ≥ count) for a binomial X of n trials, each with the probability ``share``.

    >>> binomial_tail(2, 2, 0.5), binomial_tail(0, 9, 0.1)
    (0.25, 1.0)
    """
    few = count <= n * share  # the shorter sum, which is also exact for 0
    ks = range(count) if few else range(count, n + 1)
    chance = sum(math.comb(n, k) * share**k * (1 - share) ** (n - k) for k in ks)
    return max(0.0, 1.0 - chance) if few else chance


def _on_grid(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Round values of at least 0 to steps of the largest one, without a common divisor."""
    largest = values.max(initial=0.0)
    if largest <= 0:
        return np.zeros(values.shape, dtype=np.int64)
    steps = np.rint(values / largest * _STEPS).astype(np.int64)
    return np.asarray(steps // np.gcd.reduce(steps, axis=None), dtype=np.int64)


def _tail(choices: NDArray[np.int64], observed: int) -> float:
    """Return P(S > observed) + P(S = observed)/2, for the sum S of one random entry of each row."""
    chances = np.ones(1)
    for row in choices[choices.any(axis=1)]:
        more = np.zeros(len(chances) + int(row.max()))
        for step in row:
            more[step : step + len(chances)] += chances / len(row)
        chances = more
    return float(chances[observed + 1 :].sum() + chances[observed] / 2)
