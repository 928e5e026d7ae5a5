"""Ratios on a bounded scale, so that no single row dominates their mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def bounded_ratio(ratios: ArrayLike) -> NDArray[np.float64]:
    r"""Convert ratios v = a/b in [0, ∞) to shares a/(a + b) = v / (1 + v), in [0, 1); NaN stays NaN.

    The scale is monotone and symmetric: v and 1/v have shares that add up to 1.

    >>> bounded_ratio([0.0, 1.0, 3.0]).tolist()
    [0.0, 0.5, 0.75]
    """
    values = np.asarray(ratios, dtype=np.float64)
    # A ratio above 1e16 would round to a share of 1.
    return np.minimum(values / (1.0 + values), np.nextafter(1.0, 0.0))


def ratio_of(share: float) -> float:
    """Return the ratio v = s/(1 − s) of a share s in [0, 1); infinite for s = 1.

    >>> ratio_of(0.75), ratio_of(1.0)
    (3.0, inf)
    """
    return share / (1.0 - share) if share < 1.0 else float("inf")


def ratio_slope(first: float, second: float) -> float:
    r"""Return the slope of the ratio over the share, between two shares in [0, 1).

    .. math:: k = \frac{v_2 - v_1}{s_2 - s_1} = \frac{1}{(1 - s_1)(1 - s_2)}

    This is the slope of the secant; for equal shares, that of the tangent.

    >>> ratio_slope(0.5, 0.75) == (ratio_of(0.75) - ratio_of(0.5)) / 0.25
    True
    """
    return 1.0 / ((1.0 - first) * (1.0 - second))
