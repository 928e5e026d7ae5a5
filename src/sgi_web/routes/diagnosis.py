"""Page with the causes of what is wrong with the rows of a run."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import orjson
from fastapi import APIRouter
from starlette.requests import Request  # noqa: TC002 - FastAPI reads it at run time
from starlette.responses import Response

from sgi.analysis.diagnosis.causes import TITLES
from sgi.analysis.diagnosis.sources import diagnose_stored
from sgi.kernel.errors import UsageError
from sgi.reporting.chart_specs import cause_charts
from sgi.reporting.diagnosis_tables import evidence_text
from sgi.reporting.views.run_header import run_header
from sgi_web.pages import is_htmx_part, page, run_or_404
from sgi_web.run_views import compute_once
from sgi_web.site import site_of

if TYPE_CHECKING:
    from sgi.analysis.diagnosis.diagnosis import Diagnosis
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

MAX_ROWS = 5_000
"""A longer diagnosis takes too long for a page."""
_SHOWN = 200

router = APIRouter(include_in_schema=False)


@router.get("/runs/{run}/diagnosis")
def diagnosis_page(request: Request, run: str, cause: str = "") -> Response:
    """Show the share of each cause, and the rows of one cause."""
    site = site_of(request)
    record = run_or_404(site, run)
    result = _cached(request, record)
    chosen = result.of_cause(cause) if cause else ()
    return page(
        request,
        "diagnosis.html",
        head=run_header(record),
        diagnosis=result,
        titles=TITLES,
        cause=cause,
        matches=len(chosen),
        rows=[(row, evidence_text(row)) for row in chosen[:_SHOWN]],
    )


@router.get("/runs/{run}/diagnosis.json")
def diagnosis_charts(request: Request, run: str) -> Response:
    """Return the chart of the causes."""
    specs = cause_charts(_cached(request, run_or_404(site_of(request), run)))
    return Response(orjson.dumps({"charts": specs}), media_type="application/json")


@router.get("/runs/{run}/cause")
def cause(request: Request, run: str, id: str) -> Response:  # noqa: A002 - the name of the parameter
    """Show the cause of what is wrong with one row."""
    record = run_or_404(site_of(request), run)
    result = _cached(request, record)
    row = result[id]
    template = "cause_part.html" if is_htmx_part(request) else "cause.html"
    return page(
        request,
        template,
        head=run_header(record),
        row=row,
        title=TITLES.get(row.cause, "") if row.cause else "",
        evidence=evidence_text(row),
        step=result.next_steps.get(row.cause, "") if row.cause else "",
    )


def _cached(request: Request, record: RunRecord) -> Diagnosis:
    return compute_once(request, record, "diagnosis", partial(_diagnose, site_of(request).database, record))


def _diagnose(database: Database, record: RunRecord) -> Diagnosis:
    if record.scored > MAX_ROWS:
        message = f"The run has {record.scored:,} rows; this page diagnoses at most {MAX_ROWS:,}."
        raise UsageError(message, hint=f"Use the command: sgi diagnose {record.id}.")
    return diagnose_stored(database, record)
