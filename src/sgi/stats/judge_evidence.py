"""Evidence on the balanced accuracy of a judge with yes/no verdicts, valid after every label.

The balanced accuracy is BA = (sensitivity + specificity)/2. Labels are a random sample, of all rows or of the
rows of each verdict. Given the verdicts, a label agrees with a verdict of yes with the probability PPV, and
with a verdict of no with the probability NPV.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

TRUSTED_ABOVE = 0.75
"""A judge with this balanced accuracy or less is called TRUSTED in at most 5 % of audits."""
GOOD_FROM = 0.9
"""A judge with this balanced accuracy or more is called NOT TRUSTED in at most 5 % of audits."""
PLANNED_LABELS = 80
"""Number of labels at which the threshold of the evidence for a judge is lowest."""
VILLE = 20.0
"""Ville's inequality: P(the evidence ever reaches 1/α) ≤ α."""

_MIN_PROBABILITY = 1e-12
# Width of the dip of the threshold, and how far the labels may be from a random or an equal sample there.
_DIP_REACH = 20
_MAX_IMBALANCE = 0.1
# Least threshold for balanced verdicts, where it starts to rise, and how fast.
_DIP, _DIP_FROM, _DIP_SLOPE = 1.4, 0.33, 20.0
# Shares of good rows from 0.27 to 0.73 have five times the weight in the alternative.
_USUAL, _USUAL_WEIGHT = 0.23, 5.0


class _Side(NamedTuple):
    """A null hypothesis about J = 2·BA − 1, and the value of J that it is tested against."""

    null: float
    alternative: float
    sign: int  # 1: the null hypothesis is J ≤ null; −1: J ≥ null


_FOR = _Side(2 * TRUSTED_ABOVE - 1, 2 * GOOD_FROM - 1, 1)
_AGAINST = _Side(2 * GOOD_FROM - 1, 2 * TRUSTED_ABOVE - 1, -1)
_ANGLES = (np.arange(256) + 0.5) * np.pi / 256


def _good_shares(share: Floats, j: float) -> Floats:
    """Return the possible shares of good rows where sensitivity + specificity − 1 = j; dense at both ends."""
    low, high = np.maximum(0.0, 1 - (1 - share) / j), np.minimum(1.0, share / j)
    return np.asarray(low + (high - low) * np.sin(_ANGLES / 2) ** 2)


def _log_curve(share: Floats, j: float) -> tuple[Floats, Floats, Floats, Floats]:
    """Return log PPV, log(1 − PPV), log NPV, log(1 − NPV) at these shares of good rows."""
    good = _good_shares(share, j)
    return _logs(good * (share + (1 - good) * j) / share, (1 - good) * (1 - share + good * j) / (1 - share))


