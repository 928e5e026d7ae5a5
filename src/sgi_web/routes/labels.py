"""Pages on which people label answers, and see what the labels say."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from fastapi import APIRouter, Form, Query
from pydantic import BaseModel, Field
from starlette.requests import Request  # noqa: TC002 - FastAPI reads it at run time
from starlette.responses import Response

from sgi.analysis.labelling import label_rows, labelling
from sgi.io.write import csv_lines
from sgi.kernel.errors import UsageError
from sgi.kernel.human_labels import HumanLabel, text_version
from sgi.reporting.label_tables import label_lines, label_tables
from sgi.reporting.views.run_header import run_header
from sgi.store.evaluations import sample_evaluation
from sgi.store.human_labels import labelled_rows, run_labels, store_label
from sgi.store.scored_runs import scored_run
from sgi_web.access import EDITOR, OWN_FORM
from sgi_web.label_queue import next_row
from sgi_web.pages import page, redirect, run_or_404
from sgi_web.paths import run_path, with_query
from sgi_web.run_views import compute_once
from sgi_web.site import site_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from sgi.store.run_queries import RunRecord

router = APIRouter(include_in_schema=False)
_SHOWN = 200
_VALUES = {"yes": True, "no": False, "skip": None}


class QueueParameters(BaseModel):
    """Query parameters of the labelling queue."""

    by: str = Field("random", description="`random`, or the metric whose uncertain rows come first.")
    each: int = Field(1, ge=1, le=9, description="Number of people who label each row.")
    row: str = Field("", description="Show this row instead of the next one.")
    decide: bool = Field(default=False, description="The label decides between people who disagree.")
    last: str = Field("", description="The row that was labelled before.")

    def address(self, run: str, **changes: object) -> str:
        """Return the address of the queue with these parameters."""
        values: dict[str, object] = {"by": "" if self.by == "random" else self.by}
        values["each"] = "" if self.each == 1 else self.each
        return with_query(run_path(run, "label"), values | changes)


class LabelForm(QueueParameters):
    """The form with a label."""

    row: str
    version: str = Field(description="The version of the text that the person read.")
    answer: Literal["yes", "no", "skip"]
    comment: str = ""
    form_key: str = ""


@router.get("/runs/{run}/label", dependencies=[EDITOR])
def queue(request: Request, run: str, parameters: Annotated[QueueParameters, Query()]) -> Response:
    """Show the next row to label, without its scores and without the name of the run."""
    database = site_of(request).database
    record = _labelled_run(request, run)
    rows = compute_once(request, record, "labelled rows", lambda: labelled_rows(database, record))
    labels, author = run_labels(database, record, rows), request.state.person.name
    name = parameters.row
    if not name:
        order = rows.order if parameters.by == "random" else _uncertain_first(request, record, parameters.by)
        name = next_row(labels, order, author, parameters.each, _reserve(request, record))
    sample = sample_evaluation(database, record, name).sample if name else None
    decides = parameters.decide
    given = labels.current.get(name, ()) if name else ()
    return page(
        request,
        "label.html",
        run=record.id,
        parameters=parameters,
        sample=sample,
        version=text_version(sample) if sample else "",
        own=next((one for one in given if (one.author, one.decides) == (author, decides)), None),
        others=given if decides else (),
        guide=site_of(request).label_guide,
        done=sum(any(label.author == author for label in one) for one in labels.current.values()),
        rows=len(labels.ids),
    )


@router.post("/runs/{run}/label", dependencies=[OWN_FORM])
def save(request: Request, run: str, form: Annotated[LabelForm, Form()]) -> Response:
    """Store a label, and show the next row."""
    database = site_of(request).database
    record, author = _labelled_run(request, run), request.state.person.name
    sample = sample_evaluation(database, record, form.row).sample
    if text_version(sample) != form.version:
        message = "The text of this row has changed since you read it. Nothing was stored."
        raise UsageError(message, hint="Go back, reload the page and read the row again.")
    value, comment = _VALUES[form.answer], form.comment.strip().replace("\r\n", "\n")
    label = HumanLabel(sample.id, form.version, author, value, comment, decides=form.decide)
    store_label(database, record.dataset_name, label)
    site_of(request).label_queue.release(author)
    if form.decide:
        return redirect(run_path(record.id, "labels"))
    return redirect(form.address(record.id, last=sample.id))


@router.get("/runs/{run}/labels")
def overview(request: Request, run: str) -> Response:
    """Show who labelled, where people disagree, and what the labels say about the metrics."""
    record = _labelled_run(request, run)
    state = labelling(site_of(request).database, record)
    return page(
        request,
        "labels.html",
        head=run_header(record),
        lines=list(label_lines(state)),
        summaries=label_tables(state),
        disputed=state.labels.disputed[:_SHOWN],
        given=state.labels.current,
    )


@router.get("/runs/{run}/labels.csv")
def download(request: Request, run: str) -> Response:
    """Download all labels of a run."""
    record = run_or_404(site_of(request), run)
    rows = label_rows(run_labels(site_of(request).database, record))
    head = list(rows[0]) if rows else ["id", "label"]
    body = csv_lines([head, *(row.values() for row in rows)])
    return Response(
        body,
        headers={"Content-Disposition": 'attachment; filename="labels.csv"'},
        media_type="text/csv",
    )


def _reserve(request: Request, record: RunRecord) -> Callable[[str], bool]:
    """Return a function that reserves a row of a run for the user of this request."""
    queue, author = site_of(request).label_queue, request.state.person.name
    return lambda row: queue.reserve(author, record.id, row)


def _labelled_run(request: Request, run: str) -> RunRecord:
    record = run_or_404(site_of(request), run)
    if record.no_texts:
        message = f"{record.label} stores no texts, so nobody can read its answers."
        raise UsageError(message, hint="Score the data again without --no-texts.")
    return record


def _uncertain_first(request: Request, record: RunRecord, metric: str) -> NDArray[np.int64]:
    """Return the positions of the rows with a value, the nearest to the middle of the range first."""

    def order() -> NDArray[np.int64]:
        column = scored_run(site_of(request).database, record).metric(metric)
        rows = np.flatnonzero(column.ok)
        values = column.values[rows]
        low, high = column.low, column.high
        if low is not None and high is not None and isfinite(high - low):
            middle = (low + high) / 2
        else:
            middle = float(np.median(values)) if len(values) else 0.0
        return rows[np.argsort(np.abs(values - middle), kind="stable")]

    return compute_once(request, record, ("uncertain", metric), order)
