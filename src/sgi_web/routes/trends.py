"""Trends of a metric over the runs of the same data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Form, Query
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from sgi.analysis.trend import MAX_RUNS, trend_metrics, trend_of
from sgi.kernel.errors import UsageError
from sgi.reporting.chart_specs import trend_charts
from sgi.reporting.formatting import importance
from sgi.reporting.trend_view import trend_finding, trend_table
from sgi.store.run_history import annotate, delete_annotation, list_annotations, run_history
from sgi_web.access import OWN_FORM
from sgi_web.cached_views import compute_for
from sgi_web.pages import charts_response, page, redirect
from sgi_web.site import run_path, site_of, with_query

if TYPE_CHECKING:
    from sgi.analysis.trend import Trend
    from sgi.store.run_history import SeriesEntry

router = APIRouter(include_in_schema=False)
_LONGEST = 2000


class TrendParameters(BaseModel):
    """Query parameters of a trend; the default is the most important metric of the newest data."""

    data: str = Field("", max_length=_LONGEST)
    metric: str = Field("", max_length=_LONGEST)
    x: Literal["time", "run"] = "time"

    def address(self, path: str = "/trends") -> str:
        """Return the address of the trend, or of another path with the same parameters."""
        return with_query(path, self.model_dump(exclude_defaults=True, include={"data", "metric", "x"}))


class AnnotationForm(TrendParameters):
    """The form of an annotation, and the trend that the page shows."""

    data: str = Field(max_length=_LONGEST)
    text: str = ""
    at: str = ""


Parameters = Annotated[TrendParameters, Query()]


@router.get("/trends")
def trends(request: Request, parameters: Parameters) -> Response:
    """Show a trend as a chart and a table, with its annotations."""
    return _page(request, parameters)


@router.get("/trends/charts.json")
def charts(request: Request, parameters: Parameters) -> Response:
    """Return the chart spec of a trend."""
    shown, found = _trend(request, run_history(site_of(request).database), parameters)
    notes = list_annotations(site_of(request).database, shown.data)
    specs = {} if found is None else trend_charts(found, notes, by_run=shown.x == "run")
    return charts_response(specs)


@router.post("/trends/annotations", dependencies=[OWN_FORM])
def add(request: Request, form: Annotated[AnnotationForm, Form()]) -> Response:
    """Add an annotation to data that has runs; an error in the form is shown above it."""
    database = site_of(request).database
    _trend(request, run_history(database), form)  # refuses data without runs
    try:
        annotate(database, form.data, form.text, form.at)
    except UsageError as error:
        return _page(request, form, problem=str(error))
    return redirect(f"{form.address()}#annotations")


@router.post("/trends/annotations/delete", dependencies=[OWN_FORM])
def delete(
    request: Request, annotation: Annotated[str, Form()], metric: Annotated[str, Form()] = ""
) -> Response:
    """Delete an annotation."""
    note = delete_annotation(site_of(request).database, annotation)
    return redirect(with_query("/trends", {"data": note.data, "metric": metric}) + "#annotations")


def _page(request: Request, parameters: TrendParameters, *, problem: str = "") -> Response:
    database = site_of(request).database
    history = run_history(database)
    shown, found = _trend(request, history, parameters)
    runs = [run for run in history if run.data == shown.data][-MAX_RUNS:]
    return page(
        request,
        "trends.html",
        status=400 if problem else 200,
        parameters=shown,
        data=[*dict.fromkeys(run.data for run in reversed(history))],
        metrics=sorted(trend_metrics(runs), key=importance),
        trend=found,
        finding="" if found is None else trend_finding(found),
        table=None if found is None else trend_table(found, run_path),
        notes=list_annotations(database, shown.data),
        charts=shown.address("/trends/charts.json"),
        problem=problem,
        database=database.shown,
    )


def _trend(
    request: Request, history: list[SeriesEntry], parameters: TrendParameters
) -> tuple[TrendParameters, Trend | None]:
    """Return the parameters with data and metric, and the trend; None if no run of the data has a mean."""
    database = site_of(request).database
    data = parameters.data or (history[-1].data if history else "")
    runs = [run for run in history if run.data == data]
    metrics = sorted(trend_metrics(runs[-MAX_RUNS:]), key=importance)
    shown = parameters.model_copy(update={"data": data})
    if not parameters.data and not metrics:
        return shown, None
    metric = parameters.metric or next(iter(metrics), "")
    key = ("trend", data, metric, *runs)
    found = compute_for(request, key, lambda: trend_of(database, runs, data, metric))
    return shown.model_copy(update={"metric": found.metric}), found
