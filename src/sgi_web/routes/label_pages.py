"""Pages on which people label answers, and see what the labels say."""

from __future__ import annotations

import time
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Literal, cast

import numpy as np
from fastapi import APIRouter, Depends, Form, Query
from pydantic import AfterValidator, BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from sgi.analysis.audit.label_sample import label_order
from sgi.analysis.labelling import draw_chances, label_rows, labelling, middle_value
from sgi.engine.stored_runs import read_run
from sgi.io.write import csv_lines
from sgi.kernel.errors import UsageError
from sgi.reporting.label_tables import label_lines, label_tables
from sgi.store.evaluations import sample_evaluation
from sgi.store.human_labels import labelled_rows, run_labels, store_label
from sgi.store.label_consensus import AUDIT, DRAWN, HumanLabel, drawn_order, text_version
from sgi.store.run_queries import RunRecord
from sgi_web.access import EDITOR, OWN_FORM
from sgi_web.cached_views import compute_once
from sgi_web.pages import Record, attachment, page, redirect
from sgi_web.site import run_path, site_of, unescaped, with_query

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from sgi.store.human_labels import HumanLabels

router = APIRouter(include_in_schema=False)
_SHOWN = 200
_VALUES = {"yes": True, "no": False, "skip": None}
_SECONDS = 120.0
"""How long a row is kept for the person who has it on the screen."""


def _labelled_run(record: Record) -> RunRecord:
    if record.no_texts:
        message = f"{record.label} stores no texts, so nobody can read its answers."
        raise UsageError(message, hint="Score the data again without --no-texts.")
    return record


Labelled = Annotated[RunRecord, Depends(_labelled_run)]


class LabelQueue:
    """The rows that people have on the screen now, so that two people do not get the same row."""

    def __init__(self) -> None:
        self._rows: dict[str, tuple[str, str, float]] = {}
        self._lock = Lock()

    def reserve(self, author: str, run: str, row: str) -> bool:
        """Reserve a row of a run for a person; False if somebody else has it on the screen."""
        now = time.monotonic()
        with self._lock:
            self._rows = {name: held for name, held in self._rows.items() if now - held[-1] < _SECONDS}
            if any(name != author and held[:2] == (run, row) for name, held in self._rows.items()):
                return False
            self._rows[author] = run, row, now
            return True

    def release(self, author: str) -> None:
        """Release the row of a person."""
        with self._lock:
            self._rows.pop(author, None)


class QueueParameters(BaseModel):
    """Query parameters of the labelling queue."""

    by: str = Field(
        "random",
        description="`random`; `audit:METRIC` alternates between the verdicts of a metric; `people:METRIC` "
        "draws uncertain rows of a metric more often; a metric: its most uncertain rows come first.",
    )
    each: int = Field(1, ge=1, le=9, description="Number of people who label each row.")
    row: str = Field("", description="Show this row instead of the next one.")
    decide: bool = Field(default=False, description="The label decides between people who disagree.")
    last: str = Field("", description="The row that was labelled before.")

    def address(self, run: str, **changes: object) -> str:
        """Return the link to the labelling queue with these parameters."""
        values: dict[str, object] = {"by": "" if self.by == "random" else self.by}
        values["each"] = "" if self.each == 1 else self.each
        return with_query(run_path(run, "label"), values | changes)


class LabelForm(QueueParameters):
    """The form with a label."""

    row: Annotated[str, AfterValidator(unescaped)]
    version: str = Field(description="The version of the text that the person read.")
    answer: Literal["yes", "no", "skip"]
    comment: str = ""
    form_key: str = ""


