"""One row of a run: texts, scores and their details."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sgi.store.evaluations import sample_evaluation, sample_evaluations

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sgi.store.database import Database
    from sgi.store.evaluations import StoredEvaluation
    from sgi.store.run_queries import RunRecord


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
