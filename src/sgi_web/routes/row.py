"""Page of a row."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request  # noqa: TC002 - FastAPI reads it at run time
from starlette.responses import Response  # noqa: TC002 - the same

from sgi.reporting.overview import importance
from sgi.reporting.views.run_header import run_header
from sgi.reporting.views.sample import sample_view
from sgi.store.sample_history import other_answers
from sgi_web.pages import page, run_or_404
from sgi_web.paths import requested_sample, run_path, sample_path, trace_address, with_query
from sgi_web.routes.diagnosis import MAX_ROWS
from sgi_web.row_parameters import MAX_PAGE, PageParameters
from sgi_web.run_views import cached_rows
from sgi_web.site import site_of

if TYPE_CHECKING:
    from sgi.store.run_queries import RunRecord

router = APIRouter(include_in_schema=False)
_METRICS = 4
"""Number of metrics in the table of other runs."""


@router.get("/runs/{run}/samples")
@router.get("/runs/{run}/samples/{sample:anything}")
def sample_page(request: Request, run: str, parameters: Annotated[PageParameters, Query()]) -> Response:
    """Show a row, with links to the previous and next row of the filtered list."""
    site = site_of(request)
    record = run_or_404(site, run)
    sample = sample_view(site.database, record, requested_sample(request))
    filters = parameters.filters()
    place = _place(request, record, sample.position, filtered=bool(filters))
    before, _ = _neighbour(request, record, parameters, place, -1)
    after, total = _neighbour(request, record, parameters, place, 1)
    back = with_query(run_path(record.id), filters | {"page": _page_of(place)})
    head = run_header(record)
    return page(
        request,
        "sample.html",
        head=head,
        sample=sample,
        before=before,
        after=after,
        back=back,
        place=place,
        total=total,
        others=other_answers(site.database, record, sample.id, sample.question),
        trace=trace_address(site.trace_url, sample.metadata),
        can_diagnose=record.scored <= MAX_ROWS,
        metrics=sorted(sample.scores, key=importance)[:_METRICS],
    )


def _place(request: Request, record: RunRecord, position: int, *, filtered: bool) -> int | None:
    """Return the position of the row, from 1, in the filtered list, or in all rows if there is no filter."""
    at = request.query_params.get("at", "")
    if at.isascii() and at.isdecimal() and len(at) < len(str(MAX_PAGE)):
        return int(at)
    return position + 1 if record.scored == record.rows and not filtered else None


def _neighbour(
    request: Request, record: RunRecord, parameters: PageParameters, place: int | None, step: int
) -> tuple[str, int]:
    """Return the address of the previous or next row, empty if there is none, and the number of rows."""
    if place is None or place + step < 1:
        return "", 0
    query = replace(parameters.query(), size=1, page=place + step)
    page_of_one = cached_rows(request, record, query, ())
    if page_of_one.query.page != place + step or not page_of_one.rows:
        return "", page_of_one.total
    path = sample_path(record.id, page_of_one.rows[0].id)
    return with_query(path, parameters.filters() | {"at": place + step}), page_of_one.total


def _page_of(place: int | None) -> int | str:
    number = 1 if place is None else (place - 1) // 50 + 1
    return number if number > 1 else ""
