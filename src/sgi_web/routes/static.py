"""Static files: styles and scripts."""

from __future__ import annotations

import gzip
from functools import cache
from hashlib import blake2b
from importlib import resources

from fastapi import APIRouter
from starlette.requests import Request  # noqa: TC002 - FastAPI reads it at run time
from starlette.responses import Response

from sgi.reporting.page import asset, vega_bundle
from sgi_web.pages import NotFoundError

router = APIRouter(include_in_schema=False)


_OWN = frozenset({"dashboard.css", "dashboard.js", "explorer.js", "htmx.min.js", "rows.js"})
_COMPRESSED = frozenset({"swagger-ui.css", "swagger-ui.js"})
"""Files that are stored with gzip."""
_SHARED = frozenset({"sgi.css", "charts.js", "passages.js", "sections.js"})
"""Files that HTML reports contain, too."""
_VEGA = "vega.js"


@router.get("/static/{name}")
def static(request: Request, name: str) -> Response:
    """Return a style or script, or status 304 if the browser has it already."""
    if name not in {*_OWN, *_COMPRESSED, *_SHARED, _VEGA}:
        raise NotFoundError("This file does not exist.")
    zipped = "gzip" in request.headers.get("accept-encoding", "")
    body, tag = _content(name, zipped=zipped)
    kind = "text/css" if name.endswith(".css") else "text/javascript"
    headers = {"Cache-Control": "no-cache", "ETag": tag, "Vary": "Accept-Encoding"}
    if zipped:
        headers["Content-Encoding"] = "gzip"
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=kind, headers=headers)


@cache
def _content(name: str, *, zipped: bool) -> tuple[bytes, str]:
    """Return a file and its ETag; each is made once, because compression takes long."""
    folder = resources.files("sgi_web") / "static"
    if name in _OWN:
        body = (folder / name).read_bytes()
    elif name in _COMPRESSED:
        body = gzip.decompress((folder / f"{name}.gz").read_bytes())
    else:
        body = (vega_bundle() if name == _VEGA else asset(name)).encode()
    if zipped:
        body = gzip.compress(body, mtime=0)
    return body, f'"{blake2b(body, digest_size=12).hexdigest()}"'
