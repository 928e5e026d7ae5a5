"""Error pages. Tracebacks go to the log only."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request

from sgi.kernel.errors import SgiError
from sgi_web.pages import error_page, status_of

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_log = logging.getLogger("sgi_web")
_WORDS = {
    404: "This page does not exist. The list of runs links to all pages.",
    405: "This page does not support that request method.",
}


def add_error_handlers(app: FastAPI) -> None:
    """Register the error handlers."""
    app.add_exception_handler(SgiError, _user_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _validation_error)


def _user_error(request: Request, error: Exception) -> Response:
    status = status_of(error) if isinstance(error, SgiError) else 500
    return error_page(request, status, str(error))


def _http_error(request: Request, error: Exception) -> Response:
    status, detail = (error.status_code, error.detail) if isinstance(error, HTTPException) else (500, "")
    return error_page(request, status, _WORDS.get(status, str(detail)))


def _validation_error(request: Request, error: Exception) -> Response:
    first = error.errors()[0] if isinstance(error, RequestValidationError) else None
    if first is not None and first["loc"][0] == "query":
        return error_page(request, 400, f"{first['loc'][-1]}: {first['msg']}.")
    if request.method == "GET":
        return error_page(request, 404, _WORDS[404])
    return error_page(
        request, 400, "The form could not be read. Go back, reload the page and submit it again."
    )


class ErrorMiddleware:
    """ASGI middleware that logs unexpected errors and returns status 500."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        has_started = False

        async def send_and_note(message: Message) -> None:
            nonlocal has_started
            has_started = True
            await send(message)

        try:
            await self._app(scope, receive, send_and_note)
        except Exception:
            if has_started or scope["type"] != "http":
                raise
            request = Request(scope)
            _log.exception("%s %s failed", request.method, scope["path"])
            message = "Internal error in SGI. The server log has the details. Please report it."
            await error_page(request, 500, message)(scope, receive, send)
