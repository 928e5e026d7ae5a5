"""Static files: styles and scripts."""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from importlib import resources
from typing import TYPE_CHECKING

from fastapi import APIRouter
from starlette.requests import Request  # noqa: TC002 - FastAPI reads it at run time
from starlette.responses import Response

from sgi.reporting.page import asset, vega_bundle
from sgi.web.pages import problem

if TYPE_CHECKING:
    from collections.abc import Callable

router = APIRouter(include_in_schema=False)


def _own(name: str) -> Callable[[], str]:
    return lambda: (resources.files("sgi.web") / "static" / name).read_text(encoding="utf-8")


def _shared(name: str) -> Callable[[], str]:
    return lambda: asset(name)


_SOURCES: dict[str, Callable[[], str]] = {
    "sgi.css": _shared("sgi.css"),
    "charts.js": _shared("charts.js"),
    "dashboard.css": _own("dashboard.css"),
    "dashboard.js": _own("dashboard.js"),
    "htmx.min.js": _own("htmx.min.js"),
    "vega.js": vega_bundle,
}


@router.get("/static/{name}")
def static(request: Request, name: str) -> Response:
    """A style or script; status 304 if the browser has it."""
    if name not in _SOURCES:
        return problem(request, 404, "This file does not exist.")
    body, tag = _content(name)
    kind = "text/css" if name.endswith(".css") else "text/javascript"
    headers = {"Cache-Control": "no-cache", "ETag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=kind, headers=headers)


@cache
def _content(name: str) -> tuple[bytes, str]:
    body = _SOURCES[name]().encode()
    return body, f'"{blake2b(body, digest_size=12).hexdigest()}"'
