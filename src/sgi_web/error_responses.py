"""Error responses: pages, parts of pages for htmx, and JSON for the API. Tracebacks go to the log only."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import quote

import orjson
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from sgi.kernel.errors import (
    DataError,
    EmbedderError,
    NotComparableError,
    ScorerBusyError,
    ScorerClosedError,
    SgiError,
    StoreError,
    UnknownNameError,
)
from sgi.reporting.safe_text import escaped_json
from sgi_web.pages import NotFoundError, is_htmx_part, page, redirect
from sgi_web.site import site_of
from sgi_web.work_limits import ServerBusyError

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.requests import Request

_API = ("/api/", "/v1/")
_PARTS = frozenset({"run", "sample", "row"})
_RETRY_SECONDS = "1"
_MAX_MESSAGE, _MAX_NAME = 500, 100
_WORDS = {
    404: "This page does not exist. The list of runs links to all pages.",
    405: "This page does not support that request method.",
}


def add_error_handlers(app: FastAPI) -> None:
    """Register the error handlers."""
    app.exception_handler(SgiError)(_user_error)
    app.exception_handler(HTTPException)(http_error)
    app.exception_handler(RequestValidationError)(_validation_error)


def status_of(error: SgiError) -> int:
    """Return the HTTP status for an error."""
    is_unknown = isinstance(error, UnknownNameError) and error.kind.partition(" ")[0] in _PARTS
    if is_unknown or isinstance(error, NotFoundError):
        return 404
    if isinstance(error, DataError):
        return 422
    unavailable = (StoreError, ServerBusyError, ScorerBusyError, ScorerClosedError, EmbedderError)
    return HTTPStatus.SERVICE_UNAVAILABLE if isinstance(error, unavailable) else 400


def json_response(value: object, status: int = 200) -> Response:
    r"""Return a value as JSON; lone surrogates and characters that control a terminal are escaped.

    >>> json_response({"id": "\ud800"}).body, json_response({"id": "\x9b\u202e"}).body
    (b'{"id": "\\ud800"}', b'{"id":"\\u009b\\u202e"}')
    """
    try:
        body = orjson.dumps(value)
    except orjson.JSONEncodeError:  # a lone surrogate, or a number of more than 64 bits
        body = json.dumps(value, allow_nan=False).encode()
    text = body if body.isascii() and b"\x7f" not in body else escaped_json(body.decode())
    return Response(text, status, media_type="application/json")


def error_response(request: Request, status: int, message: str, hint: str = "", **place: object) -> Response:
    """Return an error. For the API it is JSON: message, hint and, if known, row, id and field."""
    if _is_of_api(request):
        known = {name: value for name, value in place.items() if value is not None}
        response = json_response({"error": {"message": message, "hint": hint, **known}}, status)
    else:
        text = f"{message} {hint}".strip()
        shown = {"title": HTTPStatus(status).phrase, "message": text, "is_part": is_htmx_part(request)}
        response = page(request, "error.html", status=status, **shown)
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        response.headers["Retry-After"] = _RETRY_SECONDS
    return response


def http_error(request: Request, error: HTTPException) -> Response:
    """Return the response to a refused request; browsers without a login get the login page."""
    status = error.status_code
    is_page = not _is_of_api(request)
    if status == HTTPStatus.UNAUTHORIZED and site_of(request).has_login and is_page:
        query = request.scope["query_string"]
        address = request.scope["raw_path"] + (b"?" + query if query else b"")  # raw: ids can contain a slash
        return redirect(f"/login?next={quote(address, safe='')}" if request.method == "GET" else "/login")
    response = error_response(request, status, _WORDS.get(status, error.detail))
    response.headers.update(error.headers or {})
    return response


def _user_error(request: Request, error: SgiError) -> Response:
    status = status_of(error)
    if isinstance(error, NotComparableError) and not _is_of_api(request):
        anyway = request.url.include_query_params(allow_different=1).query
        return page(request, "different.html", status=status, error=error, anyway=f"?{anyway}")
    if not _is_of_api(request):
        return error_response(request, status, str(error))
    message, hint = map(site_of(request).without_place, (error.message, error.hint))
    if isinstance(error, DataError):
        row, name = error.line, error.sample_id
        return error_response(request, status, message, hint, row=row, id=name, field=error.field)
    return error_response(request, status, message, hint)


def _validation_error(request: Request, error: RequestValidationError) -> Response:
    first = error.errors()[0]
    name, message = str(first["loc"][-1])[:_MAX_NAME], str(first["msg"])
    if _is_of_api(request):
        text = f"{name}: {message[0].lower()}{message[1:]}"[:_MAX_MESSAGE]
        return error_response(request, 422, text, field=name)
    if first["loc"][0] == "query":
        return error_response(request, 400, f"{name}: {message}.")
    if request.method == "GET":
        return error_response(request, 404, _WORDS[404])
    return error_response(
        request, 400, "The form could not be read. Go back, reload the page and submit it again."
    )


def _is_of_api(request: Request) -> bool:
    return str(request.scope["path"]).startswith(_API)
