"""Detection of errors: the share that a metric detects at a false alarm rate of 2 %."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict

from sgi.kernel.sample import RESPONSE
from sgi.stats.intervals import cluster_codes
from sgi_lab.metric_bench.measures import FEWEST_PAIRS, interval_ends, share_interval
from sgi_lab.metric_bench.perturbation import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sgi.stats.intervals import Interval
    from sgi_lab.metric_bench.perturbation import Perturbation

    Floats = NDArray[np.float64]

ALARM_RATE = 0.02
"""Greatest share of correct paraphrases above the threshold, on the rows that define it."""

_FOLDS = 10
_LEAST_FALL = 1e-7


class Falls(NamedTuple):
    """Decreases of a metric's values under one perturbation, as shares of its range, shape (n,).

    A decrease is negative if the value gets better. Rows with the same cluster share a question.
    """

    size: Floats
    clusters: NDArray[np.int64]


class Alarm(BaseModel):
    """Detection threshold of a metric, and its rate of false alarms.

    Attributes:
        metric: canonical string of the metric.
        fall: threshold as a share of the range; at most 2 % of the paraphrases that define it exceed it.
        alarms: cross-validated share of correct paraphrases above the threshold; None for too few of them.
        alarms_low: lower end of its 95 % interval.
        alarms_high: upper end of this interval.
        paraphrases: number of paraphrased rows that define the threshold.
        inert: pairs left out, from paraphrases that never change this metric's value.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    metric: str
    fall: float
    alarms: float | None
    alarms_low: float | None = None
    alarms_high: float | None = None
    paraphrases: int
    inert: int = 0


def is_paraphrase(change: Perturbation) -> bool:
    """Return whether a perturbation only rewords the answer."""
    return change.kind is Kind.HARMLESS and change.changes == RESPONSE


def threshold(paraphrases: Sequence[Falls], *, seed: int, metric: str = "") -> Alarm | None:
    """Return the smallest threshold that at most 2 % of correct paraphrases exceed; None for fewer than ten.

    On the rows that define it, the false alarm rate is at most 2 % by construction. Therefore ``alarms`` is
    cross-validated: each of ten folds of questions is compared with the threshold of the other nine.
    Paraphrases that never change the metric's value (such as white space) would dilute the rate and are left
    out.

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
    found = Alarm(metric=metric, fall=_quantile(size), alarms=None, paraphrases=pairs, inert=total - pairs)
    if alarms is None:
        return found
    ends = interval_ends("alarms_", share_interval(alarms, clusters))
    return found.model_copy(update={"alarms": float(alarms.mean())} | ends)


def _quantile(size: Floats) -> float:
    most = float(np.quantile(size, 1 - ALARM_RATE, method="higher")) if len(size) else 0.0
    return max(most, _LEAST_FALL)


def _held_out_alarms(size: Floats, clusters: NDArray[np.int64], seed: int) -> Floats | None:
    """Return 1 for each paraphrase above the threshold of the other folds, otherwise 0; None for too few."""
    codes, count = cluster_codes(clusters, len(size))
    if len(size) < FEWEST_PAIRS or count < _FOLDS:
        return None
    folds = (np.random.default_rng(seed).permutation(count) % _FOLDS)[codes]
    alarms = np.empty(len(size))
    for fold in range(_FOLDS):
        held_out = folds == fold
        alarms[held_out] = size[held_out] > _quantile(size[~held_out])
    return alarms


def detection_rate(falls: Falls, least: Alarm, *, level: float = 0.95) -> tuple[float, Interval | None]:
    """Return the share of errors above the threshold, with its interval, which takes the threshold as fixed.

    NaN in ``falls`` means that the changed row has no value, and counts as not detected.

    >>> least = Alarm(metric="sgi", fall=0.2, alarms=0.01, paraphrases=100)
    >>> detection_rate(Falls(np.array([0.0, 0.3]), np.arange(2)), least)
    (0.5, None)
    """
    detected = (falls.size > least.fall).astype(np.float64)
    return float(detected.mean()), share_interval(detected, falls.clusters, level=level)
