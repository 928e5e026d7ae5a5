"""List of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from starlette.requests import Request  # noqa: TC002 - FastAPI reads it at run time
from starlette.responses import Response  # noqa: TC002 - the same

from sgi.reporting.run_table import run_table
from sgi.store.run_queries import RunSort
from sgi_web.jobs import jobs_of
from sgi_web.pages import page
from sgi_web.paths import with_query
from sgi_web.row_parameters import MAX_PAGE
from sgi_web.site import site_of
from sgi_web.sparkline import sparkline

if TYPE_CHECKING:
    from markupsafe import Markup

    from sgi.reporting.run_table import RunMetric

router = APIRouter(include_in_schema=False)
SIZE = 25


class ListParameters(BaseModel):
    """Query parameters of the list of runs."""

    search: str = ""
    tag: str = ""
    metric: str = ""
    sort: RunSort = "started"
    order: Literal["", "up", "down"] = ""
    page: int = Field(1, ge=1, le=MAX_PAGE)

    @property
    def descending(self) -> bool:
        """Whether the largest or newest comes first; texts begin with the first letter by default."""
        return self.order == "down" if self.order else self.sort not in {"name", "data"}

    def address(self, **changes: object) -> str:
        """Return the address of the list with changes; defaults are left out."""
        return with_query("/", self.model_dump(exclude_defaults=True) | changes)

    def sorted_by(self, sort: RunSort) -> tuple[str, str]:
        """Return the address that sorts by a column, again for the other direction, and its `aria-sort`."""
        column = ListParameters(sort=sort)
        present = "none"
        if sort == self.sort:
            present = "descending" if self.descending else "ascending"
            column.order = "up" if self.descending else "down"
        changes = {"sort": "" if sort == "started" else sort, "order": column.order, "page": ""}
        return self.address(**changes), present


@router.get("/")
def listing(request: Request, parameters: Annotated[ListParameters, Query()]) -> Response:
    """Show a page of the runs that match the search and the tag."""
    database = site_of(request).database
    table = run_table(
        database,
        search=parameters.search.strip(),
        tag=parameters.tag or None,
        page=parameters.page,
        size=SIZE,
        sort=parameters.sort,
        descending=parameters.descending,
        metric=parameters.metric,
    )
    return page(
        request,
        "runs.html",
        table=table,
        list=table.list,
        parameters=parameters,
        trend=_trend,
        jobs=jobs_of(request).unfinished(),
        database=database.shown,
    )


def _trend(cell: RunMetric) -> Markup:
    """Draw the means of a metric in recent runs."""
    runs = f"{len(cell.recent)} {'run' if len(cell.recent) == 1 else 'runs'}"
    ends = [f"{value:.3g}" for value in (cell.recent[0], cell.recent[-1], min(cell.recent), max(cell.recent))]
    name = f"Last {runs} of this data: from {ends[0]} to {ends[1]}, between {ends[2]} and {ends[3]}"
    return sparkline(cell.recent, name)
