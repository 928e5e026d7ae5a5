"""Specs of the charts on pages, by element id; a chart without data is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgi.reporting import figures
from sgi.reporting.leaderboard_figures import (
    MAX_METRIC_FIGURES,
    pareto_figure,
    system_groups_figure,
    systems_figure,
)
from sgi.reporting.point_figures import plane_figure, scatter_figure
from sgi.reporting.section_findings import distribution_finding
from sgi.reporting.trend_view import trend_figure, trend_finding

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sgi.analysis.compare import Comparison
    from sgi.analysis.diagnosis.diagnosis import Diagnosis
    from sgi.analysis.trend import Trend
    from sgi.reporting.charts import Chart
    from sgi.reporting.leaderboard_view import LeaderboardView
    from sgi.reporting.views.comparison import ComparisonView
    from sgi.reporting.views.metric_values import LabelMetrics
    from sgi.reporting.views.run_view import RunView
    from sgi.store.run_history import Annotation

Specs = dict[str, dict[str, Any]]


def run_charts(view: RunView) -> Specs:
    """Return the charts of a run; ids of group charts have the index of the group table and a number."""
    charts = {}
    if view.plane is not None and view.plane.points:
        charts["plane"] = plane_figure(view.plane, brush=True)
    charts |= {
        f"distribution-{n}": figures.distribution_figure(part) for n, part in enumerate(view.distributions)
    }
    columns = [table.by for table in view.groups]
    charts |= {
        f"groups-{columns.index(table.by)}-{n}": figures.groups_figure(table, metric)
        for n, (table, metric) in enumerate(figures.group_figures(view.groups))
    }
    if view.scatter is not None:
        charts["scatter"] = scatter_figure(view.scatter)
    if view.correlation is not None:
        charts["correlation"] = figures.correlation_figure(view.correlation)
    findings = {f"distribution-{n}": distribution_finding(part) for n, part in enumerate(view.distributions)}
    return _specs(charts, findings)


def label_charts(metrics: Sequence[LabelMetrics]) -> Specs:
    """Return the charts of the metrics compared with the labels."""
    charts = {}
    if any(metric.roc for metric in metrics):
        charts["roc"] = figures.roc_figure(metrics)
    if any(metric.reliability is not None for metric in metrics):
        charts["reliability"] = figures.reliability_figure(metrics)
    return _specs(charts)


def cause_charts(diagnosis: Diagnosis) -> Specs:
    """Return the chart of the shares of the causes of a run."""
    return _specs({"causes": figures.causes_figure(diagnosis)} if diagnosis.diagnosed else {})


def comparison_charts(view: ComparisonView) -> Specs:
    """Return the chart of the differences of two runs."""
    if not has_differences(view.comparison):
        return {}
    base, new = view.base.label, view.new.label
    return _specs({"differences": figures.comparison_figure(view.comparison, base=base, new=new)})


def leaderboard_charts(view: LeaderboardView) -> Specs:
    """Return the charts of a leaderboard; the id of the chart of a metric has the place of the metric."""
    board = view.leaderboard
    charts = {
        f"systems-{n}": systems_figure(metric, board.unit)
        for n, metric in enumerate(board.metrics[:MAX_METRIC_FIGURES])
        if metric.units
    }
    charts |= {
        f"groups-{n}": system_groups_figure(board, n)
        for n, metric in enumerate(board.metrics[:MAX_METRIC_FIGURES])
        if any(score.mean is not None for group in board.groups for score in group.metrics[n].systems)
    }
    if view.pareto is not None:
        charts["pareto"] = pareto_figure(view.pareto)
    return _specs(charts)


def trend_charts(trend: Trend, notes: Sequence[Annotation], *, by_run: bool) -> Specs:
    """Return the chart of a trend, with its finding as the title."""
    return _specs({"trend": trend_figure(trend, notes, by_run=by_run)}, {"trend": trend_finding(trend)})


def has_differences(comparison: Comparison) -> bool:
    """Return whether a metric of the comparison has a difference."""
    return any(metric.difference.difference is not None for metric in comparison.metrics)


def _specs(charts: dict[str, Chart], findings: Mapping[str, str] | None = None) -> Specs:
    """Return charts for a page; those with a finding have it as their title."""
    return {name: _spec(chart, (findings or {}).get(name, chart["title"])) for name, chart in charts.items()}


def _spec(chart: Chart, title: str) -> dict[str, Any]:
    """Return a chart for a page: full width, with title and description as metadata."""
    return {
        **chart,
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "width": "container",
        "autosize": {"type": "fit-x", "contains": "padding"},
        "title": None,
        "usermeta": {"title": title, "description": chart["description"]},
    }
