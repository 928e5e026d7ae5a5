"""Files made of a run: its report, and its rows."""

from __future__ import annotations

import secrets
from threading import Semaphore
from typing import TYPE_CHECKING, Literal

from fastapi import APIRouter
from starlette.background import BackgroundTask
from starlette.requests import Request  # noqa: TC002 - FastAPI reads it when the application is made
from starlette.responses import FileResponse, Response

from sgi.engine.job import export
from sgi.report.html import run_report
from sgi.report.views.rows import row_page
from sgi.report.views.run import run_view
from sgi.store.row_pages import RowQuery
from sgi.web.pages import found_run
from sgi.web.site import site_of

if TYPE_CHECKING:
    from sgi.store.queries import RunRecord

router = APIRouter(include_in_schema=False)
_ROWS = 10_000
_KINDS = {"csv": "text/csv", "jsonl": "application/jsonl", "parquet": "application/vnd.apache.parquet"}
_one_at_a_time = Semaphore(1)
"""A report or a file of all rows takes a while and much memory."""


@router.get("/runs/{run}/report.html")
def report(request: Request, run: str) -> Response:
    """The run as one file that needs no server."""
    site = site_of(request)
    record = found_run(site, run)
    with _one_at_a_time:
        rows = row_page(site.database, record, RowQuery(size=_ROWS))
        named = _file_name(record, "rows.csv") if rows.total > len(rows.rows) else None
        text = run_report(run_view(site.database, record), rows, export=named)
    return Response(
        text.encode("utf-8", "replace"), headers=_attached(record, "report.html"), media_type="text/html"
    )


@router.get("/runs/{run}/rows.{kind}")
def rows(request: Request, run: str, kind: Literal["csv", "jsonl", "parquet"]) -> Response:
    """All rows of a run with their scores, as a file; it is made whole before the first byte is sent."""
    site = site_of(request)
    record = found_run(site, run)
    site.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = site.folder.resolve() / f"rows-{secrets.token_hex(8)}.{kind}"
    try:
        with _one_at_a_time:
            export(site.database, record, path)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    gone = BackgroundTask(path.unlink, missing_ok=True)
    return FileResponse(
        path, media_type=_KINDS[kind], headers=_attached(record, f"rows.{kind}"), background=gone
    )


def _attached(record: RunRecord, what: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{_file_name(record, what)}"'}


def _file_name(record: RunRecord, what: str) -> str:
    """Of the run's id, in letters that every system takes."""
    plain = "".join(
        sign if sign.isascii() and (sign.isalnum() or sign in "-_") else "_" for sign in record.id
    )
    return f"{plain}.{what}"
