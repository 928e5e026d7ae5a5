"""Computes the summary of a run from its accumulator, and the summary of a metric from its column."""

from __future__ import annotations

import math
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.engine.calibration_check import check_calibration
from sgi.engine.cascade import CascadeSummary, Misses
from sgi.engine.summary import MetricSummary, Summary
from sgi.kernel.errors import UsageError
from sgi.kernel.metric import COST_UNITS, COUNT, RATIO, SCORE
from sgi.kernel.registry import BUILT_IN, metric_class, metric_name
from sgi.metrics.calibrated_metric import SPEC as CALIBRATED
from sgi.metrics.calibrated_metric import CalibratedMetric
from sgi.stats.auroc_difference import auroc_difference
from sgi.stats.confounds import trivial_baselines
from sgi.stats.intervals import Interval, NoInterval, bounded_ratio, interval_or_none, ratio_of, ratio_slope
from sgi.stats.means import mean_interval
from sgi.stats.percentiles import Percentile, percentile
from sgi.stats.ranking import Ranking, ranking

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.engine.accumulator import Accumulator
    from sgi.engine.calibration_check import CalibrationCheck
    from sgi.kernel.metric import AnyMetric, MetricSpec
    from sgi.kernel.metric_column import MetricColumn
    from sgi.stats.auroc_difference import AurocDifference
    from sgi.stats.intervals import Interval


def summarise(accumulator: Accumulator, metrics: Sequence[AnyMetric], signature: str) -> Summary:
    """Compute the summary of a run from its accumulator."""
    labels = np.array(accumulator.labels, dtype=np.int8)
    clusters = accumulator.clusters.numbers
    known = labels >= 0
    precisions = np.array(accumulator.precisions, dtype=np.float64)
    return Summary(
        rows=len(accumulator),
        questions=len(np.unique(clusters)),
        labelled=int(known.sum()),
        positives=int((labels == 1).sum()),
        metrics=tuple(
            replace(
                metric_summary(accumulator.column(metric), clusters, labels, precisions),
                classes=accumulator.classes(metric),
                review=accumulator.review(metric.canonical, metric.spec.version),
            )
            for metric in metrics
        ),
        baselines=trivial_baselines(
            labels[known] == 1,
            lengths=np.array(accumulator.lengths, dtype=np.float64)[known],
            precisions=precisions[known],
            overlaps=np.array(accumulator.overlaps, dtype=np.float64)[known],
            clusters=clusters[known],
        ),
        copies=accumulator.copies,
        truncated=dict(accumulator.truncated),
        windowed=dict(accumulator.windowed),
        left_out=dict(accumulator.left_out),
        signature=signature,
        cascade=cascade_summary(accumulator),
        entailment=accumulator.entailment_uses(),
        verbatim_copies=accumulator.verbatim_copies,
        blank=accumulator.blank,
        clustering=accumulator.clusters.clustering(),
        calibration=calibration_check(accumulator, metrics),
    )


def calibration_check(accumulator: Accumulator, metrics: Sequence[AnyMetric]) -> CalibrationCheck | None:
    """Check the calibration of the run; None if it has none, or does not score the inner metric."""
    for metric in metrics:
        if isinstance(metric, CalibratedMetric) and metric.inner.canonical in accumulator.columns:
            scores = accumulator.column(metric.inner)
            lengths = np.array(accumulator.lengths, dtype=np.float64)
            return check_calibration(metric, scores, lengths, accumulator.clusters.numbers)
    return None


_SHARES = (0.5, 0.95, 0.99)


def metric_summary(
    column: MetricColumn,
    clusters: NDArray[np.int64],
    labels: NDArray[np.int8] | None = None,
    precisions: NDArray[np.float64] | None = None,
    weights: NDArray[np.float64] | None = None,
) -> MetricSummary:
    """Compute the summary of one metric.

    ``clusters`` (n,) has equal numbers for dependent rows; ``labels`` (n,) are 1, 0, or −1 if unknown; they
    are used for the AUROC. ``precisions`` (n,) are content-word precisions, NaN if unknown, for the
    difference from their AUROC. ``weights`` (n,) weight the mean, its interval and the standard deviation;
    a metric that counts then has no total.
    """
    summary = _own_summary(on_mean_scale(column), clusters, labels, weights)
    if labels is not None and precisions is not None:
        difference = _content_difference(column, precisions, clusters, labels)
        summary = replace(summary, content_difference=difference)
    summary = ratio_summary(summary) if column.is_ratio else summary
    values = column.values[column.ok]
    if column.unit == COUNT or not len(values):
        return summary
    least, most = float(values.min()), float(values.max())
    worst, best = (least, most) if column.higher_is_better else (most, least)
    return replace(summary, best=best, worst=worst)


