"""Comparison of two runs, and leaderboard of several runs or of the systems of one run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from sgi.analysis.parallel_rows import MAX_PARALLEL_RUNS, parallel_rows
from sgi.engine.stored_runs import read_run
from sgi.kernel.errors import UsageError
from sgi.reporting.chart_specs import comparison_charts, leaderboard_charts
from sgi.reporting.html import leaderboard_report
from sgi.reporting.leaderboard_view import LeaderboardOptions, LeaderboardView, leaderboard_view
from sgi.reporting.views.comparison import ComparisonView, comparison_view
from sgi.reporting.views.parallel_rows_view import parallel_page
from sgi.stats.letters import MAX_SYSTEMS
from sgi.store.row_query import worst_first
from sgi.store.run_queries import page_of_runs
from sgi_web.cached_views import compute_once, run_view
from sgi_web.pages import attachment, charts_response, page, redirect, run_or_404
from sgi_web.row_table import MAX_PAGE, Column, FormParameters
from sgi_web.site import field_text, run_path, site_of, with_query

if TYPE_CHECKING:
    from collections.abc import Callable

    from sgi.analysis.leaderboard_result import MetricLeaderboard
    from sgi.engine.run import Run
    from sgi.store.run_queries import RunRecord

router = APIRouter(include_in_schema=False)
_CHOICES = 200
_Metric = Annotated[str | None, Field(max_length=1000)]


class LeaderboardParameters(FormParameters):
    """Query parameters that select the systems of a leaderboard and its parts."""

    run: list[str] = Field(
        min_length=1,
        max_length=MAX_SYSTEMS,
        description="The runs: two or more, or one with `by`.",
        examples=[["last~1", "last"]],
    )
    by: Column = Field(
        None, max_length=1000, description="A column of one run's data that names the system of each row."
    )
    within: Column = Field(
        None, max_length=1000, description="A column of the data; also return the means by its values."
    )
    quality: _Metric = Field(None, description="With `cost`: also return the Pareto front on two metrics.")
    cost: _Metric = Field(None, description="The second metric of the front.")
    allow_different: bool = Field(
        default=False, description="Compare runs even if they differ in more than their responses."
    )

    def options(self) -> LeaderboardOptions:
        """Convert to the options of the view. Raises UsageError if a Pareto front has only one metric."""
        pair = (self.quality, self.cost) if self.quality and self.cost else None
        if pair is None and (self.quality or self.cost):
            raise UsageError("A Pareto front needs two metrics: `quality` and `cost`.")
        return LeaderboardOptions(self.by, self.within, pareto=pair, allow_different=self.allow_different)


class BoardParameters(LeaderboardParameters):
    """Query parameters of the page of a leaderboard, which also shows the rows of the runs side by side."""

    metric: str = Field("", max_length=2000)
    page: int = Field(1, ge=1, le=MAX_PAGE)


Parameters = Annotated[LeaderboardParameters, Query()]


@router.get("/compare")
def compare(
    request: Request,
    run: Annotated[list[str], Query(default_factory=list)],
    base: str = "",
    new: str = "",
    *,
    allow_different: bool = False,
) -> Response:
    """Show the differences of two runs, or a form to select the runs if they are not given."""
    if run:
        return _selected(request, run)
    if not (base and new):
        choices = page_of_runs(site_of(request).database, size=_CHOICES)
        return page(request, "choose.html", choices=choices, base=base, new=new)
    view = _comparison(request, base, new, allow_different=allow_different)
    runs = {"base": view.base.id, "new": view.new.id}
    option = {"allow_different": "1" if allow_different else ""}
    return page(
        request,
        "compare.html",
        view=view,
        charts=with_query("/compare/charts.json", runs | option),
        swapped=with_query("/compare", {"base": view.new.id, "new": view.base.id} | option),
        side_by_side=with_query("/leaderboard", option | {"run": [view.base.id, view.new.id]}),
    )


@router.get("/compare/charts.json")
def compare_charts(request: Request, base: str, new: str, *, allow_different: bool = False) -> Response:
    """Return the chart spec of the differences."""
    view = _comparison(request, base, new, allow_different=allow_different)
    return charts_response(comparison_charts(view))


def _selected(request: Request, selection: list[str]) -> Response:
    """Redirect to the comparison of two selected runs, the older one as the base, or to a leaderboard."""
    records = [run_or_404(request, run) for run in dict.fromkeys(selection)]
    runs = [record.id for record in sorted(records, key=lambda record: (record.created_at, record.id))]
    match runs:
        case [base, new]:
            return redirect(with_query("/compare", {"base": base, "new": new}))
    return redirect(with_query("/leaderboard", {"run": runs}))


def _comparison(request: Request, base: str, new: str, *, allow_different: bool) -> ComparisonView:
    database, records = site_of(request).database, [run_or_404(request, base), run_or_404(request, new)]

    def compared() -> ComparisonView:
        return comparison_view(database, *records, allow_different=allow_different)

    return compute_once(request, records, ("comparison", allow_different), compared)


@router.get("/leaderboard")
def leaderboard(request: Request, parameters: Annotated[BoardParameters, Query()]) -> Response:
    """Rank the systems, or show a form to select the column that names the systems of one run."""
    records = _records(request, parameters)
    if len(records) == 1 and parameters.by is None:
        head, columns = records[0], _columns(request, records[0])
        return page(request, "choose_column.html", head=head, columns=columns)
    return page(
        request,
        "leaderboard.html",
        view=cached_leaderboard(request, parameters),
        parameters=parameters,
        columns=[column for column in _columns(request, records[0]) if column != parameters.by],
        charts=with_query("/leaderboard/charts.json", parameters.query_values()),
        report=with_query("/leaderboard/report.html", parameters.query_values()),
        rows_link=_rows_link(records, parameters.by),
        pair_link=_pair_link(records, parameters),
        **_rows_side_by_side(request, records, parameters),
    )


@router.get("/leaderboard/charts.json")
def charts(request: Request, parameters: Parameters) -> Response:
    """Return the chart specs of a leaderboard."""
    return charts_response(leaderboard_charts(cached_leaderboard(request, parameters)))


@router.get("/leaderboard/report.html")
def report(request: Request, parameters: Parameters) -> Response:
    """Download the leaderboard as one HTML file."""
    body = leaderboard_report(cached_leaderboard(request, parameters)).encode("utf-8", "replace")
    return attachment(body, "leaderboard.html", "text/html")


def _scored_runs(request: Request, records: list[RunRecord]) -> list[Run]:
    """Return the scores of runs; simultaneous requests and all views share one read."""
    database = site_of(request).database

    def read() -> list[Run]:
        return [read_run(database, record) for record in records]

    return compute_once(request, records, "scored runs", read)


def cached_leaderboard(request: Request, parameters: LeaderboardParameters) -> LeaderboardView:
    """Return the view of a leaderboard; simultaneous requests share one computation."""
    records, options = _records(request, parameters), parameters.options()

    def ranked() -> LeaderboardView:
        return leaderboard_view(records, _scored_runs(request, records), options)

    return compute_once(request, records, ("leaderboard", options), ranked)


def _rows_side_by_side(
    request: Request, records: list[RunRecord], parameters: BoardParameters
) -> dict[str, Any]:
    """Return a page of the rows of the runs for the template, or why they cannot be shown."""
    if parameters.by is not None:
        return {"parallel": None, "problem": ""}
    if len(records) > MAX_PARALLEL_RUNS:
        message = f"Rows of at most {MAX_PARALLEL_RUNS} runs are shown side by side. Select fewer runs."
        return {"parallel": None, "problem": message}
    rows = compute_once(request, records, "rows", lambda: parallel_rows(_scored_runs(request, records)))
    return {
        "parallel": parallel_page(rows, parameters.metric, parameters.page),
        "problem": "",
        "turn": lambda number: f"{with_query('/leaderboard', parameters.query_values(page=number))}#parallel",
    }


def _records(request: Request, parameters: LeaderboardParameters) -> list[RunRecord]:
    return [run_or_404(request, run) for run in dict.fromkeys(parameters.run)]


def _columns(request: Request, record: RunRecord) -> list[str]:
    """Return the columns of the data with few values, which can name systems or groups of questions."""
    groups = compute_once(request, [record], "groups", lambda: run_view(request, record).groups)
    return [table.by for table in groups if table.by != "label"]


def _rows_link(records: list[RunRecord], by: str | None) -> Callable[[str, MetricLeaderboard], str]:
    """Return a function from a system and a metric to the address of the system's rows, worst first."""
    runs = {record.label: record.id for record in records}

    def link(system: str, metric: MetricLeaderboard) -> str:
        sort = worst_first(higher_is_better=metric.higher_is_better)
        values = {"metric": metric.metric, "sort": sort} | (
            {"by": field_text(by), "is": field_text(system)} if by else {}
        )
        return f"{with_query(run_path(records[0].id if by else runs[system]), values)}#rows-title"

    return link


def _pair_link(
    records: list[RunRecord], parameters: LeaderboardParameters
) -> Callable[[str, str], str] | None:
    """Return a function from two runs to the address of their comparison; None for systems of one run."""
    if parameters.by is not None:
        return None
    runs = {record.label: record.id for record in records}
    option = {"allow_different": "1" if parameters.allow_different else ""}
    return lambda base, new: with_query("/compare", {"base": runs[base], "new": runs[new]} | option)
