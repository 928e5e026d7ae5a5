"""Leaderboard of several runs, or of the systems of one run."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

import orjson
from fastapi import APIRouter, Query
from starlette.requests import Request  # noqa: TC002 - FastAPI reads it at run time
from starlette.responses import Response

from sgi.analysis.parallel_rows import MAX_PARALLEL_RUNS, parallel_rows
from sgi.analysis.run_differences import RunsDifferError
from sgi.reporting.chart_specs import leaderboard_charts
from sgi.reporting.html import leaderboard_report
from sgi.reporting.views.leaderboard import LeaderboardView, leaderboard_view
from sgi.reporting.views.parallel_rows import parallel_page
from sgi.reporting.views.run_header import run_header
from sgi.store.row_filters import worst_first
from sgi.store.scored_runs import scored_run
from sgi_web.errors import status_of
from sgi_web.leaderboard_parameters import BoardParameters, LeaderboardParameters
from sgi_web.pages import page, run_or_404
from sgi_web.paths import run_path, with_query
from sgi_web.run_views import compute_once, compute_together, run_views
from sgi_web.site import site_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from sgi.analysis.leaderboard import MetricLeaderboard
    from sgi.kernel.scored_run import ScoredRun
    from sgi.store.run_queries import RunRecord

    ReadRuns = Callable[[], list[ScoredRun]]

router = APIRouter(include_in_schema=False)
Parameters = Annotated[LeaderboardParameters, Query()]


@router.get("/leaderboard")
def leaderboard(request: Request, parameters: Annotated[BoardParameters, Query()]) -> Response:
    """Rank the systems, or show a form to select the column that names the systems of one run."""
    records = _records(request, parameters)
    if len(records) == 1 and parameters.by is None:
        return page(
            request, "choose_column.html", head=run_header(records[0]), columns=_columns(request, records[0])
        )
    read_runs = _run_reader(request, records)
    try:
        view = cached_leaderboard(request, parameters, read_runs)
    except RunsDifferError as error:
        anyway = with_query("/leaderboard", parameters.query(allow_different=1))
        values = {"differences": error.differences, "anyway": anyway}
        return page(
            request,
            "different.html",
            status=status_of(error),
            base=error.base,
            new=error.new,
            **values,
        )
    return page(
        request,
        "leaderboard.html",
        view=view,
        parameters=parameters,
        columns=[column for column in _columns(request, records[0]) if column != parameters.by],
        charts=with_query("/leaderboard/charts.json", parameters.query()),
        report=with_query("/leaderboard/report.html", parameters.query()),
        rows_link=_rows_link(records, parameters.by),
        pair_link=_pair_link(records, parameters),
        **_rows_side_by_side(request, records, parameters, read_runs),
    )


@router.get("/leaderboard/charts.json")
def charts(request: Request, parameters: Parameters) -> Response:
    """Return the chart specs of a leaderboard."""
    specs = leaderboard_charts(cached_leaderboard(request, parameters))
    body = orjson.dumps({"charts": specs}, option=orjson.OPT_SERIALIZE_NUMPY)
    return Response(body, media_type="application/json")


@router.get("/leaderboard/report.html")
def report(request: Request, parameters: Parameters) -> Response:
    """Download the leaderboard as one HTML file."""
    body = leaderboard_report(cached_leaderboard(request, parameters)).encode("utf-8", "replace")
    headers = {"Content-Disposition": 'attachment; filename="leaderboard.html"'}
    return Response(body, headers=headers, media_type="text/html")


def _run_reader(request: Request, records: list[RunRecord]) -> ReadRuns:
    """Return a function that reads the scores of runs once, for all views that a request computes."""
    database = site_of(request).database
    return cache(lambda: [scored_run(database, record) for record in records])


def cached_leaderboard(
    request: Request, parameters: LeaderboardParameters, read_runs: ReadRuns | None = None
) -> LeaderboardView:
    """Return the view of a leaderboard; simultaneous requests share one computation."""
    records, options = _records(request, parameters), parameters.options()
    read = read_runs or _run_reader(request, records)
    return compute_together(
        request, records, ("leaderboard", options), lambda: leaderboard_view(records, read(), options)
    )


def _rows_side_by_side(
    request: Request, records: list[RunRecord], parameters: BoardParameters, read_runs: ReadRuns
) -> dict[str, Any]:
    """Return a page of the rows of the runs for the template, or why they cannot be shown."""
    if parameters.by is not None:
        return {"parallel": None, "problem": ""}
    if len(records) > MAX_PARALLEL_RUNS:
        message = (
            f"Rows of at most {MAX_PARALLEL_RUNS} runs are shown side by side; {len(records)} are selected."
        )
        return {"parallel": None, "problem": f"{message} Select fewer runs."}
    rows = compute_together(request, records, "rows", lambda: parallel_rows(read_runs()))
    shown = parallel_page(rows, parameters.metric, parameters.page)
    return {
        "parallel": shown,
        "problem": "",
        "turn": lambda number: f"{with_query('/leaderboard', parameters.query(page=number))}#parallel",
    }


def _records(request: Request, parameters: LeaderboardParameters) -> list[RunRecord]:
    site = site_of(request)
    return [run_or_404(site, run) for run in dict.fromkeys(parameters.run)]


def _columns(request: Request, record: RunRecord) -> list[str]:
    """Return the columns of the data with few values, which can name systems or groups of questions."""
    tables = compute_once(request, record, "tables", lambda: run_views(request, record).tables)
    return [table.by for table in tables.groups if table.by != "label"]


def _rows_link(records: list[RunRecord], by: str | None) -> Callable[[str, MetricLeaderboard], str]:
    """Return a function from a system and a metric to the address of the system's rows, worst first."""
    runs = {record.label: record.id for record in records}

    def link(system: str, metric: MetricLeaderboard) -> str:
        sort = worst_first(higher_is_better=metric.higher_is_better)
        values = {"metric": metric.metric, "sort": sort} | ({"by": by, "is": system} if by else {})
        return f"{with_query(run_path(records[0].id if by else runs[system]), values)}#rows-title"

    return link


def _pair_link(
    records: list[RunRecord], parameters: LeaderboardParameters
) -> Callable[[str, str], str] | None:
    """Return a function from two runs to the address of their comparison; None for systems of one run."""
    if parameters.by is not None:
        return None
    runs = {record.label: record.id for record in records}
    allowed = "1" if parameters.allow_different else ""
    return lambda base, new: with_query(
        "/compare", {"base": runs[base], "new": runs[new], "allow_different": allowed}
    )
