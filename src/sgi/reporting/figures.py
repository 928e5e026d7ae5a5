"""Charts of a run for the report, the dashboard and `sgi plot`.

They use only built-in Vega functions, so that they work under a strict Content-Security-Policy.
Names from data are values, never column names.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from sgi.reporting.charts import (
    COLOURS,
    GREY,
    Dot,
    curve_chart,
    diagonal,
    dot_chart,
    matrix_chart,
    nominal,
    quantitative,
    reliability_chart,
    series_colour,
    step_chart,
)
from sgi.reporting.descriptions import compared_names, describe, middle_line, short, short_names
from sgi.reporting.views.comparison import ComparisonView

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.analysis.compare import Comparison
    from sgi.engine.summary import MetricSummary
    from sgi.reporting.charts import Chart
    from sgi.reporting.views.correlation import Correlation
    from sgi.reporting.views.distribution import Distribution
    from sgi.reporting.views.groups import GroupTable
    from sgi.reporting.views.labelled import Labelled
    from sgi.store.row_pages import Plane, PlanePoint

MAX_DRAWN_GROUPS = 30
"""Groups in a chart; the largest are drawn."""
MAX_GROUP_FIGURES = 12
"""Group charts on a page."""

_SIDE = 420
_LABELS = {"label 1": COLOURS[0], "label 0": COLOURS[1], "no label": GREY, "all rows": COLOURS[0]}
_VERDICTS = {"better": COLOURS[2], "worse": COLOURS[1], "no difference found": GREY}
_COLOUR_TAIL = 0.02
"""Share of values at either end that get the end colour."""


def distribution_figure(part: Distribution) -> Chart:
    """Histogram of a metric; one area per label for labelled rows.

    >>> from sgi.reporting.views.distribution import Distribution
    >>> part = Distribution("sgi", (0.5, 1.0, 1.5), {"all rows": (3, 1)}, 0, 0)
    >>> distribution_figure(part)["title"]
    'Distribution of sgi'
    """
    shares = {
        name: [count / sum(counts) for count in counts] for name, counts in part.counts.items() if sum(counts)
    }
    name = short(part.metric)
    title, mark = f"Distribution of {name}", middle_line(part.metric)
    chart = step_chart(part.edges, shares, title=title, axis=_unit(name, mark), mark=mark, colours=_LABELS)
    return chart | {"description": describe(part)}


def plane_figure(part: Plane, *, brush: bool = False) -> Chart:
    """Rows by their two angles, coloured by label or value; SGI is 1 on the diagonal and higher above it.

    ``brush`` lets the mouse select a rectangle: the selection is called ``brush``, the dataset ``points``.

    >>> from sgi.store.row_pages import Plane, PlanePoint
    >>> part = Plane("sgi", (PlanePoint("a", 0, 0.8, 1.0, 1.25, True),), 1)
    >>> plane_figure(part)["title"]
    'sgi: angle plane'
    """
    low, high = _ends(part.points)
    scale = {"domain": [low, high], "nice": False}
    axes = {
        "x": quantitative("theta_rc", title="θ(r, c): response and context, rad", scale=scale),
        "y": quantitative("theta_rq", title="θ(r, q): response and question, rad", scale=scale),
    }
    points: Chart = {
        # One JSON string: a page cleans each string of a chart, and separate fields would be eight per row.
        "data": {"values": json.dumps([_point(row) for row in part.points]), "format": {"type": "json"}},
        "mark": {"type": "circle", "size": 28, "opacity": 0.6, "aria": False},
        "encoding": axes | {"color": _plane_colour(part)},
    }
    if not brush:
        points["encoding"]["tooltip"] = _tooltip(part)
    else:
        # No tooltips: computing them for all rows takes a second.
        points["data"]["name"] = "points"
        points["params"] = [{"name": "brush", "select": {"type": "interval", "encodings": ["x", "y"]}}]
        selected = {"param": "brush", "empty": True, "value": 0.7}
        points["encoding"]["opacity"] = {"condition": selected, "value": 0.12}
    line = diagonal("theta_rc", "theta_rq", axes, low=low, high=high)
    return {
        "title": f"{short(part.metric)}: angle plane",
        "description": describe(part),
        "width": _SIDE,
        "height": _SIDE,
        "layer": [line, points, _diagonal_name(high, axes)],
    }


def _ends(points: Sequence[PlanePoint]) -> tuple[float, float]:
    """Range of both axes, rounded to 0.1 rad."""
    angles = [angle for row in points for angle in (row.theta_rc, row.theta_rq)] or [0.0, 1.5]
    low, high = math.floor(min(angles) * 10) / 10, math.ceil(max(angles) * 10) / 10
    return low, max(high, low + 0.1)


def _point(row: PlanePoint) -> dict[str, Any]:
    label = None if row.label is None else f"label {int(row.label)}"
    angles = {"theta_rc": row.theta_rc, "theta_rq": row.theta_rq}
    return {
        "id": row.id,
        "position": row.position,
        **angles,
        "value": row.value,
        "label": label or "no label",
    }


def _plane_colour(part: Plane) -> dict[str, Any]:
    labels = {row.label for row in part.points}
    if labels - {None}:
        kinds = {"label 1": True, "label 0": False, "no label": None}
        return series_colour("label", [name for name, kind in kinds.items() if kind in labels], known=_LABELS)
    values = sorted(row.value for row in part.points) or [0.0]
    last = len(values) - 1
    ends = [values[round(share * last)] for share in (_COLOUR_TAIL, 1 - _COLOUR_TAIL)]
    scale = {"scheme": "viridis", "domain": ends, "clamp": True}
    return quantitative("value", scale=scale, legend={"title": short(part.metric), "orient": "bottom"})


def _tooltip(part: Plane) -> list[Any]:
    numbers = {"value": short(part.metric), "theta_rc": "θ(r, c), rad", "theta_rq": "θ(r, q), rad"}
    shown = [quantitative(field, title=title, format=".4f") for field, title in numbers.items()]
    return [nominal("id", title="row"), *shown, nominal("label", title="label")]


def _diagonal_name(end: float, axes: dict[str, Any]) -> Chart:
    """Label at the upper end of the diagonal."""
    return {
        "data": {"values": [{"theta_rc": end, "theta_rq": end}]},
        "mark": {"type": "text", "text": "SGI = 1", "align": "right", "dx": -22, "dy": 9},
        "encoding": axes | {"color": {"value": GREY}},
    }


def group_figures(tables: Sequence[GroupTable]) -> list[tuple[GroupTable, str]]:
    """Pairs of a group table and a metric to draw, at most ``MAX_GROUP_FIGURES``.

    A metric counts only if a group that `groups_figure` draws has a mean of it.

    >>> group_figures([])
    []
    """
    pairs = [(table, metric) for table in tables for metric in _metrics_with_means(table)]
    return pairs[:MAX_GROUP_FIGURES]


def _metrics_with_means(table: GroupTable) -> list[str]:
    drawn = table.groups[:MAX_DRAWN_GROUPS]
    known = {made.metric for group in drawn for made in group.metrics if made.mean is not None}
    asked = dict.fromkeys(made.metric for group in drawn for made in group.metrics)
    return [metric for metric in asked if metric in known]


def groups_figure(part: GroupTable, metric: str) -> Chart:
    """The mean of a metric in each group, with its interval; only the largest of many groups.

    Raises:
        ValueError: no group has a mean of the metric.
    """
    drawn = part.groups[:MAX_DRAWN_GROUPS]
    names = short_names([group.name for group in drawn])
    means = [
        (name, summary)
        for name, group in zip(names, drawn, strict=True)
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
        axis=f"mean of {named}{' (a share)' if share else ''}, 95 % interval",
        domain=(0.0, 1.0) if share else None,
    )
    return chart | {"description": describe(part, metric)}


def _mean_dot(name: str, summary: MetricSummary) -> Dot:
    between = summary.interval
    low, high = (None, None) if between is None else (between.low, between.high)
    return Dot(name, summary.mean or 0.0, low=low, high=high)


def correlation_figure(part: Correlation) -> Chart:
    """Spearman's ρ of each pair of metrics, as a matrix.

    >>> from sgi.reporting.views.correlation import Correlation
    >>> part = Correlation(("sgi", "bleu"), ((1.0, 0.5), (0.5, 1.0)), ((9, 9), (9, 9)))
    >>> correlation_figure(part)["title"]
    "Rank correlation of metrics (Spearman's ρ)"
    """
    values = [[math.nan if value is None else value for value in row] for row in part.spearman]
    title = "Rank correlation of metrics (Spearman's ρ)"
    chart = matrix_chart(short_names(part.metrics), values, title=title, signed=True)
    return chart | {"description": describe(part)}


def roc_figure(part: Sequence[Labelled]) -> Chart:
    """ROC curves, one per metric, with AUROC in the legend.

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
    return curve_chart(curves, title=title, **axes) | {"description": describe(known)}


