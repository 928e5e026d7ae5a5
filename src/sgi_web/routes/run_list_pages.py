"""List of runs; rename, tag and delete a run."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Form, Query
from markupsafe import Markup
from pydantic import Field, StringConstraints
from starlette.requests import Request
from starlette.responses import Response

from sgi.analysis.changes import MetricChange
from sgi.engine.summary import MetricSummary
from sgi.kernel.errors import UsageError
from sgi.reporting.formatting import importance
from sgi.reporting.overview import change_since
from sgi.reporting.views.run_view import Earlier
from sgi.store.manage_runs import change_run, delete_run
from sgi.store.run_history import finished_metrics, run_history
from sgi.store.run_queries import RunSort, page_of_runs
from sgi_web.access import EDITOR, OWN_FORM
from sgi_web.pages import Record, page, redirect, split_tags
from sgi_web.row_table import MAX_PAGE, FormParameters
from sgi_web.site import run_path, site_of, with_query
from sgi_web.uploads import uploads_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.reporting.overview import Change
    from sgi.store.run_history import SeriesEntry

router = APIRouter(include_in_schema=False)
SIZE = 25
MAX_RECENT = 20
"""Maximum number of recent runs, the shown one included."""
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
        """Return the link to the list with these changes of its parameters, without defaults."""
        return with_query("/", self.query_values(**changes))

    def sorted_by(self, sort: RunSort) -> tuple[str, str]:
        """Return the link that sorts by a column, or reverses its order, and the value of `aria-sort`."""
        column = ListParameters(sort=sort)
        present = "none"
        if sort == self.sort:
            present = "descending" if self.descending else "ascending"
            column.order = "up" if self.descending else "down"
        changes = {"sort": "" if sort == "started" else sort, "order": column.order, "page": ""}
        return self.address(**changes), present


@dataclass(frozen=True)
class MetricCell:
    """A metric in a finished run.

    Attributes:
        data: the name under which the page of trends shows the data of the run.
        summary: the summary of the metric.
        change: the difference of its mean and that of the last finished run before with data of the same
            name, without a test; None without such a run.
        recent: the means among the last ``MAX_RECENT`` runs of the same data up to this run.
    """

    data: str
    summary: MetricSummary
    change: Change | None
    recent: tuple[float, ...]


@router.get("/")
def listing(request: Request, parameters: Annotated[ListParameters, Query()]) -> Response:
    """Show a page of the runs that match the search and the tag."""
    database = site_of(request).database
    history = run_history(database)
    metrics = sorted(finished_metrics(database), key=importance)
    metric = parameters.metric if parameters.metric in metrics else next(iter(metrics), "")
    runs = page_of_runs(
        database,
        **parameters.model_dump(include={"search", "tag", "page", "sort"}),
        size=SIZE,
        descending=parameters.descending,
        values=_means(history, metric) if parameters.sort == "value" else {},
    )
    return page(
        request,
        "runs.html",
        metrics=metrics,
        metric_shown=metric,
        cells=_cells(history, {run.id for run in runs.records}, metric),
        list=runs,
        parameters=parameters,
        trend=_trend,
        uploads=uploads_of(request).active(),
        database=database.shown,
    )


def _means(history: Sequence[SeriesEntry], metric: str) -> dict[str, float]:
    return {run.id: mean for run in history if (mean := run.mean(metric)) is not None}


def _cells(history: Sequence[SeriesEntry], shown: set[str], metric: str) -> dict[str, MetricCell]:
    """Return the metric in each shown run; ``history`` is the oldest first."""
    cells: dict[str, MetricCell] = {}
    means: dict[str, float] = {}
    before: dict[str, list[SeriesEntry]] = defaultdict(list)
    for run in history:
        runs = before[run.data]
        entry = run.entry(metric) if run.id in shown else None
        if entry is not None and entry["mean"] is not None:
            summary = MetricSummary.from_dict(entry)
            change = change_since(summary, _earlier(runs[-1] if runs else None, summary))
            last = [*runs[1 - MAX_RECENT :], run]
            means |= _means([one for one in last if one.id not in means], metric)
            recent = tuple(means[one.id] for one in last if one.id in means)
            cells[run.id] = MetricCell(run.data, summary, change, recent)
        runs.append(run)
    return cells


def _earlier(run: SeriesEntry | None, summary: MetricSummary) -> Earlier | None:
    """Return the earlier run with the difference of the means."""
    mean = None if run is None else run.mean(summary.metric)
    if run is None or mean is None or summary.mean is None:
        return None
    return Earlier(run.id, run.label, {summary.metric: MetricChange(summary.mean - mean)})


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
    tags = ", ".join(record.tags)
    return page(request, "edit.html", head=record, name=record.name or "", tags=tags, problem="")


@router.post("/runs/{run}/edit", dependencies=[OWN_FORM])
def save(request: Request, record: Record, name: Text = "", tags: Text = "") -> Response:
    """Rename a run and set its tags; an error is shown above the form, and nothing is changed."""
    try:
        change_run(site_of(request).database, record.id, name=name.strip() or None, tags=split_tags(tags))
    except UsageError as error:
        values = {"head": record, "name": name, "tags": tags, "problem": str(error)}
        return page(request, "edit.html", status=400, **values)
    return redirect(run_path(record.id))


@router.get("/runs/{run}/delete", dependencies=[EDITOR])
def ask(request: Request, record: Record) -> Response:
    """Ask for confirmation before a run is deleted."""
    return page(request, "delete.html", head=record)


@router.post("/runs/{run}/delete", dependencies=[OWN_FORM])
def delete(request: Request, record: Record) -> Response:
    """Delete a run."""
    delete_run(site_of(request).database, record.id)
    return redirect("/")
