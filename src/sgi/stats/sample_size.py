"""Power and sample size: detectable difference, and clusters needed for an interval."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sgi.stats.intervals import (
    MIN_CLUSTERS,
    clustered_standard_error,
    normal_quantile,
    unseen_share,
)
from sgi.stats.means import degrees_of_freedom, skew_corrected_interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

POWER = 0.8

_MAX_CLUSTERS = 10**9
_ROUNDING = 1e-12
_SIGNIFICANT = 0.05


def detectable_difference(
    sums: NDArray[np.float64], sizes: NDArray[np.float64], *, tests: int = 1
) -> float | None:
    r"""Return the minimum detectable difference with a power of 80 %.

    .. math:: \left(t \left(1 - \frac{1}{4\nu}\right) + z_{0.8} \sqrt{1 + \frac{t^2}{2\nu}}\right) SE

    with the clustered standard error, ν from `degrees_of_freedom`, and t the half-width of the interval at
    the level 1 − 0.05/m in standard errors, for m metrics tested together. The non-central t
    variable exceeds t with probability 0.8. The level 0.05/m is the strictest step of Holm's correction, so
    the power is a lower bound.

    ``sums`` and ``sizes`` are the sum of differences and the number of pairs of each cluster, shape (G,).

    Returns:
        None with fewer than 5 clusters or without spread.

    Source: Johnson and Welch (1940), Biometrika 31 (the non-central variable); Miller (2024),
    arXiv:2411.00640.

    >>> import numpy as np
    >>> gaps = np.array([0.1, -0.1] * 10)
    >>> one, ten = (detectable_difference(gaps, np.ones(20), tests=m) for m in (1, 10))
    >>> round(one, 3), round(ten, 3)
    (0.068, 0.094)
    """
    count, level = len(sums), _SIGNIFICANT / tests
    if count < MIN_CLUSTERS:
        return None
    error = clustered_standard_error(sums, sizes)
    if error <= _ROUNDING * abs(float(sums.sum() / sizes.sum())):
        return None
    freedom = max(degrees_of_freedom(sums, sizes), 1.0)
    interval = skew_corrected_interval(sums, sizes, 1 - level)
    critical = (interval.high - interval.low) / (2 * error)
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
    r"""Return the number of clusters (questions) with which an interval excludes a limit in 80 % of cases.

    Assumes that the true value is ``value``. With :math:`u(G) = |value - edge| (1 - \alpha^{1/G})`,
    :math:`\alpha = (1 - level)/2`, the allowance for unseen values, and
    d the distance from the value to the end of the interval of G₀ clusters, it is the smallest G with

    .. math:: u(G) + (d - u(G_0) + d z_{0.8} / z_{1-\alpha}) \sqrt{G_0 / G} \le |value - limit|

    and without u if d < u(G₀); without the part of z₀.₈ if d = u(G₀), because all values are equal.

    Args:
        value: mean, or mean difference.
        limit: value that the end of the interval must reach.
        clusters: G₀, at least 1.
        end: end of the interval on the side of the limit; None if there is no interval.
        edge: end of the metric's scale on that side (for differences: ± its width); None if unbounded.
        level: confidence level, in (0, 1).

    Returns:
        None if no number suffices, the value is on the wrong side of the limit, or there is no interval.

    >>> clusters_needed(0.0, -0.02, clusters=5, end=-0.5218, edge=-1.0)
    183
    >>> clusters_needed(0.85, 0.8, clusters=50, end=0.75)
    409
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
    spread = distance - unseen
    if spread > distance * 1e-3:  # the mean of another sample differs
        spread += distance * normal_quantile(2 * POWER - 1) / normal_quantile(level)

    def reaches(count: int) -> bool:
        return width * unseen_share(count, level) + spread * math.sqrt(clusters / count) <= margin * (
            1 + 1e-9
        )

    if not reaches(_MAX_CLUSTERS):
        return None
    few, many = 0, _MAX_CLUSTERS
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if reaches(middle) else (middle, many)
    return many
