"""How many more labels a mean that is corrected by labels needs for an interval of a given width."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sgi.stats.intervals import MIN_CLUSTERS, student_quantile

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True)
class LabelPlan:
    """The number of further labels of a random sample, and the interval with them.

    Attributes:
        labelled: number of rows with a label.
        half_width: expected half-width of the present 95 % interval.
        more: number of further labels for the target; 0 if it is reached, and all other rows if these are
            not enough.
        final_half_width: expected half-width with them.
    """

    labelled: int
    half_width: float
    more: int
    final_half_width: float


def plan_labels(
    labels: ArrayLike, scores: ArrayLike, *, target: float = 0.05, present: float | None = None
) -> LabelPlan | None:
    r"""Return how many more labels the corrected mean needs for an interval of ± ``target``.

    .. math:: h(n) = t_{n-2} \sqrt{\frac{\sigma_y^2 - 2 \lambda c + \lambda^2 \sigma_f^2}{n}
        + \frac{\lambda^2 \sigma_f^2}{N - n}}, \qquad \lambda = \frac{c}{\sigma_f^2} \left(1 - \frac nN\right)

    is the expected half-width with n of N rows labelled. λ is the weight of the scores, within [0, 1]; the
    variance of labels σ_y² and their covariance c with scores are those of the rows labelled so far. This
    counts rows as independent; all half-widths are scaled so that the present one is that of its interval,
    over clusters.

    Args:
        labels: label of each row, NaN without one, shape (n,).
        scores: score of each row, shape (n,).
        target: half-width of the interval, in the unit of the labels, above 0.
        present: half-width of the present interval; None counts rows as independent.

    Returns:
        None with fewer than five labels, or if all labels so far are equal: their variance is not known yet.

    Source: Angelopoulos, Duchi and Zrnic (2023), arXiv:2311.01453 (λ and the variance).

    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random(1000)
    >>> labels = np.where(np.arange(1000) < 60, rng.random(1000) < scores, np.nan)
    >>> plan = plan_labels(labels, scores)
    >>> plan.labelled, round(plan.half_width, 2), plan.more
    (60, 0.09, 136)
    """
    truth, score = np.asarray(labels, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    known = ~np.isnan(truth)
    count, rows = int(known.sum()), len(truth)
    if count < MIN_CLUSTERS or np.ptp(truth[known]) == 0:
        return None
    (of_labels, shared), (_, _) = np.cov(truth[known], score[known])
    of_scores = float(score.var(ddof=1))

    def of_rows(labelled: int) -> float:
        others = rows - labelled
        weight = min(max(shared / of_scores, 0.0) * others / rows, 1.0) if of_scores else 0.0
        variance = (of_labels - 2 * weight * shared + weight**2 * of_scores) / labelled
        variance += weight**2 * of_scores / others if others else 0.0
        return student_quantile(0.95, labelled - 2) * math.sqrt(max(variance, 0.0))

    now = of_rows(count)
    scale = 1.0 if present is None or not now else present / now

    def half_width(labelled: int) -> float:
        return scale * of_rows(labelled)

    enough = count + bisect_left(range(count, rows), True, key=lambda n: half_width(n) <= target)  # noqa: FBT003
    return LabelPlan(count, half_width(count), enough - count, half_width(enough))