def _logs(ppv: Floats, npv: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    ppv, npv = (np.clip(each, _MIN_PROBABILITY, 1 - _MIN_PROBABILITY) for each in (ppv, npv))
    return np.log(ppv), np.log1p(-ppv), np.log(npv), np.log1p(-npv)


def youden(ppv: Floats, npv: Floats, share: Floats) -> Floats:
    """Return sensitivity + specificity − 1 = r(1 − r)(PPV + NPV − 1) / (π(1 − π)); 0 for one class only."""
    good = share * ppv + (1 - share) * (1 - npv)
    spread = good * (1 - good)
    return np.divide(
        share * (1 - share) * (ppv + npv - 1), spread, out=np.zeros_like(spread), where=spread > 0
    )


def _fit(counts: Floats, logs: tuple[Floats, Floats, Floats, Floats]) -> Floats:
    """Return the log likelihood of counts, shape (..., 4), at points, on the last axis."""
    return sum((counts[..., [i]] * log for i, log in enumerate(logs)), np.zeros(1))


def _log_alternative(counts: Floats, share: Floats, j: float) -> Floats:
    """Return the logarithm of the mean likelihood over the curve of j."""
    good = _good_shares(share, j)
    weights = np.sin(_ANGLES) * np.where(np.abs(good - 0.5) < _USUAL, _USUAL_WEIGHT, 1.0)
    weights /= weights.sum(axis=-1, keepdims=True)
    logs = _fit(counts, _log_curve(share, j))
    top = logs.max(axis=-1, keepdims=True)
    return np.asarray(top[..., 0] + np.log((np.exp(logs - top) * weights).sum(axis=-1)))


def log_evidence(counts: ArrayLike, share_yes: ArrayLike, *, against: bool = False) -> Floats:
    r"""Return the logarithm of the evidence that BA is above 0.75 (or, ``against``, that it is below 0.9).

    .. math:: S = \min_{\theta \in H_0} \frac{\int L(\theta')\,dw(\theta')}{L(\theta)}, \quad
        L(p, q) = p^{a}(1-p)^{b} q^{c}(1-q)^{d}

    p is the PPV, q the NPV, and a, b, c, d are the counts. H₀ are all (p, q) with BA ≤ 0.75 (≥ 0.9), for a
    known share r of verdicts yes; w is a density over the share of good rows where BA = 0.9 (0.75), five
    times as large from 0.27 to 0.73 as elsewhere. At every point of H₀, the ratio is a martingale, so
    P(S ever reaches 20) ≤ 5 %, for labels in any order that does not depend on labels to come.

    Args:
        counts: right_yes, wrong_yes, right_no and wrong_no on the last axis, shape (..., 4).
        share_yes: r, in (0, 1), shape (...).
        against: test BA ≥ 0.9 instead of BA ≤ 0.75.

    Source: Ville (1939); Wasserman, Ramdas and Balakrishnan (2020), PNAS 117 (universal inference).

    >>> float(np.exp(log_evidence([19, 1, 19, 1], 0.5)).round(1))
    84.5
    >>> float(np.exp(log_evidence([14, 6, 14, 6], 0.5)).round(4))
    0.0007
    """
    table, share = np.asarray(counts, dtype=np.float64), np.asarray(share_yes, dtype=np.float64)[..., None]
    side = _AGAINST if against else _FOR
    # {BA ≤ 0.75} is convex in (p, q) and log L is concave: the maximum is at the estimate or on the boundary.
    # Without labels of a verdict, its rate is free: the estimate is then the one that favours H₀.
    free = 0.0 if side.sign > 0 else 1.0
    ppv, npv = (
        np.divide(right, right + wrong, out=np.full(right.shape, free), where=right + wrong > 0)
        for right, wrong in ((table[..., [i]], table[..., [i + 1]]) for i in (0, 2))
    )
    inside = side.sign * (youden(ppv, npv, share) - side.null) <= 0
    boundary = _fit(table, _log_curve(share, side.null)).max(axis=-1, keepdims=True)
    best = np.where(inside, _fit(table, _logs(ppv, npv)), boundary)[..., 0]
    return _log_alternative(table, share, side.alternative) - best


def needed_evidence(counts: ArrayLike, share_yes: ArrayLike) -> Floats:
    """Return the evidence for a judge that TRUSTED needs; arguments as in `log_evidence`.

    The threshold is 20, but lower from 60 to 100 labels, and lowest at 80: the final look of a study planned
    with 80 labels. There the error is limited by an exact computation, not by Ville's inequality alone; it is
    at most 5 % together with all other looks, for a random sample of the rows or equal numbers by verdict.

    >>> float(needed_evidence([20, 10, 20, 10], 0.5))
    20.0
    >>> float(needed_evidence([30, 10, 30, 10], 0.5).round(1))
    1.4
    """
    table, share = np.asarray(counts, dtype=np.float64), np.asarray(share_yes, dtype=np.float64)
    labels = np.maximum(table.sum(axis=-1), 1.0)
    part = table[..., :2].sum(axis=-1) / labels
    rarer = np.minimum(share, 1 - share)
    lowest = np.minimum(VILLE, _DIP + _DIP_SLOPE * np.maximum(0.0, _DIP_FROM - rarer))
    near = np.maximum(0.0, 1 - np.abs(labels - PLANNED_LABELS) / _DIP_REACH)
    usual = (part >= np.minimum(share, 0.5) - _MAX_IMBALANCE) & (
        part <= np.maximum(share, 0.5) + _MAX_IMBALANCE
    )
    return np.asarray(VILLE * (lowest / VILLE) ** np.where(usual, near, 0.0))
