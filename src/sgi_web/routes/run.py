"""Page of a run: summary, charts and rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import orjson
from fastapi import APIRouter, Query
from markupsafe import Markup
from starlette.requests import Request  # noqa: TC002 - FastAPI reads it at run time
from starlette.responses import Response

from sgi.reporting.chart_specs import Specs, label_charts, run_charts
from sgi.reporting.overview import importance
from sgi.reporting.views.earlier_run import earlier_run
from sgi.reporting.views.run_header import run_header
from sgi.store.row_filters import worst_first
from sgi.store.run_queries import run_usage
from sgi_web.pages import is_htmx_part, page, run_or_404, templates
from sgi_web.paths import run_path, sample_path, with_query
from sgi_web.row_columns import row_columns
from sgi_web.row_parameters import TEXT_COLUMNS, PageParameters
from sgi_web.run_views import cached_headline, cached_rows, compute_once, run_views
from sgi_web.site import site_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sgi.engine.summary import MetricSummary
    from sgi.reporting.views.run_views import RunViews
    from sgi.store.row_pages import RowLine, RowPage
    from sgi.store.run_queries import RunRecord

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True)
class _Table:
    """A page of rows, the parameters that select it, and its table as HTML."""

    rows: RowPage
    filters: dict[str, object]
    html: str


@router.get("/runs/{run}")
def run_page(request: Request, run: str, parameters: Annotated[PageParameters, Query()]) -> Response:
    """Show a run without charts and groups, which the page loads later; htmx gets only the table of rows."""
    site = site_of(request)
    record = run_or_404(site, run)
    if parameters.needs_metric and record.metrics:
        parameters = parameters.model_copy(update={"metric": record.metrics[0]})
    if set(parameters.columns).issuperset((*TEXT_COLUMNS, *record.metrics)):
        parameters = parameters.model_copy(update={"columns": []})
    table = compute_once(
        request, record, ("table", parameters.model_dump_json()), lambda: _table(request, record, parameters)
    )
    values: dict[str, Any] = {
        "run": record.id,
        "rows": table.rows,
        "table": Markup(table.html),  # noqa: S704 - a template escaped it
        "filters": table.filters,
        "address": lambda number: with_query(
            run_path(record.id), table.filters | {"page": number if number > 1 else ""}
        ),
    }
    if is_htmx_part(request):
        return page(request, "rows.html", **values)
    headline = cached_headline(request, record)
    return page(
        request,
        "run.html",
        head=run_header(record),
        choices=_column_choices(record, parameters),
        headline=headline,
        earlier=earlier_run(site.database, record),
        worst=_worst_address(record, headline.metrics),
        compare=lambda before: with_query("/compare", {"base": before, "new": record.id}),
        **values,
    )


@router.get("/runs/{run}/state")
def state(request: Request, run: str) -> Response:
    """Show the progress of a run; the page reloads when the run ends."""
    head = run_header(run_or_404(site_of(request), run))
    response = page(request, "state.html", head=head)
    if head.state != "unfinished":
        response.headers["HX-Refresh"] = "true"
    return response


@router.get("/runs/{run}/parts")
def parts(request: Request, run: str) -> Response:
    """Show groups, correlations, reasons for missing values, and the cost of the judge."""
    site = site_of(request)
    record = run_or_404(site, run)
    tables = compute_once(request, record, "tables", lambda: run_views(request, record).tables)
    return page(
        request,
        "parts_of_run.html" if is_htmx_part(request) else "parts_page.html",
        head=run_header(record),
        groups=tables.groups,
        correlation=tables.correlation,
        reasons=tables.reasons,
        usage=run_usage(site.database, record.id),
    )


@router.get("/runs/{run}/charts.json")
def charts(request: Request, run: str) -> Response:
    """Return the chart specs of a run."""
    return _charts(request, run, "charts", lambda views: run_charts(views.tables, views.points))


@router.get("/runs/{run}/labels.json")
def labels(request: Request, run: str) -> Response:
    """Return the chart specs of the metrics compared with the labels."""
    return _charts(request, run, "labels", lambda views: label_charts(views.labelled))


def _charts(request: Request, run: str, name: str, make: Callable[[RunViews], Specs]) -> Response:
    record = run_or_404(site_of(request), run)

    def body() -> bytes:
        charts = make(run_views(request, record))
        return orjson.dumps({"charts": charts}, option=orjson.OPT_SERIALIZE_NUMPY)

    return Response(compute_once(request, record, name, body), media_type="application/json")


def _worst_address(record: RunRecord, metrics: Sequence[MetricSummary]) -> str:
    """Return the address of the rows with the worst values of the most important metric; "" without one."""
    if not metrics:
        return ""
    metric = min(metrics, key=lambda one: importance(one.metric))
    order = worst_first(higher_is_better=metric.higher_is_better)
    return with_query(run_path(record.id), {"metric": metric.metric, "sort": order}) + "#rows"


def _table(request: Request, record: RunRecord, parameters: PageParameters) -> _Table:
    """Search and render a page of rows; all sessions share it."""
    rows = cached_rows(request, record, parameters.query(), parameters.metrics(record.metrics))
    filters = parameters.model_copy(update={"metric": rows.query.metric}).filters()
    template = templates().get_template("rows_table.html")
    columns = row_columns(record.id, rows, filters)
    html = template.render(
        rows=rows, columns=columns, texts=parameters.texts(), link=_links(record, rows, filters)
    )
    return _Table(rows, filters, html)


def _column_choices(record: RunRecord, parameters: PageParameters) -> list[tuple[str, bool]]:
    """Return the columns that a user can choose, and whether each is shown."""
    shown = {*parameters.texts(), *parameters.metrics(record.metrics)}
    return [(name, name in shown) for name in (*TEXT_COLUMNS, *record.metrics)]


def _links(record: RunRecord, rows: RowPage, filters: dict[str, object]) -> Callable[[RowLine], str]:
    """Return a function from a row to the address of its page, with the position among the filtered rows."""
    first = (rows.query.page - 1) * rows.query.size + 1
    places = {row.position: first + n for n, row in enumerate(rows.rows)}
    return lambda row: with_query(sample_path(record.id, row.id), filters | {"at": places[row.position]})
