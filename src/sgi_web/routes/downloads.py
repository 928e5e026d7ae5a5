"""Downloads of a run: report and rows."""

from __future__ import annotations

import os
import secrets
from functools import partial
from itertools import chain
from typing import IO, TYPE_CHECKING, Literal

from fastapi import APIRouter
from starlette.requests import Request  # noqa: TC002 - FastAPI reads it at run time
from starlette.responses import Response, StreamingResponse

from sgi.engine.export import export, export_chunks
from sgi.kernel.errors import StoreError
from sgi.reporting.html import run_report
from sgi.reporting.views.run import run_view
from sgi.store.row_filters import RowQuery
from sgi.store.row_pages import row_page
from sgi_web.pages import run_or_404
from sgi_web.run_views import compute_once, run_views
from sgi_web.site import site_of
from sgi_web.throttle import Throttle
from sgi_web.uploads import EXPORT

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from sgi.store.run_queries import RunRecord
    from sgi_web.site import Site

router = APIRouter(include_in_schema=False)
_ROWS = 10_000
_KINDS = {"csv": "text/csv", "jsonl": "application/jsonl", "parquet": "application/vnd.apache.parquet"}
_CHUNK = 256 * 1024
_downloads = Throttle()
"""Reports and Parquet files take time and memory, so one is made at a time."""


class _TemporaryFile(StreamingResponse):
    """Streams a file without a name; it is deleted when the response ends."""

    def __init__(self, file: IO[bytes], headers: dict[str, str], media_type: str) -> None:
        headers = {**headers, "Content-Length": str(os.fstat(file.fileno()).st_size)}
        super().__init__(iter(partial(file.read, _CHUNK), b""), headers=headers, media_type=media_type)
        self._file = file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        with self._file:
            await super().__call__(scope, receive, send)


@router.get("/runs/{run}/report.html")
def report(request: Request, run: str) -> Response:
    """Download the report as one HTML file."""
    record = run_or_404(site_of(request), run)
    body = compute_once(
        request, record, ("report", record.name, record.tags), lambda: _report(request, record)
    )
    return Response(body, headers=_attachment(record, "report.html"), media_type="text/html")


def _report(request: Request, record: RunRecord) -> bytes:
    database = site_of(request).database
    with _downloads.acquire():
        rows = row_page(database, record, RowQuery(size=_ROWS))
        named = _file_name(record, "rows.csv") if rows.total > len(rows.rows) else None
        view = run_view(database, record, views=run_views(request, record))
        return run_report(view, rows, export=named).encode("utf-8", "replace")


@router.get("/runs/{run}/rows.{kind}")
def rows(request: Request, run: str, kind: Literal["csv", "jsonl", "parquet"]) -> Response:
    """Download all rows of a run with their scores.

    CSV and JSON Lines are streamed; if the run changes meanwhile, the connection ends without its last chunk.
    Parquet is complete before the first byte is sent.
    """
    site = site_of(request)
    record = run_or_404(site, run)
    headers = _attachment(record, f"rows.{kind}")
    if kind != "parquet":
        chunks = export_chunks(site.database, record, kind)
        first = next(chunks, b"")  # an error before the first byte gets an error page
        return StreamingResponse(chain([first], chunks), headers=headers, media_type=_KINDS[kind])
    with _downloads.acquire():
        file = _export_file(site, record, kind)
    return _TemporaryFile(file, headers, _KINDS[kind])


def _export_file(site: Site, record: RunRecord, kind: str) -> IO[bytes]:
    """Write all rows to an open file without a name, which needs no cleanup, and return it."""
    path = site.folder.resolve() / f"{EXPORT}{secrets.token_hex(8)}.{kind}"
    try:
        site.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            export(site.database, record, path)
            return path.open("rb")
        finally:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"The file cannot be written: {error.strerror or error}.") from error


def _attachment(record: RunRecord, what: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{_file_name(record, what)}"'}


def _file_name(record: RunRecord, what: str) -> str:
    """Return a file name made of the run id, with portable characters."""
    plain = "".join(
        sign if sign.isascii() and (sign.isalnum() or sign in "-_") else "_" for sign in record.id
    )
    return f"{plain}.{what}"
