"""Detection of errors: the share that a metric detects when 2 in 100 paraphrases may be false alarms."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sgi.bench.measures import FEWEST_PAIRS, share_interval
from sgi.bench.perturbation import Kind
from sgi.kernel.sample import RESPONSE
from sgi.stats.intervals import cluster_codes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sgi.bench.perturbation import Perturbation
    from sgi.stats.intervals import Interval

    Floats = NDArray[np.float64]

ALARM_RATE = 0.02
"""The share of correct paraphrases that may fall further than the threshold, on the rows that set it."""

_FOLDS = 10
_LEAST_FALL = 1e-7


class Falls(NamedTuple):
    """How far a metric's values fall under one perturbation.

    Attributes:
        size: as shares of the metric's range, shape (n,); negative where a value gets better.
        clusters: rows that share a question have the same number, shape (n,).
    """

    size: Floats
    clusters: NDArray[np.int64]


class Threshold(NamedTuple):
    """The fall of a metric's value above which a row counts as detected.

    Attributes:
        fall: as a share of the metric's range.
        alarms: the share of correct paraphrases that fall further than a threshold set on other questions;
            None if there are too few.
        interval: 95 % interval of ``alarms``.
        paraphrases: the pairs that set the threshold.
        inert: pairs left out, of paraphrases that change the metric's value in no row.
    """

    fall: float
    alarms: float | None
    interval: Interval | None
    paraphrases: int
    inert: int


def is_paraphrase(change: Perturbation) -> bool:
    """Whether a perturbation puts the same answer in other words.

    >>> from sgi.bench.catalogue import PERTURBATIONS
    >>> is_paraphrase(PERTURBATIONS["synonyms"]), is_paraphrase(PERTURBATIONS["passages_shuffled"])
    (True, False)
    """
    return change.kind is Kind.HARMLESS and change.changes == RESPONSE


def threshold(paraphrases: Sequence[Falls], *, seed: int) -> Threshold | None:
    """The least fall that at most 2 in 100 correct paraphrases exceed; None of fewer than ten.

    On the rows that set it, the rate of false alarms is at most 2 % by construction. So ``alarms`` is
    cross-fitted: the questions are dealt into ten folds, and the paraphrases of each fold are compared with
    the threshold of the other nine. A paraphrase that changes the metric's value in no row (white space, for
    a metric that ignores it) cannot raise an alarm. It would only dilute the rate, so it is left out.

    Args:
        paraphrases: one for each perturbation that makes such.
        seed: of the dealing.

    >>> falls = Falls(np.array([0.0] * 97 + [0.1, 0.2, 0.3]), np.arange(100))
    >>> found = threshold([falls, Falls(np.zeros(50), np.arange(50))], seed=0)
    >>> found.fall, found.alarms, found.paraphrases, found.inert
    (0.2, 0.02, 100, 50)
    """
    moving = [one for one in paraphrases if (np.abs(one.size) > _LEAST_FALL).any()]
    total, pairs = (sum(len(one.size) for one in some) for some in (paraphrases, moving))
    if total < FEWEST_PAIRS:
        return None
    size = np.concatenate([np.zeros(0), *(one.size for one in moving)])
    clusters = np.concatenate([np.zeros(0, np.int64), *(one.clusters for one in moving)])
    alarms = _held_out_alarms(size, clusters, seed)
    rate = None if alarms is None else float(alarms.mean())
    interval = None if alarms is None else share_interval(alarms, clusters)
    return Threshold(_quantile(size), rate, interval, pairs, total - pairs)


def _quantile(size: Floats) -> float:
    most = float(np.quantile(size, 1 - ALARM_RATE, method="higher")) if len(size) else 0.0
    return max(most, _LEAST_FALL)


def _held_out_alarms(size: Floats, clusters: NDArray[np.int64], seed: int) -> Floats | None:
    """1 for each paraphrase that falls further than the threshold of the other folds, else 0; or None."""
    codes, count = cluster_codes(clusters, len(size))
    if len(size) < FEWEST_PAIRS or count < _FOLDS:
        return None
    folds = (np.random.default_rng(seed).permutation(count) % _FOLDS)[codes]
    alarms = np.empty(len(size))
    for fold in range(_FOLDS):
        held_out = folds == fold
        alarms[held_out] = size[held_out] > _quantile(size[~held_out])
    return alarms


def seen(falls: Falls, least: Threshold, *, level: float = 0.95) -> tuple[float, Interval | None]:
    """The share of errors under which a metric falls by more than the threshold, and its interval.

    The interval takes the threshold as fixed.

    Args:
        falls: under the error, at least one; NaN where there is no value any more, which is not seen.
        least: the fall that counts.
        level: of the interval.

    >>> seen(Falls(np.array([0.0, 0.3]), np.arange(2)), Threshold(0.2, 0.01, None, 100, 0))
    (0.5, None)
    """
    counted = (falls.size > least.fall).astype(np.float64)
    return float(counted.mean()), share_interval(counted, falls.clusters, level=level)
