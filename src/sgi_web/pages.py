"""Renders pages and error pages."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from sgi.kernel.errors import StoreError, UnknownNameError, UsageError
from sgi.reporting.page import environment
from sgi.store.run_queries import find_run
from sgi.store.users import LOCAL_NAME, Role
from sgi_web.authentication import LOGIN
from sgi_web.paths import run_path, sample_path, with_query
from sgi_web.security import form_token
from sgi_web.site import site_of
from sgi_web.throttle import ServerBusyError
from sgi_web.toasts import take_toast
from sgi_web.users import known_user, may

if TYPE_CHECKING:
    from jinja2 import Environment
    from starlette.requests import Request

    from sgi.kernel.errors import SgiError
    from sgi.store.run_queries import RunRecord
    from sgi_web.authentication import Refusal
    from sgi_web.site import Site

_API = ("/api/", "/v1/")
_LATER = 503
_SECONDS = "5"
"""Value of the Retry-After header, in seconds."""
_TITLES = {
    400: "Bad request",
    403: "Forbidden",
    404: "Not found",
    405: "Not found",
    413: "Too large",
    422: "Invalid request",
    503: "Unavailable",
}


class NotFoundError(UsageError):
    """What a request names does not exist (status 404)."""


@cache
def templates() -> Environment:
    """Return the templates: those of the dashboard take precedence over those of the report."""
    jinja = environment("sgi_web")
    jinja.globals.update(run_path=run_path, sample_path=sample_path, with_query=with_query)
    return jinja


def page(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """Render a template as a response."""
    site, user = site_of(request), known_user(request)
    text = (
        templates()
        .get_template(template)
        .render(
            form_key=form_token(request),
            user=user if user is not None and user.name != LOCAL_NAME else None,
            may=lambda role: may(request, Role[role.upper()]),
            can_sign_out=LOGIN in request.cookies,
            has_traces=site.receiver is not None,
            path=request.scope["path"],
            toast="" if is_htmx(request) else take_toast(request),
            **values,
        )
    )
    return HTMLResponse(text.encode("utf-8", "replace"), status)


def is_htmx(request: Request) -> bool:
    """Return whether htmx sent the request."""
    return request.headers.get("hx-request") == "true"


def is_htmx_part(request: Request) -> bool:
    """Return whether htmx requests a part of a page."""
    return is_htmx(request) and request.headers.get("hx-request-type") == "partial"


def redirect(path: str) -> RedirectResponse:
    """Redirect to another page (status 303)."""
    return RedirectResponse(path, 303)


def run_or_404(site: Site, name: str) -> RunRecord:
    """Return the run with this id, name, or unique beginning of an id.

    Raises:
        NotFoundError: there is no such run; the message suggests similar names.
    """
    try:
        return find_run(site.database, name)
    except UsageError as error:
        raise NotFoundError(error.message, hint="The list of runs shows all runs.") from error


def status_of(error: SgiError) -> int:
    """Return the HTTP status for an error."""
    if isinstance(error, NotFoundError):
        return 404
    if isinstance(error, UnknownNameError) and error.kind.partition(" ")[0] in {"run", "sample", "row"}:
        return 404
    return _LATER if isinstance(error, (StoreError, ServerBusyError)) else 400


def error_page(request: Request, status: int, message: str, *, title: str = "") -> Response:
    """Return an error as a page, or as JSON for the API."""
    response = _error_page(request, status, message, title)
    if status == _LATER:
        response.headers["Retry-After"] = _SECONDS
    return response


def _error_page(request: Request, status: int, message: str, title: str) -> Response:
    if _is_of_api(request):
        return JSONResponse({"error": {"message": message, "hint": ""}}, status)
    if is_htmx_part(request):
        return page(request, "error_part.html", status=status, message=message)
    heading = title or _TITLES.get(status, "Something went wrong")
    return page(request, "error.html", status=status, title=heading, message=message)


def refusal(request: Request, reason: Refusal) -> Response:
    """Return the response to a refused request; browsers are redirected to the login page."""
    if reason.status == 401 and not _is_of_api(request):  # noqa: PLR2004 - HTTP status
        query = request.scope["query_string"]
        address = request.scope["raw_path"] + (b"?" + query if query else b"")  # raw: ids can contain a slash
        return redirect(f"/login?next={quote(address, safe='')}" if request.method == "GET" else "/login")
    response = error_page(request, reason.status, reason.message, title=reason.title)
    if reason.status == 401:  # noqa: PLR2004 - HTTP status
        response.headers["WWW-Authenticate"] = "Bearer"
    if reason.retry_after is not None:
        response.headers["Retry-After"] = str(reason.retry_after)
    return response


def _is_of_api(request: Request) -> bool:
    return str(request.scope["path"]).startswith(_API)
