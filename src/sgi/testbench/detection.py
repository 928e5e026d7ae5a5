"""Errors against correct paraphrases: how many a metric sees when it may be wrong twice in a hundred."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sgi.kernel.sample import RESPONSE
from sgi.testbench.measures import FEWEST_PAIRS, share_interval
from sgi.testbench.perturbation import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sgi.stats.intervals import Interval
    from sgi.testbench.perturbation import Perturbation

    Floats = NDArray[np.float64]

ALARM_RATE = 0.02
"""The greatest share of correct paraphrases whose fall may count as an error."""

_LEAST_FALL = 1e-7


class Threshold(NamedTuple):
    """From which fall on a metric's value tells of an error.

    Attributes:
        fall: as a share of the metric's range; what falls further counts.
        alarms: the share of correct paraphrases that do so.
        paraphrases: how many there were.
    """

    fall: float
    alarms: float
    paraphrases: int


def is_paraphrase(change: Perturbation) -> bool:
    """Whether a perturbation puts the same answer in other words.

    >>> from sgi.testbench.catalogue import PERTURBATIONS
    >>> is_paraphrase(PERTURBATIONS["synonyms"]), is_paraphrase(PERTURBATIONS["passages_shuffled"])
    (True, False)
    """
    return change.kind is Kind.HARMLESS and change.changes == RESPONSE


def threshold(falls: Sequence[Floats]) -> Threshold | None:
    """The least fall that at most two in a hundred correct paraphrases exceed; None of fewer than ten.

    Every metric is held to the same rate of false alarms, so that one that moves with every word gains
    nothing by it.

    Args:
        falls: of the values under each paraphrase, as shares of the metric's range, shape (n,) each.

    >>> threshold([np.array([0.0] * 97 + [0.1, 0.2, 0.3])])
    Threshold(fall=0.2, alarms=0.01, paraphrases=100)
    """
    pooled = np.concatenate([np.zeros(0), *falls])
    if len(pooled) < FEWEST_PAIRS:
        return None
    fall = max(float(np.quantile(pooled, 1 - ALARM_RATE, method="higher")), _LEAST_FALL)
    return Threshold(fall, float((pooled > fall).mean()), len(pooled))


def seen(falls: Floats, least: Threshold, clusters: NDArray[np.int64]) -> tuple[float, Interval | None]:
    """The share of errors under which a metric falls by more than correct paraphrases do, and its interval.

    Args:
        falls: of the values under the error, as shares of the metric's range, shape (n,), n at least 1; NaN
            where there is no value any more, which is not seen.
        least: the fall that counts.
        clusters: which rows share a question, shape (n,).

    >>> seen(np.array([0.0, 0.3]), Threshold(0.2, 0.01, 100), np.arange(2))
    (0.5, None)
    """
    counted = (falls > least.fall).astype(np.float64)
    return float(counted.mean()), share_interval(counted, clusters)
