"""Page of a run: summary, charts and rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from fastapi import APIRouter
from starlette.requests import Request  # noqa: TC002 - FastAPI reads it at run time
from starlette.responses import Response

from sgi.reporting.views.run_header import run_header
from sgi.store.row_pages import row_page
from sgi.store.run_queries import run_usage
from sgi.web.charts import label_charts, run_charts
from sgi.web.filters import parameters, row_query
from sgi.web.pages import is_htmx_part, page, run_or_404
from sgi.web.paths import run_path, sample_path, with_query
from sgi.web.run_views import cached, cached_headline, run_views
from sgi.web.site import site_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from sgi.reporting.views.stored import RunViews
    from sgi.store.row_pages import RowLine, RowPage
    from sgi.store.run_queries import RunRecord

router = APIRouter(include_in_schema=False)


@router.get("/runs/{run}")
def run_page(request: Request, run: str) -> Response:
    """Page of a run with its fast parts; charts and groups load later. htmx gets only the rows."""
    site = site_of(request)
    record = run_or_404(site, run)
    query = row_query(request.query_params, **_metric(request, record))
    rows = row_page(site.database, record, query)
    asked = parameters(rows.query)
    values: dict[str, Any] = {
        "run": record.id,
        "rows": rows,
        "asked": asked,
        "link": _links(record, rows),
        "address": lambda number: with_query(
            run_path(record.id), asked | {"page": number if number > 1 else ""}
        ),
    }
    if is_htmx_part(request):
        return page(request, "rows.html", **values)
    headline = cached_headline(request, record)
    return page(request, "run.html", head=run_header(record), headline=headline, **values)


@router.get("/runs/{run}/state")
def state(request: Request, run: str) -> Response:
    """Progress of a run; reloads the page when it ends."""
    head = run_header(run_or_404(site_of(request), run))
    response = page(request, "state.html", head=head)
    if head.state != "unfinished":
        response.headers["HX-Refresh"] = "true"
    return response


@router.get("/runs/{run}/parts")
def parts(request: Request, run: str) -> Response:
    """Groups, correlations, reasons and cost."""
    site = site_of(request)
    record = run_or_404(site, run)
    tables = cached(request, record, "tables", lambda: run_views(request, record).tables)
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
    """Chart specs of a run."""
    return _charts(request, run, "charts", run_charts)


@router.get("/runs/{run}/labels.json")
def labels(request: Request, run: str) -> Response:
    """Chart specs of the metrics compared with the labels."""
    return _charts(request, run, "labels", label_charts)


def _charts(
    request: Request, run: str, name: str, make: Callable[[RunViews], list[dict[str, Any]]]
) -> Response:
    record = run_or_404(site_of(request), run)

    def body() -> bytes:
        charts = make(run_views(request, record))
        return orjson.dumps({"charts": charts}, option=orjson.OPT_SERIALIZE_NUMPY)

    return Response(cached(request, record, name, body), media_type="application/json")


def _metric(request: Request, record: RunRecord) -> dict[str, Any]:
    """Default metric for filters and sorting: the first."""
    asked = request.query_params
    wanting = any(asked.get(name) for name in ("status", "low", "high")) or asked.get("sort", "") not in {
        "",
        "position",
    }
    return {"metric": record.metrics[0]} if wanting and not asked.get("metric") and record.metrics else {}


def _links(record: RunRecord, rows: RowPage) -> Callable[[RowLine], str]:
    """Function that returns the address of a row's page, with the position among the filtered rows."""
    first = (rows.query.page - 1) * rows.query.size + 1
    places = {row.position: first + n for n, row in enumerate(rows.rows)}
    asked = parameters(rows.query)
    return lambda row: with_query(sample_path(record.id, row.id), asked | {"at": places[row.position]})
