"""Chart specs of a run and of a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgi.reporting import figures
from sgi.reporting.descriptions import describe, describe_scatter
from sgi.reporting.html import chart_spec
from sgi.reporting.scatter_figure import scatter_figure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.reporting.charts import Chart
    from sgi.reporting.views.comparison import ComparisonView
    from sgi.reporting.views.labelled import Labelled
    from sgi.reporting.views.stored import RunPoints, RunTables, RunViews


def run_charts(views: RunViews) -> list[dict[str, Any]]:
    """Charts of a run that have data: ``id, title, description, spec``."""
    return list(_run_charts(views.tables, views.points))


def label_charts(views: RunViews) -> list[dict[str, Any]]:
    """Charts of the metrics compared with the labels; separate because fitting is slow."""
    return list(_label_charts(views.labelled))


def comparison_charts(view: ComparisonView) -> list[dict[str, Any]]:
    """Charts of the differences of two runs, if there are any."""
    if not any(made.difference.difference is not None for made in view.comparison.metrics):
        return []
    return [_chart("comparison", figures.comparison_figure(view), describe(view))]


def _run_charts(tables: RunTables, points: RunPoints) -> Iterator[dict[str, Any]]:
    plane, pair = points.plane, points.scatter
    if plane is not None and plane.points:
        yield _chart("plane", figures.plane_figure(plane, brush=True), describe(plane))
    for n, spread in enumerate(tables.distributions):
        yield _chart(f"distribution-{n}", figures.distribution_figure(spread), describe(spread))
    for n, (table, metric) in enumerate(figures.group_figures(tables.groups)):
        yield _chart(f"groups-{n}", figures.groups_figure(table, metric), describe(table, metric))
    if pair is not None:
        yield _chart("scatter", scatter_figure(pair), describe_scatter(pair))
    alike = tables.correlation
    if alike is not None:
        yield _chart("correlation", figures.correlation_figure(alike), describe(alike))


def _label_charts(parts: Sequence[Labelled]) -> Iterator[dict[str, Any]]:
    if parts:
        yield _chart("roc", figures.roc_figure(parts), describe(parts))
    calibrated = [part for part in parts if part.reliability is not None]
    if calibrated:
        yield _chart("reliability", figures.reliability_figure(calibrated), describe(calibrated))


def _chart(name: str, figure: Chart, description: str) -> dict[str, Any]:
    spec = chart_spec(figure)
    return {"id": name, "title": spec["usermeta"]["title"], "description": description, "spec": spec}
