"""Pages of a run: its summary, charts and rows, one row, and what is wrong with the rows."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from sgi.analysis.diagnosis.causes import SHARES_ARE, TITLES
from sgi.analysis.diagnosis.diagnose import diagnose_run
from sgi.engine.stored_runs import read_run
from sgi.kernel.errors import UsageError
from sgi.reporting.chart_specs import cause_charts, label_charts, run_charts
from sgi.reporting.diagnosis_tables import evidence_text
from sgi.reporting.formatting import importance
from sgi.reporting.views.row_view import sample_view
from sgi.reporting.views.run_header import state_of
from sgi.reporting.views.run_view import changes_since
from sgi.store.run_queries import run_before, run_usage
from sgi.store.sample_history import other_answers
from sgi_web.cached_views import cached_headline, cached_rows, compute_once, run_view
from sgi_web.pages import Record, charts_response, is_htmx_part, page, templates
from sgi_web.row_table import (
    MAX_PAGE,
    PageParameters,
    reason_of,
    reasons_of_rows,
    review_metric,
    row_columns,
    text_columns,
)
from sgi_web.site import requested_sample, run_path, sample_path, site_of, trace_address, with_query

if TYPE_CHECKING:
    from sgi.analysis.diagnosis.diagnosis import Diagnosis
    from sgi.reporting.views.run_view import Earlier
    from sgi.store.row_query import RowLine, RowPage
    from sgi.store.run_queries import RunRecord

router = APIRouter(include_in_schema=False)
Parameters = Annotated[PageParameters, Query()]
MAX_DIAGNOSED = 5_000
"""Maximum rows of a run that is diagnosed; more take too long for a page."""
_DIAGNOSED_SHOWN = 200
_METRICS = 4
"""Number of metrics in the table of other runs."""


@router.get("/runs/{run}")
def run_page(request: Request, record: Record, parameters: Parameters) -> Response:
    """Show a run without charts and groups, which the page loads later; htmx gets only the table of rows."""
    if parameters.needs_metric:
        parameters = parameters.model_copy(update={"metric": review_metric(record)})
    if set(parameters.columns).issuperset((*text_columns(record), *record.metrics)):
        parameters = parameters.model_copy(update={"columns": []})
    name = "table", parameters.model_dump_json()
    rows, filters, table = compute_once(request, [record], name, lambda: _table(request, record, parameters))
    values: dict[str, Any] = {
        "run": record.id,
        "rows": rows,
        "table": Markup(table),  # noqa: S704 - a template escaped it
        "filters": filters,
        "address": lambda number: with_query(
            run_path(record.id), filters | {"page": number if number > 1 else ""}
        ),
    }
    if is_htmx_part(request):
        return page(request, "rows.html", **values)
    headline, columns = cached_headline(request, record), (*text_columns(record), *record.metrics)
    return page(
        request,
        "run.html",
        head=record,
        choices=[(column, column in parameters.shown(columns)) for column in columns],
        headline=headline,
        earlier=_earlier(request, record),
        sort=parameters.sort,
        compare=lambda before: with_query("/compare", {"base": before, "new": record.id}),
        **values,
    )


def _earlier(request: Request, record: RunRecord) -> Earlier | None:
    database = site_of(request).database
    before = run_before(database, record)
    if before is None:
        return None
    changes = partial(changes_since, database, before, record)
    return compute_once(request, [before, record], "changes", changes)


@router.get("/runs/{run}/state")
def state(request: Request, record: Record) -> Response:
    """Show the progress of a run; the page reloads when the run ends."""
    response = page(request, "state.html", head=record)
    if state_of(record) != "unfinished":
        response.headers["HX-Refresh"] = "true"
    return response


@router.get("/runs/{run}/parts")
def parts(request: Request, record: Record) -> Response:
    """Show groups, correlations, reasons for missing values, and the cost of the judge."""
    view = run_view(request, record)
    return page(
        request,
        "parts_of_run.html",
        is_part=is_htmx_part(request),
        head=record,
        groups=compute_once(request, [record], "groups", lambda: view.groups),
        correlation=compute_once(request, [record], "correlation", lambda: view.correlation),
        reasons=compute_once(request, [record], "reasons", lambda: view.reasons),
        usage=run_usage(site_of(request).database, record.id),
    )


@router.get("/runs/{run}/charts.json")
def charts(request: Request, record: Record) -> Response:
    """Return the chart specs of a run."""
    specs = compute_once(request, [record], "charts", lambda: run_charts(run_view(request, record)))
    return charts_response(specs)


@router.get("/runs/{run}/labels.json")
def labels(request: Request, record: Record) -> Response:
    """Return the chart specs of the metrics compared with the labels."""
    view = run_view(request, record)
    return charts_response(compute_once(request, [record], "labels", lambda: label_charts(view.labelled)))


def _table(
    request: Request, record: RunRecord, parameters: PageParameters
) -> tuple[RowPage, dict[str, object], str]:
    """Return a page of rows, the parameters that select it, and its table as HTML; all sessions share it."""
    rows = cached_rows(request, record, parameters.query(), parameters.shown(record.metrics))
    filters = parameters.model_copy(update={"metric": rows.query.metric}).filters()
    first = (rows.query.page - 1) * rows.query.size + 1
    places = {row.position: first + n for n, row in enumerate(rows.rows)}

    def link(row: RowLine) -> str:
        """Return the address of a row, with its position among the filtered rows."""
        return with_query(sample_path(record.id, row.id), filters | {"at": places[row.position]})

    columns, texts = row_columns(record.id, rows, filters), parameters.shown(text_columns(record))
    reasons = reasons_of_rows(site_of(request).database, record, rows) if "why" in texts else {}
    template = templates().get_template("rows_table.html")
    return (
        rows,
        filters,
        template.render(rows=rows, columns=columns, texts=texts, link=link, reasons=reasons),
    )


@router.get("/runs/{run}/samples")
@router.get("/runs/{run}/samples/{sample:anything}")
def sample_page(request: Request, record: Record, parameters: Parameters) -> Response:
    """Show a row, with links to the previous and next row of the filtered list."""
    site = site_of(request)
    sample = sample_view(site.database, record, requested_sample(request))
    if "at" not in request.query_params and not parameters.filters():
        parameters = parameters.model_copy(update={"sort": "position"})
    filters = parameters.filters()
    place = _place(request, record, sample.position, filtered=filters != {"sort": "position"})
    before, _ = _neighbour(request, record, parameters, place, -1)
    after, total = _neighbour(request, record, parameters, place, 1)
    number = 1 if place is None else (place - 1) // 50 + 1
    return page(
        request,
        "sample.html",
        head=record,
        sample=sample,
        why=reason_of(sample, review_metric(record) or ""),
        before=before,
        after=after,
        back=with_query(run_path(record.id), filters | {"page": number if number > 1 else ""}),
        place=place,
        total=total,
        others=other_answers(site.database, record, sample.id, sample.question),
        trace=trace_address(site.trace_url, sample.metadata),
        can_diagnose=record.scored <= MAX_DIAGNOSED,
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


@router.get("/runs/{run}/diagnosis")
def diagnosis_page(request: Request, record: Record, cause: str = "") -> Response:
    """Show the share of each cause, and the rows of one cause."""
    result = _diagnosis(request, record)
    chosen = result.of_cause(cause) if cause else ()
    return page(
        request,
        "diagnosis.html",
        head=record,
        diagnosis=result,
        titles=TITLES,
        shares_are=SHARES_ARE,
        cause=cause,
        matches=len(chosen),
        rows=[(row, evidence_text(row)) for row in chosen[:_DIAGNOSED_SHOWN]],
    )


@router.get("/runs/{run}/diagnosis.json")
def diagnosis_charts(request: Request, record: Record) -> Response:
    """Return the chart of the causes."""
    return charts_response(cause_charts(_diagnosis(request, record)))


@router.get("/runs/{run}/cause")
def cause(request: Request, record: Record, id: str) -> Response:  # noqa: A002 - the name of the parameter
    """Show the cause of what is wrong with one row."""
    result = _diagnosis(request, record)
    row = result[id]
    return page(
        request,
        "cause.html",
        is_part=is_htmx_part(request),
        head=record,
        row=row,
        title=TITLES.get(row.cause, "") if row.cause else "",
        evidence=evidence_text(row),
        step=result.next_steps.get(row.cause, "") if row.cause else "",
    )


def _diagnosis(request: Request, record: RunRecord) -> Diagnosis:
    if record.scored > MAX_DIAGNOSED:
        message = f"The run has {record.scored:,} rows; this page diagnoses at most {MAX_DIAGNOSED:,}."
        raise UsageError(message, hint=f"Use the command: sgi diagnose {record.id}.")
    database = site_of(request).database
    return compute_once(request, [record], "diagnosis", lambda: diagnose_run(read_run(database, record)))
