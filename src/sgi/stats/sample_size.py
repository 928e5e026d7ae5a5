"""How many clusters a comparison or a gate needs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sgi.stats.intervals import (
    clustered_error,
    effective_clusters,
    normal_quantile,
    student_quantile,
    unseen_share,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FEWEST_DETECTABLE = 6
"""From fewer clusters no sign-flip test finds anything at 5 %: p is at least 2/2⁵."""

POWER = 0.8

_MOST = 10**9
_ROUNDING = 1e-12
_SIGNIFICANT = 0.05


def detectable_difference(
    sums: NDArray[np.number], sizes: NDArray[np.number], *, tests: int = 1, draws: int | None = None
) -> float | None:
    r"""The least true difference that is found in four of five studies like this one.

    .. math:: \left(t \left(1 - \frac{1}{4\nu}\right) + z_{0.8} \sqrt{1 + \frac{t^2}{2\nu}}\right) SE,
        \qquad t = t_{1 - 0.025/m,\,\nu}

    with the clustered standard error, ν one less than the effective number of clusters, and m metrics
    that are tested together. It is where Student's non-central variable exceeds t with probability 0.8. The
    level 0.05/m is that of Holm's strictest step, so the power holds even if no other metric differs; where
    others differ too it is higher.

    Args:
        sums: the sum of differences in each cluster, shape (G,).
        sizes: pairs of each cluster, at least 1, shape (G,).
        tests: m, how many metrics are tested together, at least 1.
        draws: how many random sign flips the test makes; None where it does not draw.

    Returns:
        None from fewer than 6 clusters, and where no p of the sign-flip test can be below 0.05/m: it is at
        least 2/2^G, and at least 1/(draws + 1). None also where the differences have no spread.

    Source: Johnson and Welch (1940), Biometrika 31 (the non-central variable); Miller (2024),
    arXiv:2411.00640.

    >>> import numpy as np
    >>> gaps = np.array([0.1, -0.1] * 10)
    >>> one, ten = (detectable_difference(gaps, np.ones(20), tests=m) for m in (1, 10))
    >>> round(one, 3), round(ten, 3)
    (0.068, 0.094)
    """
    count, level = len(sums), _SIGNIFICANT / tests
    least = max(2.0 ** (1 - count), 0.0 if draws is None else 1 / (draws + 1))
    if count < FEWEST_DETECTABLE or least >= level:
        return None
    error, freedom = clustered_error(sums, sizes), max(effective_clusters(sizes) - 1, 1.0)
    if error <= _ROUNDING * abs(float(sums.sum() / sizes.sum())):
        return None
    critical = student_quantile(1 - level, freedom)
    power = normal_quantile(2 * POWER - 1) * math.sqrt(1 + critical**2 / (2 * freedom))
    return (critical * (1 - 1 / (4 * freedom)) + power) * error


def clusters_needed(
    value: float,
    limit: float,
    *,
    clusters: int,
    end: float | None,
    edge: float | None = None,
    level: float = 0.95,
) -> int | None:
    r"""How many clusters (questions) an interval needs so that its end reaches a limit.

    It assumes that the value stays as it is. With :math:`u(G) = |value - edge| (1 - \alpha^{1/G})`,
    :math:`\alpha = (1 - level)/2`, the part of the interval that allows for values that were not seen, and
    d the distance from the value to the end of the interval of G₀ clusters, it is the smallest G with

    .. math:: u(G) + (d - u(G_0)) \sqrt{G_0 / G} \le |value - limit|

    and without u where d is shorter than u(G₀). If all values are equal only u counts.

    Args:
        value: the mean, or the mean difference.
        limit: what the end of the interval must reach.
        clusters: G₀, at least 1.
        end: the end of the interval on the limit's side; None if there is no interval.
        edge: the end of the metric's scale on that side, for differences minus or plus the width of the
            scale; None if there is none.
        level: of the interval, in (0, 1).

    Returns:
        None where no number suffices or it cannot be known: the value is not on the right side of the limit,
        or there is no interval.

    No pair of five changed; the limit is a loss of 0.02:

    >>> clusters_needed(0.0, -0.02, clusters=5, end=-0.5218, edge=-1.0)
    183
    >>> clusters_needed(0.85, 0.8, clusters=50, end=0.75)
    200
    """
    if end is None:
        return None
    distance, margin = abs(value - end), abs(value - limit)
    if (value > limit) != (value > end) or margin == 0 or value == end:
        return None

    width = 0.0 if edge is None else abs(value - edge)
    unseen = width * unseen_share(clusters, level)
    if distance < unseen * (1 - 1e-3):
        width = unseen = 0.0

    def reaches(count: int) -> bool:
        spread = max(0.0, distance - unseen) * math.sqrt(clusters / count)
        return width * unseen_share(count, level) + spread <= margin * (1 + 1e-9)

    if not reaches(_MOST):
        return None
    few, many = 0, _MOST
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if reaches(middle) else (middle, many)
    return many
