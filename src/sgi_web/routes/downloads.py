"""Downloads of a run: report and rows."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Literal

from fastapi import APIRouter
from starlette.requests import Request  # noqa: TC002 - FastAPI reads it at run time
from starlette.responses import Response, StreamingResponse

from sgi.engine.export import export_chunks
from sgi.reporting.html import run_report
from sgi.reporting.views.run_view import run_view
from sgi.store.row_query import RowQuery, row_page
from sgi_web.cached_views import compute_once, run_views
from sgi_web.pages import Record, attachment
from sgi_web.site import site_of
from sgi_web.work_limits import Throttle

if TYPE_CHECKING:
    from sgi.store.run_queries import RunRecord

router = APIRouter(include_in_schema=False)
_ROWS = 10_000
_KINDS = {"csv": "text/csv", "jsonl": "application/jsonl"}
_reports = Throttle()
"""Reports take time and memory, so one is made at a time."""


@router.get("/runs/{run}/report.html")
def report(request: Request, record: Record) -> Response:
    """Download the report as one HTML file."""
    body = compute_once(request, [record], "report", lambda: _report(request, record))
    return attachment(body, _file_name(record, "report.html"), "text/html")


def _report(request: Request, record: RunRecord) -> bytes:
    database = site_of(request).database
    with _reports.acquire():
        rows = row_page(database, record, RowQuery(size=_ROWS))
        named = _file_name(record, "rows.csv") if rows.total > len(rows.rows) else None
        view = run_view(database, record, views=run_views(request, record))
        return run_report(view, rows, export=named).encode("utf-8", "replace")


@router.get("/runs/{run}/rows.{kind}")
def rows(request: Request, record: Record, kind: Literal["csv", "jsonl"]) -> Response:
    """Stream all rows of a run with their scores.

    If the run changes meanwhile, the connection ends without its last chunk.
    """
    chunks = export_chunks(site_of(request).database, record, kind)
    first = next(chunks, b"")  # an error before the first byte gets an error page
    headers = {"Content-Disposition": f'attachment; filename="{_file_name(record, f"rows.{kind}")}"'}
    return StreamingResponse(chain([first], chunks), headers=headers, media_type=_KINDS[kind])


def _file_name(record: RunRecord, what: str) -> str:
    """Return a file name made of the run id, with portable characters."""
    return f"{re.sub(r'[^A-Za-z0-9_-]', '_', record.id)}.{what}"
