"""Charts of a run for the report, the dashboard and `sgi runs plot`.

They use only built-in Vega functions, so that they work under a strict Content-Security-Policy.
Names that come from data are values of a chart's table, never names of its columns.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sgi.reporting.charts import (
    COLOURS,
    GREY,
    INTERVAL,
    LABEL_COLOURS,
    Dot,
    curve_chart,
    dot_chart,
    interval_ends,
    matrix_chart,
    reliability_chart,
    step_chart,
)
from sgi.reporting.descriptions import (
    describe_causes,
    describe_comparison,
    describe_correlation,
    describe_distribution,
    describe_groups,
    describe_labelled,
    middle_line,
    short,
    short_names,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.analysis.compare import Comparison
    from sgi.analysis.diagnosis.diagnosis import Diagnosis
    from sgi.engine.summary import MetricSummary
    from sgi.reporting.charts import Chart
    from sgi.reporting.views.group_view import GroupTable
    from sgi.reporting.views.metric_pairs import Correlation
    from sgi.reporting.views.metric_values import Distribution, LabelMetrics

MAX_DRAWN_GROUPS = 30
"""Maximum number of groups in a chart; the largest groups are drawn."""
MAX_GROUP_FIGURES = 12
"""Maximum number of group charts on a page."""

_VERDICTS = {"better": COLOURS[2], "worse": COLOURS[1], "no difference found": GREY, "not tested": GREY}


def distribution_figure(part: Distribution) -> Chart:
    """Draw the histogram of a metric, with one area per label if rows are labelled."""
    shares = {
        name: [count / sum(counts) for count in counts] for name, counts in part.counts.items() if sum(counts)
    }
    name = short(part.metric)
    mark = middle_line(part.metric)
    axis = name if mark is None else f"{name} (ratio of angles; dashed: {mark:g})"
    title = f"Distribution of {name}"
    chart = step_chart(part.edges, shares, title=title, axis=axis, mark=mark, colours=LABEL_COLOURS)
    return chart | {"description": describe_distribution(part)}


def group_figures(tables: Sequence[GroupTable]) -> list[tuple[GroupTable, str]]:
    """Return the pairs of a group table and a metric to draw, at most ``MAX_GROUP_FIGURES``.

    A metric is included only if one of the groups that `groups_figure` draws has a mean of it.
    """
    pairs = [(table, metric) for table in tables for metric in _metrics_with_means(table)]
    return pairs[:MAX_GROUP_FIGURES]


def _metrics_with_means(table: GroupTable) -> list[str]:
    groups = table.groups[:MAX_DRAWN_GROUPS]
    with_means = {summary.metric for group in groups for summary in group.metrics if summary.mean is not None}
    names = dict.fromkeys(summary.metric for group in groups for summary in group.metrics)
    return [metric for metric in names if metric in with_means]


def groups_figure(part: GroupTable, metric: str) -> Chart:
    """Draw the mean of a metric in each group, with its interval; of many groups only the largest.

    Raises:
        ValueError: no group has a mean of the metric.
    """
    groups = part.groups[:MAX_DRAWN_GROUPS]
    names = short_names([group.name for group in groups])
    means = [
        (name, summary)
        for name, group in zip(names, groups, strict=True)
        for summary in group.metrics
        if summary.metric == metric and summary.mean is not None
    ]
    if not means:
        raise ValueError(f"No group of {part.by!r} has a mean of {metric!r}.")
    named, by = short(metric), short(part.by)
    more = (
        f" (largest {MAX_DRAWN_GROUPS} of {len(part.groups):,})"
        if len(part.groups) > MAX_DRAWN_GROUPS
        else ""
    )
    share = means[0][1].is_share
    chart = dot_chart(
        [_mean_dot(name, summary) for name, summary in means],
        title=f"{named} by {by}{more}",
        axis=f"mean of {named}{' (a share)' if share else ''}",
        interval=INTERVAL,
        domain=(0.0, 1.0) if share else None,
    )
    return chart | {"description": describe_groups(part, metric)}


def _mean_dot(name: str, summary: MetricSummary) -> Dot:
    low, high = interval_ends(summary.interval)
    return Dot(name, summary.mean, low=low, high=high)


def correlation_figure(part: Correlation) -> Chart:
    """Draw Spearman's ρ of each pair of metrics as a matrix."""
    values = [[math.nan if value is None else value for value in row] for row in part.spearman]
    title = "Rank correlation of metrics (Spearman's ρ)"
    chart = matrix_chart(short_names(part.metrics), values, title=title, signed=True)
    return chart | {"description": describe_correlation(part)}