def _own_summary(
    column: MetricColumn,
    clusters: NDArray[np.int64],
    labels: NDArray[np.int8] | None,
    weights: NDArray[np.float64] | None,
) -> MetricSummary:
    ok = column.ok
    values, mass = column.values[ok], None if weights is None else weights[ok]
    interval = mean_interval(values, clusters[ok], weights=mass, low=column.low, high=column.high)
    return MetricSummary(
        metric=column.metric,
        mean=float(np.average(values, weights=mass)) if ok.any() else None,
        interval=interval_or_none(interval),
        deviation=_deviation(values, mass) if len(values) > 1 else None,
        counts=column.counts(),
        ranking=None if labels is None else _ranking(column, clusters, labels),
        is_share=column.is_share,
        is_percentage=column.is_percentage,
        is_score=column.unit == SCORE,
        no_interval=interval.reason if isinstance(interval, NoInterval) else "",
        total=float(values.sum()) if column.unit == COUNT and ok.any() and mass is None else None,
        higher_is_better=column.higher_is_better,
        percentiles=_percentiles(values, clusters[ok]) if column.unit in COST_UNITS else (),
        unit=column.unit if column.unit in COST_UNITS else "",
        parts={name: int(has_value[ok].sum()) for name, has_value in column.parts.items()},
    )


def _deviation(values: NDArray[np.float64], weights: NDArray[np.float64] | None) -> float:
    """Return the standard deviation, with the correction n/(n − 1)."""
    if weights is None:
        return float(values.std(ddof=1))
    squares = np.square(values - np.average(values, weights=weights))
    return math.sqrt(float(np.average(squares, weights=weights)) * len(values) / (len(values) - 1))


def _percentiles(values: NDArray[np.float64], clusters: NDArray[np.int64]) -> tuple[Percentile, ...]:
    return tuple(percentile(values, share, clusters=clusters) for share in _SHARES) if len(values) else ()


def _ranking(column: MetricColumn, clusters: NDArray[np.int64], labels: NDArray[np.int8]) -> Ranking | None:
    ranked = column.ok & (labels >= 0)
    direction = 1.0 if column.higher_is_better else -1.0
    return ranking(direction * column.values[ranked], labels[ranked] == 1, clusters[ranked])


def _content_difference(
    column: MetricColumn,
    precisions: NDArray[np.float64],
    clusters: NDArray[np.int64],
    labels: NDArray[np.int8],
) -> AurocDifference | None:
    """Return the AUROC of the metric minus the AUROC of content-word precision; None without both labels."""
    rows = column.ok & (labels >= 0)
    direction = 1.0 if column.higher_is_better else -1.0
    return auroc_difference(
        direction * column.values[rows], precisions[rows], labels[rows] == 1, clusters[rows]
    )


def cascade_summary(accumulator: Accumulator) -> CascadeSummary | None:
    """Compute the summary of the cascade; None if the run has no cascade."""
    router = accumulator.router
    if router is None:
        return None
    cleared = np.array(accumulator.cleared, dtype=np.bool_)
    per_row = len(router.questions) / accumulator.inquired if accumulator.inquired else None
    return CascadeSummary(
        alpha=router.alpha,
        threshold=router.fitted.threshold,
        detector=router.detector,
        judged=tuple(metric.canonical for metric in router.metrics if metric.canonical in router.judged),
        rows=len(accumulator),
        cleared=accumulator.cleared_rows,
        without_value=accumulator.without_value,
        calls_per_row=per_row,
        calls_saved=None if per_row is None else round(accumulator.cleared_rows * per_row),
        unsupported=router.fitted.unsupported,
        candidates=router.fitted.candidates,
        labelled=router.fitted.labelled,
        misses=_misses(accumulator, cleared) if router.fitted.apart else None,
    )


