"""Static files: styles and scripts."""

from __future__ import annotations

import gzip
from functools import cache
from hashlib import blake2b
from importlib import resources

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from sgi.reporting.html_page import asset, vega_bundle
from sgi_web.pages import NotFoundError

router = APIRouter(include_in_schema=False)
_SHARED = ("sgi.css", "charts.js", "passages.js", "sections.js")
"""Files that HTML reports contain, too."""


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
