"""Page of a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter
from starlette.requests import Request  # noqa: TC002 - FastAPI reads it at run time
from starlette.responses import Response  # noqa: TC002 - the same

from sgi.reporting.views.run_header import run_header
from sgi.reporting.views.sample import sample_view
from sgi.store.row_pages import row_page
from sgi.web.filters import parameters, row_query
from sgi.web.pages import page, run_or_404
from sgi.web.paths import requested_sample, run_path, sample_path, with_query
from sgi.web.site import site_of

if TYPE_CHECKING:
    from sgi.store.run_queries import RunRecord

router = APIRouter(include_in_schema=False)


@router.get("/runs/{run}/samples")
@router.get("/runs/{run}/samples/{sample:anything}")
def sample_page(request: Request, run: str) -> Response:
    """Page of a row, with links to the previous and next row of the filtered list."""
    site = site_of(request)
    record = run_or_404(site, run)
    sample = sample_view(site.database, record, requested_sample(request))
    query = row_query(request.query_params)
    place = _place(request, record, sample.position)
    before, after = (_neighbour(request, record, place, step) for step in (-1, 1))
    back = with_query(run_path(record.id), parameters(query) | {"page": _page_of(place)})
    head = run_header(record)
    return page(
        request, "sample.html", head=head, sample=sample, before=before, after=after, back=back, place=place
    )


def _place(request: Request, record: RunRecord, position: int) -> int | None:
    """Position of the row in the filtered list, from 1; without a filter, in all rows."""
    said = request.query_params.get("at", "")
    if said.isascii() and said.isdecimal() and len(said) < 10:  # noqa: PLR2004 - maximum digits of a position
        return int(said)
    return position + 1 if record.scored == record.rows and not set(request.query_params) - {"id"} else None


def _neighbour(request: Request, record: RunRecord, place: int | None, step: int) -> str:
    """Address of the previous or next row; empty if there is none."""
    if place is None or place + step < 1:
        return ""
    query = row_query(request.query_params, size=1, page=place + step)
    found = row_page(site_of(request).database, record, query)
    if found.query.page != place + step or not found.rows:
        return ""
    asked = parameters(query)
    return with_query(sample_path(record.id, found.rows[0].id), asked | {"at": place + step})


def _page_of(place: int | None) -> int | str:
    number = 1 if place is None else (place - 1) // 50 + 1
    return number if number > 1 else ""
