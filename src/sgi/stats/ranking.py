"""How well scores rank positive rows above negative ones: AUROC, average precision, false positive rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sgi.stats.auroc_intervals import auroc_interval
from sgi.stats.intervals import Interval, NoInterval, interval_or_none
from sgi.stats.rank_counts import Steps, row_weights, scores_and_truths

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Ranking:
    """How well scores rank positive rows above negative ones.

    Attributes:
        auroc: the area under the ROC curve, in [0, 1]; 0.5 is chance.
        interval: of that area; None where no interval covers it.
        positives: how many rows are positive.
        negatives: how many rows are negative.
        no_interval: why there is no interval; empty where there is one.
    """

    auroc: float
    interval: Interval | None
    positives: int
    negatives: int
    no_interval: str = ""

    @classmethod
    def of(cls, auroc: float, interval: Interval | NoInterval, positives: int, negatives: int) -> Ranking:
        """A ranking with its interval, or with the reason why there is none."""
        reason = interval.reason if isinstance(interval, NoInterval) else ""
        return cls(auroc, interval_or_none(interval), positives, negatives, reason)


def ranking(
    scores: ArrayLike, labels: ArrayLike, clusters: ArrayLike | None = None, *, level: float = 0.95
) -> Ranking | None:
    """AUROC, its interval and the counts; see `auroc` and `auroc_interval`.

    Args:
        scores: higher = more likely positive, shape (n,).
        labels: true or false (or 1 and 0), shape (n,).
        clusters: rows with the same value are dependent, shape (n,).
        level: in (0, 1).

    Returns:
        None where a class is absent.

    Raises:
        ValueError: as for `auroc_interval`.

    Source: Hanley and McNeil (1982), Radiology 143.

    >>> ranking([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1]).auroc
    0.75
    """
    column, truth = scores_and_truths(scores, labels)
    area = auroc(column, truth)
    if area is None:
        return None
    interval = auroc_interval(column, truth, clusters, level=level)
    return Ranking.of(area, interval, int(truth.sum()), int((~truth).sum()))


def auroc(scores: ArrayLike, labels: ArrayLike, weights: ArrayLike | None = None) -> float | None:
    """The chance that a true row scores above a false one, ties counting half.

    AUROC = (#{s⁺ > s⁻} + ½·#{s⁺ = s⁻}) / (n⁺·n⁻), which is the area under the ROC curve; a row of weight w
    counts w times.

    Args:
        scores: higher = more likely true, shape (n,); not NaN.
        labels: true or false (or 1 and 0), shape (n,).
        weights: finite and not negative, shape (n,); whole numbers give the very bits of rows written out.

    Returns:
        A value in [0, 1]; None where a class is absent or has no weight.

    Raises:
        ValueError: a score is NaN, a label is neither true nor false, a weight is no weight, or lengths
            differ.

    Source: Mann and Whitney (1947); Hanley and McNeil (1982), Radiology 143.

    >>> auroc([0.1, 0.4, 0.4, 0.8], [False, False, True, True])
    0.875
    """
    true, false = _sums(scores, labels, weights)
    if not (true.any() and false.any()):
        return None
    # The steps hold the sums of both classes from the lowest score to the highest.
    below = np.cumsum(false)
    pairs = np.einsum("i,i->", true, 2.0 * below - false)
    return float(pairs / (2.0 * true.sum() * below[-1]))


def average_precision(scores: ArrayLike, labels: ArrayLike, weights: ArrayLike | None = None) -> float | None:
    """How clean a list is that goes down the scores, averaged over the true rows that it finds.

    AP = Σ_k (R_k − R_{k−1})·P_k over the thresholds from the highest score down, P_k and R_k being precision
    and recall of what scores no less; rows of one score come at once, and nothing is interpolated. Scores
    without information have about the share of true rows, so an AP says little without that share beside it.

    Args:
        scores: higher = more likely true, shape (n,); not NaN.
        labels: true or false (or 1 and 0), shape (n,).
        weights: as in `auroc`.

    Returns:
        A value in (0, 1]; None where a class is absent or has no weight.

    Raises:
        ValueError: as for `auroc`.

    Source: Davis and Goadrich (2006), ICML (why not to interpolate); Boyd, Eng and Page (2013), ECML PKDD.

    >>> round(average_precision([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1]), 4)
    0.8333
    """
    true, false = _sums(scores, labels, weights)
    if not (true.any() and false.any()):
        return None
    found = np.cumsum(true[::-1])
    # Steps without true rows add no recall, and the first ones may hold no weight at all.
    steps = np.flatnonzero(true[::-1])
    precision = found[steps] / (found[steps] + np.cumsum(false[::-1])[steps])
    return float(np.einsum("i,i->", true[::-1][steps], precision) / found[-1])


def fpr_at_recall(
    scores: ArrayLike, labels: ArrayLike, recall: float = 0.95, weights: ArrayLike | None = None
) -> float | None:
    """The share of false rows that is taken for true where that share of the true ones is found.

    The least false positive rate of all thresholds "score no less than t" whose true positive rate reaches
    ``recall``: a step of the ROC curve, never a point between two.

    Args:
        scores: higher = more likely true, shape (n,); not NaN.
        labels: true or false (or 1 and 0), shape (n,).
        recall: the share of true rows to find, in (0, 1].
        weights: as in `auroc`.

    Returns:
        A value in [0, 1], 0 being best; None where a class is absent or has no weight.

    Raises:
        ValueError: as for `auroc`, or recall is out of range.

    Source: Liang, Li and Srikant (2018), ICLR, from whom detectors have the rate at 95 %.

    >>> fpr_at_recall([0.9, 0.8, 0.7, 0.6, 0.1], [1, 0, 1, 0, 0])
    0.3333333333333333
    """
    if not 0.0 < recall <= 1.0:
        raise ValueError(f"A recall of {recall} lies not in (0, 1].")
    true, false = _sums(scores, labels, weights)
    if not (true.any() and false.any()):
        return None
    found, mistaken = np.cumsum(true[::-1]), np.cumsum(false[::-1])
    # A quotient of whole numbers is the float nearest to it, so that 19 of 20 do reach 0.95.
    reached = int(np.argmax(found / found[-1] >= recall))
    return float(mistaken[reached] / mistaken[-1])


def _sums(
    scores: ArrayLike, labels: ArrayLike, weights: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The weight of true and of false rows on each step, lowest score first."""
    column, truth = scores_and_truths(scores, labels)
    weight = row_weights(weights, len(column))
    steps = Steps.of(column)
    return steps.sums(weight * truth), steps.sums(weight * ~truth)
