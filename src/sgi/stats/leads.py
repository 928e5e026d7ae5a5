"""By how much one score ranks better than another over the same rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sgi.stats.draws import clusters_of_the_rarer, differ, drawn_values, interval_of_draws
from sgi.stats.intervals import check_draws, cluster_codes
from sgi.stats.steps import Within, values_and_truths

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from sgi.stats.intervals import Interval


@dataclass(frozen=True)
class Lead:
    """By how much one score ranks better than another.

    Attributes:
        value: AUROC of the one less that of the other, in [−1, 1].
        interval: of that difference; None where the draws show no spread, or the rows are too few.
        rows: how many it is over.
    """

    value: float
    interval: Interval | None
    rows: int


def auroc_lead(
    scores: ArrayLike,
    others: ArrayLike,
    labels: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    level: float = 0.95,
    draws: int = 1000,
    seed: int = 0,
) -> Lead | None:
    """AUROC of one score less that of another, both from the same draws of clusters.

    Two scores of the same answers rise and fall together, so this interval is narrower than those of the two
    areas let suppose.

    Args:
        scores: higher = more likely true, shape (n,); rows where either score is NaN are left out.
        others: likewise, of the other score.
        labels: true or false (or 1 and 0), shape (n,).
        clusters: what belongs together (say, the same question), shape (n,); None if nothing does.
        level: in (0, 1).
        draws: of the bootstrap.
        seed: of the bootstrap; equal input gives equal bits.

    Returns:
        None where a class is absent. There is no interval where the draws do not differ, or a class stands in
        one cluster only.

    Raises:
        ValueError: a label is neither true nor false, lengths differ, or level or draws are out of range.

    Source: DeLong, DeLong and Clarke-Pearson (1988), Biometrics 44 (why to pair); Obuchowski (1997),
    Biometrics 53 (clusters).

    >>> auroc_lead([4, 1, 3, 2], [1, 2, 4, 3], [1, 0, 1, 0]).value
    0.5
    """
    (column, truth), (other, _) = values_and_truths(scores, labels), values_and_truths(others, labels)
    check_draws(level, draws)
    codes, _ = cluster_codes(clusters, len(column))
    known = ~(np.isnan(column) | np.isnan(other))
    truth, codes = truth[known], np.unique(codes[known], return_inverse=True)[1]
    one_stratum = np.zeros(len(truth), dtype=np.int64)
    first, second = (Within.of(values[known], truth, one_stratum) for values in (column, other))

    def lead(weights: NDArray[np.float64]) -> float | None:
        areas = first.area(weights), second.area(weights)
        return None if areas[0] is None or areas[1] is None else areas[0] - areas[1]

    found = lead(np.ones(len(truth)))
    if found is None:
        return None
    if clusters_of_the_rarer(codes, truth) < 2:  # noqa: PLR2004 - one cluster has no spread
        return Lead(found, None, len(truth))
    values = drawn_values(lead, codes, draws, seed)
    interval = interval_of_draws(values, level, "one class only") if differ(values) else None
    return Lead(found, interval, len(truth))
