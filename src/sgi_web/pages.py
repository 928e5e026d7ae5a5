"""Renders pages."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Annotated

import orjson
from fastapi import Depends, Path
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from sgi.kernel.errors import UsageError
from sgi.reporting.html_page import environment
from sgi.store.run_queries import RunRecord, find_run
from sgi_web.access import form_key
from sgi_web.site import field_text, run_path, sample_path, segment, site_of, with_query

if TYPE_CHECKING:
    from jinja2 import Environment

    from sgi.reporting.chart_specs import Specs


class NotFoundError(UsageError):
    """The requested object does not exist (status 404)."""


@cache
def templates() -> Environment:
    """Return the templates: templates of the dashboard take precedence over templates of the report."""
    jinja = environment("sgi_web")
    jinja.globals.update(run_path=run_path, sample_path=sample_path, segment=segment, with_query=with_query)
    jinja.filters["field_text"] = field_text
    return jinja


def page(request: Request, template: str, *, status: int = 200, **values: object) -> HTMLResponse:
    """Render a template as a response."""
    site = site_of(request)
    text = (
        templates()
        .get_template(template)
        .render(
            form_key=form_key(request),
            person=request.state.person,
            has_login=site.has_login,
            has_traces=site.receiver is not None,
            has_quiz=site.quiz is not None,
            path=request.scope["path"],
            **{"is_part": False, **values},
        )
    )
    return HTMLResponse(text.encode("utf-8", "replace"), status)


def is_htmx(request: Request) -> bool:
    """Return whether htmx sent the request."""
    return request.headers.get("hx-request") == "true"


def is_htmx_part(request: Request) -> bool:
    """Return whether htmx requests a part of a page."""
    return is_htmx(request) and request.headers.get("hx-request-type") == "partial"


def attachment(body: bytes, name: str, media_type: str) -> Response:
    """Return a response that the browser saves as a file."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(body, headers=headers, media_type=media_type)


def redirect(path: str) -> RedirectResponse:
    """Redirect to another page (status 303)."""
    return RedirectResponse(path, 303)


def charts_response(specs: Specs) -> Response:
    """Return chart specs as JSON."""
    body = orjson.dumps({"charts": specs}, option=orjson.OPT_SERIALIZE_NUMPY)
    return Response(body, media_type="application/json")


def run_or_404(
    request: Request,
    run: Annotated[
        str, Path(description="Id, name, `last`, or `last~1` for the run before it.", examples=["last"])
    ],
) -> RunRecord:
    """Return the run with this id, name, or unique beginning of an id.

    Raises:
        NotFoundError: there is no such run; the message suggests similar names.
    """
    try:
        return find_run(site_of(request).database, run)
    except UsageError as error:
        raise NotFoundError(error.message, hint="The list of runs shows all runs.") from error


Record = Annotated[RunRecord, Depends(run_or_404)]
"""The run that the path of a route names."""


def split_tags(text: str) -> tuple[str, ...]:
    """Split comma-separated tags.

    >>> split_tags(" a, b ,,a, ")
    ('a', 'b')
    """
    return tuple(dict.fromkeys(tag for tag in map(str.strip, text.split(",")) if tag))
