"""How many clusters a comparison or a gate needs."""

from __future__ import annotations

import math

from sgi.stats.intervals import unseen_share

_MOST = 10**9


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
