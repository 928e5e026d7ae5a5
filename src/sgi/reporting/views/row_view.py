"""Rows of a run in full, with texts, scores and their details: one row, or those with the worst values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from sgi.engine.review import FINDINGS
from sgi.reporting.formatting import importance, main_metric
from sgi.store.evaluations import sample_evaluation, sample_evaluations
from sgi.store.scored_runs import system_column, system_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.engine.summary import MetricSummary
    from sgi.kernel.metric_column import MetricColumn
    from sgi.reporting.views.headline import ScoredRows
    from sgi.store.database import Database
    from sgi.store.evaluations import StoredEvaluation
    from sgi.store.run_queries import RunRecord


Row = TypeVar("Row")
"""How a row is given: by its id, or with its texts as a `SampleView`."""


@dataclass(frozen=True)
class ScoreView:
    """The score of a row under a metric.

    Attributes:
        value: the score; None if there is no score.
        status: ``ok``, ``undefined``, ``missing`` or ``failed``.
        reason: why there is no value; empty if there is one.
        details: how the value was computed.
        evidence: the reply of the judge; empty if no judge was asked.
    """

    value: float | None
    status: str
    reason: str
    details: Mapping[str, Any]
    evidence: Mapping[str, Any]


@dataclass(frozen=True)
class SampleView:
    """A row with all stored data.

    Attributes:
        id: the id of the sample.
        position: its position in the data.
        question: the question; empty if there is none.
        contexts: the passages.
        response: the answer; empty if there is none.
        reference: the expected answer; None if there is none.
        alternatives: further accepted answers.
        label: the known label; None if there is none.
        further: the fields of retrieval, citations and conversations that the row has.
        metadata: further columns of the data.
        reason: why there is no response; empty if there is one.
        scores: the scores by canonical name of the metric, in the requested order.
        system: the system that gave the answer, if the run has answers of several; empty otherwise.
    """

    id: str
    position: int
    question: str
    contexts: tuple[str, ...]
    response: str
    reference: str | None
    alternatives: tuple[str, ...]
    label: bool | None
    further: Mapping[str, Any]
    metadata: Mapping[str, Any]
    reason: str
    scores: Mapping[str, ScoreView]
    system: str = ""


def sample_view(database: Database, record: RunRecord, sample_id: str) -> SampleView:
    """Return one row of a run.

    Raises:
        UnknownNameError: the data of the run has no such sample; the message suggests similar ids.
        UsageError: the row is not scored yet.
    """
    return evaluation_view(sample_evaluation(database, record, sample_id))


def sample_views(database: Database, record: RunRecord, sample_ids: Iterable[str]) -> dict[str, SampleView]:
    """Return the rows of a run with these ids; rows that are not scored are left out."""
    return {
        name: evaluation_view(evaluation)
        for name, evaluation in sample_evaluations(database, record, sample_ids).items()
    }


def evaluation_view(evaluation: StoredEvaluation) -> SampleView:
    """Convert a stored evaluation to a view."""
    sample = evaluation.sample
    return SampleView(
        id=sample.id,
        position=evaluation.position,
        question=sample.question,
        contexts=sample.contexts,
        response=sample.response,
        reference=sample.reference,
        alternatives=sample.alternatives,
        label=sample.label,
        further=sample.further_values(),
        metadata=sample.metadata,
        reason=evaluation.reason,
        scores={
            name: ScoreView(score.value, score.status.value, score.reason, score.details, score.evidence)
            for name, score in evaluation.scores.items()
        },
    )


@dataclass(frozen=True)
class LowestRows(Generic[Row]):
    """The rows with the worst findings and values of a metric, worst first; ties in the order of the data."""

    metric: str
    higher_is_better: bool
    samples: tuple[Row, ...]


def lowest_ids(columns: ScoredRows, *, most: int, metric: str | None = None) -> tuple[LowestRows[str], ...]:
    """Return the ids of the worst rows of a metric, or of each metric that has a row below the best value.

    Raises:
        UnknownNameError: no metric has this name (with or without parameters), or several have it.
    """
    only = None if metric is None else columns.run.metric(metric).metric
    ids = columns.run.ids
    return tuple(
        LowestRows(column.metric, column.higher_is_better, tuple(ids[row] for row in rows[:most].tolist()))
        for column in columns.metrics
        if column.ok.any() and (column.metric == only or (only is None and _has_flaws(column)))
        for rows in [_worst_first(column, columns.classes.get(column.metric))]
    )


def main_ids(columns: ScoredRows, *, most: int) -> tuple[LowestRows[str], ...]:
    """Return the ids of the worst rows of the metric that selects the answers to check; empty without one."""
    return tuple(ids_by_importance(columns, most=most)[:1])


def ids_by_importance(columns: ScoredRows, *, most: int) -> list[LowestRows[str]]:
    """Return the ids of the worst rows of each metric, the metric that selects the answers to check first."""
    found = lowest_ids(columns, most=most)
    return sorted(found, key=lambda one: (not _has_findings(columns, one.metric), importance(one.metric)))


def rows_to_check(
    database: Database,
    record: RunRecord,
    metrics: Sequence[MetricSummary],
    worst: Sequence[LowestRows[str]],
    *,
    most: int,
) -> LowestRows[SampleView] | None:
    """Return the first answers that need a check, from the ``worst`` rows by metric; None without any."""
    main = main_metric(metrics)
    if main is None or main.review is None:
        return None
    found = [
        replace(lowest, samples=lowest.samples[:most])
        for lowest in at_most_to_check(worst, [main])
        if lowest.metric == main.metric
    ]
    return next(iter(lowest_rows(database, record, found)), None)


def at_most_to_check(
    worst: Iterable[LowestRows[str]], metrics: Iterable[MetricSummary]
) -> list[LowestRows[str]]:
    """Limit the worst rows of each metric with findings to those that need a check; without any, omit it."""
    to_check = {metric.metric: metric.review.rows for metric in metrics if metric.review is not None}
    cut = (replace(each, samples=each.samples[: to_check.get(each.metric)]) for each in worst)
    return [each for each in cut if each.samples]


def lowest_rows(
    database: Database, record: RunRecord, ids: Sequence[LowestRows[str]]
) -> tuple[LowestRows[SampleView], ...]:
    """Read the texts of the rows that `lowest_ids` selected; rows deleted since then are left out."""
    samples = sample_views(database, record, (name for lowest in ids for name in lowest.samples))
    column = system_column(database, record) if samples else ""
    if column:
        samples = {
            name: replace(sample, system=system_name(sample.metadata, column))
            for name, sample in samples.items()
        }
    return tuple(
        LowestRows(
            lowest.metric,
            lowest.higher_is_better,
            tuple(samples[name] for name in lowest.samples if name in samples),
        )
        for lowest in ids
    )


def _has_flaws(column: MetricColumn) -> bool:
    """Return whether any value of a metric is not the best possible one."""
    best = column.high if column.higher_is_better else column.low
    return bool((column.values[column.ok] != best).any())


def _has_findings(columns: ScoredRows, metric: str) -> bool:
    return any(found in FINDINGS for found in columns.classes.get(metric, ()))


def _worst_first(column: MetricColumn, findings: Sequence[str | None] | None) -> NDArray[np.int64]:
    rows = np.flatnonzero(column.ok)
    values = column.values[rows] if column.higher_is_better else -column.values[rows]
    places = {finding: place for place, finding in enumerate(FINDINGS)}
    ranks = np.array([places.get(finding or "", len(FINDINGS)) for finding in findings or ()])
    return rows[np.lexsort((values, ranks[rows]) if findings else (values,))]