@router.get("/runs/{run}/label", dependencies=[EDITOR])
def queue(request: Request, record: Labelled, parameters: Annotated[QueueParameters, Query()]) -> Response:
    """Show the next row to label, without its scores and without the name of the run."""
    database = site_of(request).database
    rows = compute_once(request, [record], "labelled rows", lambda: labelled_rows(database, record))
    labels, author = run_labels(database, record, rows), request.state.person.name
    name = parameters.row
    if not name:
        order = rows.order if parameters.by == "random" else _metric_order(request, record, parameters.by)
        reserve = partial(_queue(request).reserve, author, record.id)
        name = _next_row(labels, order, author, parameters.each, reserve)
    sample = sample_evaluation(database, record, name).sample if name else None
    given = labels.current.get(name, ()) if name else ()
    return page(
        request,
        "label.html",
        run=record.id,
        parameters=parameters,
        sample=sample,
        version=text_version(sample) if sample else "",
        own=next((one for one in given if (one.author, one.decides) == (author, parameters.decide)), None),
        others=given if parameters.decide else (),
        guide=site_of(request).label_guide,
        done=sum(any(label.author == author for label in one) for one in labels.current.values()),
        rows=len(labels.ids),
    )


@router.post("/runs/{run}/label", dependencies=[OWN_FORM])
def save(request: Request, record: Labelled, form: Annotated[LabelForm, Form()]) -> Response:
    """Store a label, and show the next row."""
    database, author = site_of(request).database, request.state.person.name
    sample = sample_evaluation(database, record, form.row).sample
    if text_version(sample) != form.version:
        message = "The text of this row has changed since you read it. Nothing was stored."
        raise UsageError(message, hint="Go back, reload the page and read the row again.")
    value, comment = _VALUES[form.answer], form.comment.strip().replace("\r\n", "\n")
    label = HumanLabel(sample.id, form.version, author, value, comment, decides=form.decide)
    store_label(database, record.dataset_name, label)
    _queue(request).release(author)
    if form.decide:
        return redirect(run_path(record.id, "labels"))
    return redirect(form.address(record.id, last=sample.id))


@router.get("/runs/{run}/labels")
def overview(request: Request, record: Labelled) -> Response:
    """Show who labelled, where people disagree, and what the labels say about the metrics."""
    state = labelling(site_of(request).database, record)
    return page(
        request,
        "labels.html",
        head=record,
        lines=list(label_lines(state)),
        summaries=label_tables(state),
        disputed=state.labels.disputed[:_SHOWN],
        given=state.labels.current,
    )


@router.get("/runs/{run}/labels.csv")
def download(request: Request, record: Record) -> Response:
    """Download all labels of a run."""
    rows = label_rows(labelling(site_of(request).database, record))
    head = list(rows[0]) if rows else ["id", "label"]
    body = csv_lines([head, *(row.values() for row in rows)])
    return attachment(body, "labels.csv", "text/csv")


def _queue(request: Request) -> LabelQueue:
    return cast("LabelQueue", request.app.state.label_queue)


def _next_row(
    labels: HumanLabels, order: NDArray[np.int64], author: str, each: int, reserve: Callable[[str], bool]
) -> str:
    """Return the id of the next row of a person; empty if there is none.

    A row leaves the queue when the person has seen it, when ``each`` people have given it a label, or when
    an editor has decided. A row that needs only one more label is shown to the person who can ``reserve`` it.
    """
    for position in order:
        name: str = labels.ids[position]
        given = labels.current.get(name, ())
        missing = each - sum(label.value is not None for label in given)
        if missing < 1 or any(label.author == author or label.decides for label in given):
            continue
        if missing > 1 or reserve(name):
            return name
    return ""


def _metric_order(request: Request, record: RunRecord, by: str) -> NDArray[np.int64]:
    """Return the positions of the rows in the order for an audit, drawn by uncertainty, or by uncertainty."""

    def order() -> NDArray[np.int64]:
        run = read_run(database, record)
        if by.startswith(AUDIT):
            return label_order(run, by.removeprefix(AUDIT))
        column = run.metric(by.removeprefix(DRAWN))
        if by.startswith(DRAWN):
            rows = compute_once(request, [record], "labelled rows", lambda: labelled_rows(database, record))
            return drawn_order(rows.ids, draw_chances(column))[0]
        ok = np.flatnonzero(column.ok)
        return ok[np.argsort(np.abs(column.values[ok] - middle_value(column)), kind="stable")]

    database = site_of(request).database
    return compute_once(request, [record], ("label order", by), order)
