"""List of runs."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request  # noqa: TC002 - FastAPI reads it at run time
from starlette.responses import Response  # noqa: TC002 - the same

from sgi.reporting.views.runs import run_list
from sgi.web.filters import page_number
from sgi.web.jobs import jobs_of
from sgi.web.pages import page
from sgi.web.site import site_of

router = APIRouter(include_in_schema=False)
SIZE = 25


@router.get("/")
def listing(request: Request) -> Response:
    """Runs that match the search and the tag, paginated."""
    site = site_of(request)
    asked = request.query_params
    found = run_list(
        site.database,
        search=asked.get("search", "").strip(),
        tag=asked.get("tag") or None,
        page=page_number(asked),
        size=SIZE,
    )
    return page(
        request, "runs.html", list=found, jobs=jobs_of(request).pending(), database=site.database.shown
    )
