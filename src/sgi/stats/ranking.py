"""Ranking statistics: AUROC, average precision, false positive rate at a recall."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sgi.stats.auroc_intervals import TieGroups, auroc_interval, row_weights, scores_and_labels
from sgi.stats.intervals import Interval, NoInterval, interval_or_none

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Ranking:
    """AUROC with its interval and row counts.

    Attributes:
        auroc: area under the ROC curve, in [0, 1]; 0.5 is chance.
        interval: confidence interval; None if it cannot be computed.
        positives: number of positive rows.
        negatives: number of negative rows.
        no_interval: why there is no interval; empty if there is one.
    """

    auroc: float
    interval: Interval | None
    positives: int
    negatives: int
    no_interval: str = ""

    @classmethod
    def of(cls, auroc: float, interval: Interval | NoInterval, positives: int, negatives: int) -> Ranking:
        """Return a ranking with its interval, or the reason why there is none."""
        reason = interval.reason if isinstance(interval, NoInterval) else ""
        return cls(auroc, interval_or_none(interval), positives, negatives, reason)


def ranking(
    scores: ArrayLike, labels: ArrayLike, clusters: ArrayLike | None = None, *, level: float = 0.95
) -> Ranking | None:
    """Compute AUROC, its interval and the row counts; None if a class is absent. See `auroc_interval`.

    >>> ranking([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1]).auroc
    0.75
    """
    column, truth = scores_and_labels(scores, labels)
    area = auroc(column, truth)
    if area is None:
        return None
    interval = auroc_interval(column, truth, clusters, level=level)
    return Ranking.of(area, interval, int(truth.sum()), int((~truth).sum()))


def auroc(scores: ArrayLike, labels: ArrayLike, weights: ArrayLike | None = None) -> float | None:
    """Return the probability that a true row scores above a false one, in [0, 1]; ties count half.

    AUROC = (#{s⁺ > s⁻} + ½·#{s⁺ = s⁻}) / (n⁺·n⁻), the area under the ROC curve. ``weights`` are finite and
    not negative, shape (n,); integer weights give the same bits as repeated rows. None if a class is absent
    or has no weight.

    Source: Mann and Whitney (1947); Hanley and McNeil (1982), Radiology 143.

    >>> auroc([0.1, 0.4, 0.4, 0.8], [False, False, True, True])
    0.875
    """
    true, false = _sums(scores, labels, weights)
    if not (true.any() and false.any()):
        return None
    below = np.cumsum(false)
    pairs = np.einsum("i,i->", true, 2.0 * below - false)
    return float(pairs / (2.0 * true.sum() * below[-1]))


def average_precision(scores: ArrayLike, labels: ArrayLike, weights: ArrayLike | None = None) -> float | None:
    """Return the average precision, without interpolation, in (0, 1].

    AP = Σ_k (R_k − R_{k−1})·P_k over all thresholds from the highest score down, with precision P_k and
    recall R_k. Uninformative scores reach about the share of true rows, so report that share beside it.
    Weights and None are as for `auroc`.

    Source: Davis and Goadrich (2006), ICML (why not to interpolate); Boyd, Eng and Page (2013), ECML PKDD.

    >>> round(average_precision([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1]), 4)
    0.8333
    """
    true, false = _sums(scores, labels, weights)
    if not (true.any() and false.any()):
        return None
    result = np.cumsum(true[::-1])
    # TieGroups without true rows add no recall, and the first ones may hold no weight at all.
    steps = np.flatnonzero(true[::-1])
    precision = result[steps] / (result[steps] + np.cumsum(false[::-1])[steps])
    return float(np.einsum("i,i->", true[::-1][steps], precision) / result[-1])


def fpr_at_recall(
    scores: ArrayLike, labels: ArrayLike, recall: float = 0.95, weights: ArrayLike | None = None
) -> float | None:
    """Return the false positive rate at a given recall, in [0, 1]; 0 is best.

    The smallest false positive rate of all thresholds whose recall is at least ``recall``, without
    interpolation of the ROC curve. Weights and None are as for `auroc`.

    Source: Liang, Li and Srikant (2018), ICLR, for the rate at 95 % recall.

    >>> fpr_at_recall([0.9, 0.8, 0.7, 0.6, 0.1], [1, 0, 1, 0, 0])
    0.3333333333333333
    """
    if not 0.0 < recall <= 1.0:
        raise ValueError(f"`recall` must be in (0, 1], not {recall}.")
    true, false = _sums(scores, labels, weights)
    if not (true.any() and false.any()):
        return None
    result, mistaken = np.cumsum(true[::-1]), np.cumsum(false[::-1])
    # The quotient of two integers is correctly rounded, so 19 of 20 reaches 0.95.
    reached = int(np.argmax(result / result[-1] >= recall))
    return float(mistaken[reached] / mistaken[-1])


def _sums(
    scores: ArrayLike, labels: ArrayLike, weights: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weight of true and of false rows in each tie group, lowest score first."""
    column, truth = scores_and_labels(scores, labels)
    weight = row_weights(weights, len(column))
    groups = TieGroups.of(column)
    return groups.sums(weight * truth), groups.sums(weight * ~truth)
