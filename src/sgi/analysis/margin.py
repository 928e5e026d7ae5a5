"""Decides whether a system is shown to be no worse than a margin, or equal within it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from sgi.engine.summarise import on_mean_scale
from sgi.kernel.errors import UsageError
from sgi.stats.intervals import ratio_slope
from sgi.stats.paired_tests import holm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sgi.kernel.metric_column import MetricColumn
    from sgi.stats.paired_tests import PairedDifference

MarginVerdict = Literal["equal, shown", "no worse, shown", "not shown", "not tested"]

_SIGNIFICANT = 0.05


@dataclass(frozen=True)
class MarginTest:
    """Whether the new system is no worse than a margin, and whether both are equal within it.

    Attributes:
        margin: the margin, in the unit of the metric.
        p_no_worse: p of a loss of the margin or more, corrected for the number of metrics (Holm); below 0.05
            only if the 95 % interval allows no such loss.
        p_equal: the same for a loss or a gain of the margin or more: the larger p of both sides.
        verdict: ``equal, shown`` if p_equal is below 0.05, ``no worse, shown`` if p_no_worse is, otherwise
            ``not shown``; ``not tested`` without p.
    """

    margin: float
    p_no_worse: float | None
    p_equal: float | None
    verdict: MarginVerdict


def checked_margin(margin: float) -> float:
    """Return a margin; raise a UsageError if it is not finite and above 0."""
    if not 0 < margin < math.inf:
        message = f"`margin`: expected a finite number above 0, found {margin:g}."
        raise UsageError(message, hint="Give the largest loss that is acceptable, such as 0.02.")
    return margin


def margin_on_scale(
    margin: float, before: MetricColumn, after: MetricColumn, weights: NDArray[np.float64] | None = None
) -> float:
    """Return the margin on the scale of the mean: for a ratio, divided by the slope between both means.

    ``weights`` are the weights of the pairs, shape (n,); None if all have the same.
    """
    both = before.ok & after.ok
    if not after.is_ratio or not both.any():
        return margin
    mass = None if weights is None else weights[both]
    first, second = (
        float(np.average(on_mean_scale(side).values[both], weights=mass)) for side in (before, after)
    )
    return margin / ratio_slope(first, second)


def margin_tests(
    margin: float, results: Sequence[PairedDifference], higher_is_better: Sequence[bool]
) -> tuple[MarginTest, ...]:
    """Return the test of each metric, with p corrected for all of them.

    >>> from sgi.stats.paired_tests import paired_differences
    >>> first, second = [0.0, 1.0] * 500, [1.0, 0.0] + [0.0, 1.0] * 499
    >>> results = paired_differences(first, second, ranges=[1.0], margins=[0.02])
    >>> margin_tests(0.02, results, [True])[0].verdict
    'equal, shown'
    """
    worse = holm(
        [
            one.p_below if better else one.p_above
            for one, better in zip(results, higher_is_better, strict=True)
        ]
    )
    equal = holm(
        [
            None if one.p_below is None or one.p_above is None else max(one.p_below, one.p_above)
            for one in results
        ]
    )
    return tuple(
        MarginTest(margin, p_no_worse, p_equal, _verdict(p_no_worse, p_equal))
        for p_no_worse, p_equal in zip(worse, equal, strict=True)
    )


def _verdict(p_no_worse: float | None, p_equal: float | None) -> MarginVerdict:
    if p_no_worse is None or p_equal is None:
        return "not tested"
    if p_equal < _SIGNIFICANT:
        return "equal, shown"
    return "no worse, shown" if p_no_worse < _SIGNIFICANT else "not shown"
