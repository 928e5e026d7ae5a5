"""By how much one score ranks better than another over the same rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sgi.engine.agreement.report import Estimate
from sgi.stats.ranking import bootstrap_interval
from sgi.stats.steps import Within

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def auroc_lead(
    scores: Floats,
    others: Floats,
    labels: NDArray[np.bool_],
    clusters: NDArray[np.int64],
    *,
    draws: int,
    seed: int,
) -> Estimate | None:
    """AUROC of one score less that of another, both from the same draws of clusters.

    Two scores of the same answers rise and fall together, so this interval is narrower than those of the two
    areas let suppose.

    Args:
        scores: higher = more likely true, shape (n,); rows where either score is NaN are left out.
        others: likewise, of the other score.
        labels: shape (n,).
        clusters: what belongs together, shape (n,).
        draws: of the bootstrap.
        seed: of the bootstrap; equal input gives equal bits.

    Returns:
        A value in [−1, 1]; None where a class is absent. No interval where the draws do not differ.

    Source: DeLong, DeLong and Clarke-Pearson (1988), Biometrics 44 (why to pair); Obuchowski (1997),
    Biometrics 53 (clusters).

    >>> labels = np.array([True, False, True, False])
    >>> better, worse = np.array([4.0, 1.0, 3.0, 2.0]), np.array([1.0, 2.0, 4.0, 3.0])
    >>> auroc_lead(better, worse, labels, np.arange(4), draws=50, seed=0).value
    0.5
    """
    known = ~(np.isnan(scores) | np.isnan(others))
    truth, one_stratum = labels[known], np.zeros(int(known.sum()), dtype=np.int64)
    first, second = (Within.of(column[known], truth, one_stratum) for column in (scores, others))

    def lead(_rows: Floats, _labels: NDArray[np.bool_], weights: Floats) -> float | None:
        areas = first.area(weights), second.area(weights)
        return None if areas[0] is None or areas[1] is None else areas[0] - areas[1]

    rows = np.arange(len(truth), dtype=np.float64)
    found = lead(rows, truth, np.ones(len(truth)))
    if found is None:
        return None
    # A statistic sees its rows sorted by score; with their own numbers for scores they stay where they are.
    interval = bootstrap_interval(lead, rows, truth, clusters[known], draws=draws, seed=seed)
    return Estimate(found, interval, len(truth))