def roc_figure(part: Sequence[LabelMetrics]) -> Chart:
    """Draw one ROC curve per metric, with AUROC in the legend.

    Raises:
        ValueError: no metric has a curve.
    """
    known = [labelled for labelled in part if labelled.roc]
    if not known:
        raise ValueError("No metric has a ROC curve.")
    names = short_names([labelled.metric for labelled in known])
    curves = {
        f"{name}{'' if labelled.auroc is None else f' ({labelled.auroc:.3f})'}": labelled.roc
        for name, labelled in zip(names, known, strict=True)
    }
    title = "ROC curves: label 1 versus label 0 (AUROC)"
    axes = {"across": "false positive rate", "axis": "true positive rate"}
    return curve_chart(curves, title=title, **axes) | {"description": describe_labelled(known)}


def reliability_figure(part: Sequence[LabelMetrics]) -> Chart:
    """Draw the reliability diagram: predicted probability against observed share of label 1.

    Raises:
        ValueError: no metric was calibrated.
    """
    known = [labelled for labelled in part if labelled.reliability is not None]
    if not known:
        raise ValueError("No metric was calibrated.")
    names = short_names([labelled.metric for labelled in known])
    bins = {
        name: labelled.reliability
        for name, labelled in zip(names, known, strict=True)
        if labelled.reliability is not None
    }
    chart = reliability_chart(bins, title="Calibration: probability of label 1, out of fold (Platt)")
    return chart | {"description": describe_labelled(known)}


def causes_figure(diagnosis: Diagnosis) -> Chart:
    """Draw the share of each cause that occurs as a bar with its interval, the most frequent first.

    Raises:
        ValueError: no row is diagnosed.
    """
    dots = [
        Dot(each.cause, each.share, "", *interval_ends(each.interval))
        for each in diagnosis.causes
        if each.rows
    ]
    if not dots:
        raise ValueError("No row is diagnosed.")
    axis = f"share of {diagnosis.diagnosed:,} diagnosed rows"
    chart = dot_chart(dots, title="Causes", axis=axis, interval=INTERVAL, domain=(0.0, 1.0))
    bars = {
        "mark": {"type": "bar", "opacity": 0.3, "height": {"band": 0.7}},
        "encoding": chart["layer"][-1]["encoding"],
    }
    return chart | {"layer": [bars, *chart["layer"]], "description": describe_causes(diagnosis)}


def comparison_figure(comparison: Comparison, *, base: str = "", new: str = "") -> Chart:
    """Draw the difference new − base of each metric with its interval, coloured by verdict.

    ``base`` and ``new`` replace the names of the runs.

    Raises:
        ValueError: no metric has a difference.
    """
    dots = list(_differences(comparison))
    if not dots:
        raise ValueError("No metric of the two runs has a difference.")
    base, new = base or comparison.base, new or comparison.new
    title = f"{short(new)} − {short(base)}"
    axis = "mean difference in the metric's own unit"
    chart = dot_chart(dots, title=title, axis=axis, interval=INTERVAL, chance=0.0, colours=_VERDICTS)
    return chart | {"description": describe_comparison(comparison, base, new)}


def _differences(comparison: Comparison) -> Iterator[Dot]:
    compared = comparison.metrics
    for name, metric in zip(short_names([metric.metric for metric in compared]), compared, strict=True):
        paired = metric.difference
        if paired.difference is not None:
            yield Dot(name, paired.difference, metric.verdict, *interval_ends(paired.interval))
