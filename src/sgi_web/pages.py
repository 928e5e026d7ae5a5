"""Renders pages."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from starlette.responses import HTMLResponse, RedirectResponse

from sgi.kernel.errors import UsageError
from sgi.reporting.page import environment
from sgi.store.run_queries import find_run
from sgi_web.access import LOCAL, form_key, may_edit, person_of
from sgi_web.paths import run_path, sample_path, with_query
from sgi_web.site import site_of

if TYPE_CHECKING:
    from jinja2 import Environment
    from starlette.requests import Request

    from sgi.store.run_queries import RunRecord
    from sgi_web.site import Site


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
    site, person = site_of(request), person_of(request)
    text = (
        templates()
        .get_template(template)
        .render(
            form_key=form_key(request),
            person=None if person is LOCAL else person,
            may_edit=may_edit(request),
            has_login=site.has_login,
            has_traces=site.receiver is not None,
            path=request.scope["path"],
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
