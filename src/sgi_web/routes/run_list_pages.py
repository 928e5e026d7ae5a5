"""List of runs; rename, tag and delete a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Form, Query
from markupsafe import Markup
from pydantic import Field, StringConstraints
from starlette.requests import Request  # noqa: TC002 - FastAPI reads it at run time
from starlette.responses import Response  # noqa: TC002 - the same

from sgi.kernel.errors import UsageError
from sgi.reporting.run_table import run_table
from sgi.reporting.views.run_header import run_header
from sgi.store.manage_runs import change_run, delete_run
from sgi.store.run_queries import RunSort  # noqa: TC001 - the same
from sgi_web.access import EDITOR, OWN_FORM
from sgi_web.pages import Record, page, redirect, split_tags
from sgi_web.paths import run_path, with_query
from sgi_web.row_table import MAX_PAGE, FormParameters
from sgi_web.site import site_of
from sgi_web.uploads import uploads_of

if TYPE_CHECKING:
    from sgi.reporting.run_table import MetricCell

router = APIRouter(include_in_schema=False)
SIZE = 25
Text = Annotated[str, Form()]
_WIDTH, _HEIGHT, _EDGE = 96, 24, 3
"""Size and margin of the chart of a trend, in pixels."""


class ListParameters(FormParameters):
    """Query parameters of the list of runs."""

    search: Annotated[str, StringConstraints(strip_whitespace=True)] = ""
    tag: str | None = None
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
        return with_query("/", self.query_values(**changes))

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
    chosen = parameters.model_dump(exclude={"order"})
    table = run_table(database, **chosen, size=SIZE, descending=parameters.descending)
    return page(
        request,
        "runs.html",
        table=table,
        list=table.list,
        parameters=parameters,
        trend=_trend,
        uploads=uploads_of(request).active(),
        database=database.shown,
    )


def _trend(cell: MetricCell) -> Markup:
    """Draw the means of a metric in recent runs from left to right, with a dot at the last one."""
    values = cell.recent
    low, high = min(values), max(values)
    runs = f"{len(values)} {'run' if len(values) == 1 else 'runs'}"
    ends = [f"{value:.3g}" for value in (values[0], values[-1], low, high)]
    name = f"Last {runs} of this data: from {ends[0]} to {ends[1]}, between {ends[2]} and {ends[3]}"
    step = (_WIDTH - 2 * _EDGE) / max(1, len(values) - 1)
    first = _WIDTH - _EDGE - step * (len(values) - 1)
    shares = [(value - low) / (high - low) if high > low else 0.5 for value in values]
    points = [
        (first + n * step, _EDGE + (1 - share) * (_HEIGHT - 2 * _EDGE)) for n, share in enumerate(shares)
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return Markup(
        '<svg class="spark" role="img" aria-label="{}" viewBox="0 0 {} {}" width="{}" height="{}">'
        '<polyline points="{}" fill="none" stroke="currentColor" stroke-width="1.5" '
        'stroke-linejoin="round"/><circle cx="{:.1f}" cy="{:.1f}" r="2.5" fill="currentColor"/></svg>'
    ).format(name, _WIDTH, _HEIGHT, _WIDTH, _HEIGHT, line, *points[-1])


@router.get("/runs/{run}/edit", dependencies=[EDITOR])
def edit(request: Request, record: Record) -> Response:
    """Show the form for the name and tags of a run."""
    head = run_header(record)
    return page(request, "edit.html", head=head, name=head.name or "", tags=", ".join(head.tags), problem="")


@router.post("/runs/{run}/edit", dependencies=[OWN_FORM])
def save(request: Request, record: Record, name: Text = "", tags: Text = "") -> Response:
    """Rename a run and set its tags; an error is shown above the form, and nothing is changed."""
    try:
        change_run(site_of(request).database, record.id, name=name.strip() or None, tags=split_tags(tags))
    except UsageError as error:
        values = {"head": run_header(record), "name": name, "tags": tags, "problem": str(error)}
        return page(request, "edit.html", status=400, **values)
    return redirect(run_path(record.id))


@router.get("/runs/{run}/delete", dependencies=[EDITOR])
def ask(request: Request, record: Record) -> Response:
    """Ask for confirmation before a run is deleted."""
    return page(request, "delete.html", head=run_header(record))


@router.post("/runs/{run}/delete", dependencies=[OWN_FORM])
def delete(request: Request, record: Record) -> Response:
    """Delete a run."""
    delete_run(site_of(request).database, record.id)
    return redirect("/")
