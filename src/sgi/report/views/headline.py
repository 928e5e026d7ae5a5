"""The numbers of a run that stand first, each with its coverage and interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sgi.engine.cascade.telling import CascadeSummary  # noqa: TC001 - the JSON API reads the type's fields
from sgi.engine.groups import grouped
from sgi.engine.summary import Summary
from sgi.report.views.columns import run_columns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgi.engine.summary import MetricSummary
    from sgi.report.views.columns import RunColumns
    from sgi.stats.confounds import Baseline
    from sgi.store.database import Database
    from sgi.store.queries import RunRecord


@dataclass(frozen=True)
class Headline:
    """The numbers that stand first, each with its coverage and interval.

    Attributes:
        metrics: in the order asked.
        baselines: what length and token overlap alone would have ranked; empty without labels or a summary.
        labelled: rows with a label; 0 where that was not counted.
        positives: of them those labelled true.
        questions: how many distinct questions there are; 0 where that was not counted.
        copies: labelled rows whose response is its reference to the letter.
        truncated: rows by the field that was longer than the model reads.
        left_out: rows scored without a model that gave no vectors, by the model's name.
        partial: why these are not the numbers of a whole, finished run; empty where they are.
        cascade: which rows the judge was not asked about; None where it was asked about all, or nobody told.
    """

    metrics: tuple[MetricSummary, ...]
    baselines: tuple[Baseline, ...]
    labelled: int
    positives: int
    questions: int
    copies: int
    truncated: Mapping[str, int]
    left_out: Mapping[str, int]
    partial: str
    cascade: CascadeSummary | None = None


def headline(database: Database, record: RunRecord, columns: RunColumns | None = None) -> Headline:
    """The numbers that stand first: those that were kept when the run ended, else computed now.

    Args:
        database: where the run is.
        record: the run.
        columns: its rows, where they have been read already.
    """
    if record.summary is not None:
        return _kept(Summary.from_dict(record.summary), record)
    if not record.scored:
        return _computed((), record)
    read = columns or run_columns(database, record)
    if not read.run.ids:  # deleted since the record was read
        return _computed((), record)
    (whole,) = grouped(read.run, [None] * len(read.run.ids), classes=read.classes)
    return _computed(whole.metrics, record)


def _kept(told: Summary, record: RunRecord) -> Headline:
    return Headline(
        metrics=told.metrics,
        baselines=told.baselines,
        labelled=told.labelled,
        positives=told.positives,
        questions=told.questions,
        copies=told.copies,
        truncated=told.truncated,
        left_out=told.left_out,
        partial="" if record.finished else _partial(record),
        cascade=told.cascade,
    )


def _computed(metrics: tuple[MetricSummary, ...], record: RunRecord) -> Headline:
    return Headline(metrics, (), 0, 0, 0, 0, {}, {}, _partial(record))


def _partial(record: RunRecord) -> str:
    if record.scored < record.rows:
        return f"numbers of the {record.scored:,} rows that are scored, of {record.rows:,}"
    return "numbers computed now, from the scores of the rows"