def _misses(accumulator: Accumulator, cleared: np.ndarray[Any, np.dtype[np.bool_]]) -> Misses | None:
    unsupported = np.array(accumulator.labels, dtype=np.int8) == 0
    if not unsupported.any():
        return None
    missed = cleared[unsupported].astype(np.float64)
    clusters = accumulator.clusters.numbers[unsupported]
    interval = mean_interval(missed, clusters, low=0.0, high=1.0)
    return Misses(int(unsupported.sum()), int(missed.sum()), interval_or_none(interval))


_NO_UPPER_END = "its upper end is infinite"


def on_mean_scale(column: MetricColumn) -> MetricColumn:
    """Return the column on the scale of its mean: v/(1+v) for a ratio, otherwise unchanged."""
    if not column.is_ratio:
        return column
    return replace(column, values=bounded_ratio(column.values), low=0.0, high=1.0, unit="")


def ratio_summary(summary: MetricSummary) -> MetricSummary:
    """Convert a summary from the bounded scale to the unit of the ratio.

    The standard deviation is multiplied by the slope of the scale at the mean, because the standard deviation
    of the ratios themselves depends mostly on the few largest.
    """
    if summary.mean is None:
        return replace(summary, is_share=False, is_ratio=True)
    slope = ratio_slope(summary.mean, summary.mean)
    interval = (
        NoInterval(summary.no_interval) if summary.interval is None else ratio_interval(summary.interval)
    )
    return replace(
        summary,
        mean=ratio_of(summary.mean),
        interval=interval_or_none(interval),
        no_interval=interval.reason if isinstance(interval, NoInterval) else "",
        deviation=None if summary.deviation is None else slope * summary.deviation,
        is_share=False,
        is_ratio=True,
    )


def ratio_interval(interval: Interval | NoInterval) -> Interval | NoInterval:
    """Convert an interval from the bounded scale to the ratio; None if its upper end is infinite."""
    if isinstance(interval, NoInterval):
        return interval
    if interval.high >= 1.0:
        return NoInterval(_NO_UPPER_END)
    return replace(interval, low=ratio_of(interval.low), high=ratio_of(interval.high))


def in_order(metric: str, counts: Mapping[str, int]) -> dict[str, int]:
    """Sort counts of classes in the order of the metric, or by count if the metric is not installed."""
    with suppress(UsageError):
        return _spec(metric).in_order(counts)
    return dict(Counter(counts).most_common())


def _spec(metric: str) -> MetricSpec:
    """Return the spec of an installed metric by its canonical string; raises UnknownNameError."""
    name = metric_name(metric)
    return CALIBRATED if name == CALIBRATED.name else metric_class(name).spec


def with_range(column: MetricColumn) -> MetricColumn:
    """Add the range of the built-in metric of the same name and version, if the column has none.

    >>> from sgi.kernel.metric_column import MetricColumn
    >>> column = MetricColumn("squad_em", np.ones(3), np.zeros(3, dtype=np.int8), version=1)
    >>> column.is_share, with_range(column).is_share
    (False, True)
    """
    if column.name not in BUILT_IN:
        return column
    spec = metric_class(column.name).spec
    if spec.unit == RATIO and not column.unit:  # of every version, also those that did not say so
        column = replace(column, unit=RATIO)
    if column.version != spec.version:
        return column
    low = spec.low if column.low is None else column.low
    high = spec.high if column.high is None else column.high
    return replace(column, low=low, high=high, unit=spec.unit)


def class_keys(metrics: Iterable[str]) -> dict[str, str]:
    """Return, for each metric with classes, the key of the details that holds the class of a row.

    >>> class_keys(["factual_accuracy", "rouge_l(beta=1.2)", "gone"])
    {'factual_accuracy': 'grade'}
    """
    keys = {}
    for name in metrics:
        with suppress(UsageError):
            keys[name] = _spec(name).category
    return {name: key for name, key in keys.items() if key}


def column_summary(
    column: MetricColumn, clusters: NDArray[np.int64], weights: NDArray[np.float64] | None = None
) -> MetricSummary:
    """Compute the summary of a stored metric; a missing range is taken from the built-in metric of its name.

    ``clusters`` (n,) has the same number for dependent rows; ``weights`` (n,) are as in `metric_summary`.
    """
    return metric_summary(with_range(column), clusters, weights=weights)
