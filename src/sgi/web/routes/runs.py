"""List of runs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request  # noqa: TC002 - FastAPI reads it at run time
from starlette.responses import Response  # noqa: TC002 - the same

from sgi.reporting.views.runs import run_list
from sgi.web.jobs import jobs_of
from sgi.web.pages import page
from sgi.web.row_parameters import MAX_PAGE
from sgi.web.site import site_of

router = APIRouter(include_in_schema=False)
SIZE = 25


@router.get("/")
def listing(
    request: Request,
    search: str = "",
    tag: str = "",
    number: Annotated[int, Query(alias="page", ge=1, le=MAX_PAGE)] = 1,
) -> Response:
    """Show a page of the runs that match the search and the tag."""
    database = site_of(request).database
    runs = run_list(database, search=search.strip(), tag=tag or None, page=number, size=SIZE)
    return page(request, "runs.html", list=runs, jobs=jobs_of(request).unfinished(), database=database.shown)
