"""Files: styles and scripts of the pages; the report and the rows of a run."""

from __future__ import annotations

import gzip
import re
from functools import cache
from hashlib import blake2b
from importlib import resources
from itertools import chain
from typing import TYPE_CHECKING, Literal

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from sgi.engine.export import export_chunks
from sgi.reporting.html import run_report
from sgi.reporting.html_page import asset, vega_bundle
from sgi.store.row_query import RowQuery, row_page
from sgi_web.cached_views import compute_once, run_view
from sgi_web.pages import NotFoundError, Record, attachment
from sgi_web.site import site_of
from sgi_web.work_limits import Throttle

if TYPE_CHECKING:
    from sgi.store.run_queries import RunRecord

router = APIRouter(include_in_schema=False)
_ROWS = 10_000
_KINDS = {"csv": "text/csv", "jsonl": "application/jsonl"}
_SHARED = ("sgi.css", "charts.js", "passages.js", "sections.js")
"""Files that HTML reports contain, too."""
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
        return run_report(run_view(request, record), rows, export=named).encode("utf-8", "replace")


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


@router.get("/static/{name}")
def static(request: Request, name: str) -> Response:
    """Return a style or script, or status 304 if the browser has it already."""
    if name not in _files():
        raise NotFoundError("This file does not exist.")
    zipped = "gzip" in request.headers.get("accept-encoding", "")
    body, tag = _content(name, zipped=zipped)
    headers = {"Cache-Control": "no-cache", "ETag": tag, "Vary": "Accept-Encoding"}
    if zipped:
        headers["Content-Encoding"] = "gzip"
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    kind = "text/css" if name.endswith(".css") else "text/javascript"
    return Response(body, media_type=kind, headers=headers)


@cache
def _files() -> dict[str, bytes]:
    """Return the files by name; some of our own are stored with gzip."""
    folder = resources.files("sgi_web") / "static"
    own = {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith(".txt")}
    unpacked = {name[:-3]: gzip.decompress(body) for name, body in own.items() if name.endswith(".gz")}
    shared = {name: asset(name).encode() for name in _SHARED}
    return own | unpacked | shared | {"vega.js": vega_bundle().encode()}


@cache
def _content(name: str, *, zipped: bool) -> tuple[bytes, str]:
    """Return a file and its ETag; each is made once, because compression takes long."""
    body = gzip.compress(_files()[name], mtime=0) if zipped else _files()[name]
    return body, f'"{blake2b(body, digest_size=12).hexdigest()}"'
