"""Page with the causes of what is wrong with the rows of a run."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fastapi import APIRouter
from starlette.requests import Request  # noqa: TC002 - FastAPI reads it at run time
from starlette.responses import Response  # noqa: TC002 - the same

from sgi.analysis.diagnosis.causes import TITLES
from sgi.analysis.diagnosis.diagnose import diagnose
from sgi.analysis.diagnosis.sources import stored_source
from sgi.analysis.diagnosis.table import built_in_table
from sgi.engine.evaluate import run_outside_loop
from sgi.kernel.errors import UsageError
from sgi.reporting.diagnosis_tables import evidence_text
from sgi.reporting.views.run_header import run_header
from sgi.web.pages import page, run_or_404
from sgi.web.run_views import compute_once
from sgi.web.site import site_of

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
    result = compute_once(request, record, "diagnosis", partial(_diagnose, site.database, record))
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


def _diagnose(database: Database, record: RunRecord) -> Diagnosis:
    if record.scored > MAX_ROWS:
        message = f"The run has {record.scored:,} rows; this page diagnoses at most {MAX_ROWS:,}."
        raise UsageError(message, hint=f"Use the command: sgi diagnose {record.id}.")
    source, options = stored_source(database, record)
    return run_outside_loop(partial(diagnose, source, built_in_table(), options=options))
