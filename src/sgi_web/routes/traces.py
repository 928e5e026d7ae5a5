"""Page of the receiver of traces."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request  # noqa: TC002 - FastAPI reads it at run time
from starlette.responses import Response  # noqa: TC002 - the same

from sgi.reporting.views.runs import run_list
from sgi.service.traces.runs import RUN_PREFIX
from sgi_web.pages import NotFoundError, page
from sgi_web.site import site_of

router = APIRouter(include_in_schema=False)
_RUNS = 24


@router.get("/traces")
def traces(request: Request) -> Response:
    """Show the counts of the receiver of traces, and its newest runs."""
    site = site_of(request)
    if site.receiver is None:
        raise NotFoundError("This server does not receive traces: start it with sgi serve --otlp.")
    found = run_list(site.database, search=RUN_PREFIX, size=_RUNS).runs
    runs = [run for run in found if (run.name or "").startswith(RUN_PREFIX)]
    return page(request, "traces.html", receiver=site.receiver.status(), runs=runs)