def reliability_figure(part: Sequence[Labelled]) -> Chart:
    """Reliability diagram: predicted probability against observed share of label 1.

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
    return chart | {"description": describe(known)}


def comparison_figure(view: ComparisonView | Comparison) -> Chart:
    """New − base for each metric with its interval, coloured by verdict.

    Raises:
        ValueError: no metric has a difference.
    """
    made = view.comparison if isinstance(view, ComparisonView) else view
    dots = list(_differences(made))
    if not dots:
        raise ValueError("No metric of the two runs has a difference.")
    base, new = compared_names(view)
    title = f"{short(new)} − {short(base)}"
    axis = "mean difference in the metric's own unit, 95 % interval"
    drawn = dot_chart(dots, title=title, axis=axis, chance=0.0, colours=_VERDICTS)
    return drawn | {"description": describe(view)}


def _differences(comparison: Comparison) -> Iterator[Dot]:
    compared = comparison.metrics
    for name, made in zip(short_names([made.metric for made in compared]), compared, strict=True):
        found = made.difference
        if found.difference is not None:
            between = found.interval
            low, high = (None, None) if between is None else (between.low, between.high)
            yield Dot(name, found.difference, made.verdict, low, high)


def _unit(name: str, mark: float | None) -> str:
    return name if mark is None else f"{name} (ratio of angles; dashed: {mark:g})"
