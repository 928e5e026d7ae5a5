"""The page of a run: its numbers, its charts, its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from fastapi import APIRouter
from starlette.requests import Request  # noqa: TC002 - FastAPI reads it when the application is made
from starlette.responses import Response

from sgi.report.views.columns import run_columns
from sgi.report.views.correlation import correlation
from sgi.report.views.groups import group_tables
from sgi.report.views.head import run_head
from sgi.report.views.headline import headline
from sgi.report.views.plane import plane
from sgi.report.views.rows import row_page
from sgi.store.queries import run_usage
from sgi.store.run_rows import reasons
from sgi.web.charts import POINTS, label_charts, run_charts
from sgi.web.filters import parameters, row_query
from sgi.web.kept import kept_of
from sgi.web.pages import found_run, is_part, page
from sgi.web.paths import run_path, sample_path, with_query
from sgi.web.site import site_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from sgi.report.views.columns import RunColumns
    from sgi.report.views.rows import RowLine, RowPage
    from sgi.store.queries import RunRecord

router = APIRouter(include_in_schema=False)
_REASONS = 20


@router.get("/runs/{run}")
def run_page(request: Request, run: str) -> Response:
    """A run, as far as that is quick; charts and groups come after it. To a script, the rows alone."""
    site = site_of(request)
    record = found_run(site, run)
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
    if is_part(request):
        return page(request, "rows.html", **values)
    told = headline(site.database, record)
    return page(request, "run.html", head=run_head(record), headline=told, **values)


@router.get("/runs/{run}/state")
def state(request: Request, run: str) -> Response:
    """How far a run is; once it is over, its readers load the page again."""
    head = run_head(found_run(site_of(request), run))
    response = page(request, "state.html", head=head)
    if head.state != "unfinished":
        response.headers["HX-Refresh"] = "true"
    return response


@router.get("/runs/{run}/parts")
def parts(request: Request, run: str) -> Response:
    """Groups, correlations, reasons and cost."""
    site = site_of(request)
    record = found_run(site, run)
    columns = columns_of(request, record)
    return page(
        request,
        "parts_of_run.html" if is_part(request) else "parts_page.html",
        head=run_head(record),
        groups=group_tables(columns),
        correlation=correlation(columns),
        reasons=reasons(site.database, record, most=_REASONS),
        usage=run_usage(site.database, record.id),
    )


@router.get("/runs/{run}/charts.json")
def charts(request: Request, run: str) -> Response:
    """What the charts of a run are drawn from."""
    site = site_of(request)
    record = found_run(site, run)
    columns = columns_of(request, record)

    def made() -> bytes:
        points = plane(site.database, record, most=POINTS)
        return orjson.dumps({"charts": run_charts(columns, points)}, option=orjson.OPT_SERIALIZE_NUMPY)

    body = kept_of(request).get(("charts", *_state(record)), made)
    return Response(body, media_type="application/json")


@router.get("/runs/{run}/labels.json")
def labels(request: Request, run: str) -> Response:
    """What the charts of a run's metrics against its labels are drawn from."""
    record = found_run(site_of(request), run)
    columns = columns_of(request, record)

    def made() -> bytes:
        return orjson.dumps({"charts": label_charts(columns)}, option=orjson.OPT_SERIALIZE_NUMPY)

    body = kept_of(request).get(("labels", *_state(record)), made)
    return Response(body, media_type="application/json")


def columns_of(request: Request, record: RunRecord) -> RunColumns:
    """The rows of a run as columns, read once for the requests that want them."""
    database = site_of(request).database
    return kept_of(request).get(("columns", *_state(record)), lambda: run_columns(database, record))


def _state(record: RunRecord) -> tuple[Hashable, ...]:
    return record.id, record.scored, record.finished_at


def _metric(request: Request, record: RunRecord) -> dict[str, Any]:
    """What is filtered or sorted by, where that is not said: the first metric."""
    asked = request.query_params
    wanting = any(asked.get(name) for name in ("status", "low", "high")) or asked.get("sort", "") not in {
        "",
        "position",
    }
    return {"metric": record.metrics[0]} if wanting and not asked.get("metric") and record.metrics else {}


def _links(record: RunRecord, rows: RowPage) -> Callable[[RowLine], str]:
    """The address of each row's page, which knows the row's place among those that are filtered."""
    first = (rows.query.page - 1) * rows.query.size + 1
    places = {row.position: first + n for n, row in enumerate(rows.rows)}
    asked = parameters(rows.query)
    return lambda row: with_query(sample_path(record.id, row.id), asked | {"at": places[row.position]})
