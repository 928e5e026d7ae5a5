"""Means and differences of ratios: computed on the bounded scale v/(1+v), given in the ratio's own unit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sgi.geometry.passages import VERBATIM_ANGLE
from sgi.kernel.registry import metric_name
from sgi.stats.intervals import NoInterval, interval_or_none
from sgi.stats.ratios import bounded_ratio, ratio_of, ratio_slope

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sgi.analysis.compare import MetricComparison
    from sgi.engine.summary import MetricSummary
    from sgi.kernel.scored import MetricColumn
    from sgi.stats.intervals import Interval
    from sgi.stats.paired import PairedDifference


_NO_UPPER_END = "its upper end is infinite"


def on_mean_scale(column: MetricColumn) -> MetricColumn:
    """The column on the scale on which its mean is taken: v/(1+v) for a ratio, else its own."""
    if not column.is_ratio:
        return column
    return replace(column, values=bounded_ratio(column.values), low=0.0, high=1.0, unit="")


def ratio_summary(made: MetricSummary) -> MetricSummary:
    """A summary on the bounded scale in the unit of the ratio.

    Mean and interval are converted back. The standard deviation is multiplied by the slope of the scale at
    the mean, so that it fits the mean: that of the ratios themselves would follow the few largest.
    """
    if made.mean is None:
        return replace(made, is_share=False, is_ratio=True)
    slope = ratio_slope(made.mean, made.mean)
    found = NoInterval(made.no_interval) if made.interval is None else ratio_interval(made.interval)
    return replace(
        made,
        mean=ratio_of(made.mean),
        interval=interval_or_none(found),
        no_interval=found.reason if isinstance(found, NoInterval) else "",
        deviation=None if made.deviation is None else slope * made.deviation,
        is_share=False,
        is_ratio=True,
    )


def ratio_interval(found: Interval | NoInterval) -> Interval | NoInterval:
    """An interval on the bounded scale in the unit of the ratio; there is none without a finite upper end."""
    if isinstance(found, NoInterval):
        return found
    if found.high >= 1.0:
        return NoInterval(_NO_UPPER_END)
    return replace(found, low=ratio_of(found.low), high=ratio_of(found.high))


def ratio_difference(made: PairedDifference) -> PairedDifference:
    """A difference on the bounded scale in the unit of the ratio.

    Every number is multiplied by the slope between the two means. So the difference is that of the converted
    means, and the interval excludes 0 exactly where it did before.
    """
    if made.first is None or made.second is None:
        return made
    slope = ratio_slope(made.first, made.second)
    first, second = ratio_of(made.first), ratio_of(made.second)
    interval = made.interval
    if interval is not None:
        interval = replace(interval, low=slope * interval.low, high=slope * interval.high)
    smallest = None if made.smallest is None else slope * made.smallest
    return replace(
        made, first=first, second=second, difference=second - first, interval=interval, smallest=smallest
    )


def ratio_notes(metrics: Iterable[MetricColumn | MetricSummary | MetricComparison]) -> Iterator[str]:
    """What is meant by the mean of a ratio, for each of the metrics that are ratios."""
    for made in metrics:
        if made.is_ratio:
            name = metric_name(made.metric)
            yield f"The mean of {made.metric} is that of {name}/(1 + {name}), converted back."


def verbatim_notes(copies: int, rows: int) -> Iterator[str]:
    """How many responses are verbatim copies of a passage, and what SGI makes of them."""
    if copies:
        yield (
            f"{copies:,} of {rows:,} responses copy a passage verbatim; their SGI is capped at"
            f" θ(r,c) = {VERBATIM_ANGLE:g} rad."
        )
