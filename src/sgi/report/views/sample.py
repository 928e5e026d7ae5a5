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
    """What a metric made of a row.

    Attributes:
        value: None where there is none.
        status: ``ok``, ``undefined``, ``missing`` or ``failed``.
        reason: why there is no value; empty where there is one.
        details: what the value was made of.
        evidence: what a judge said.
    """

    value: float | None
    status: str
    reason: str
    details: Mapping[str, Any]
    evidence: Mapping[str, Any]


@dataclass(frozen=True)
class SampleView:
    """A row with all that is kept of it.

    Attributes:
        id: the sample's.
        position: its place in the data.
        question: empty where there is none, like the texts below.
        contexts: the passages.
        response: the answer.
        reference: None where there is none.
        alternatives: further references.
        label: known truth; None where there is none.
        metadata: further columns of the data.
        reason: why there is no answer; empty where there is one.
        scores: by the metric's canonical string, in the order asked.
    """

    id: str
    position: int
    question: str
    contexts: tuple[str, ...]
    response: str
    reference: str | None
    alternatives: tuple[str, ...]
    label: bool | None
    metadata: Mapping[str, Any]
    reason: str
    scores: Mapping[str, ScoreView]


def sample_view(database: Database, record: RunRecord, sample_id: str) -> SampleView:
    """One row of a run.

    Raises:
        UnknownNameError: the run's data has no such sample; says which ids come near.
        UsageError: it is not scored yet.
    """
    return shown(sample_evaluation(database, record, sample_id))


def sample_views(database: Database, record: RunRecord, sample_ids: Iterable[str]) -> dict[str, SampleView]:
    """Some rows of a run, by id; those that are not scored are left out."""
    return {name: shown(found) for name, found in sample_evaluations(database, record, sample_ids).items()}


def shown(evaluation: StoredEvaluation) -> SampleView:
    """A row as it was read, as people look at it."""
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
        metadata=sample.metadata,
        reason=evaluation.reason,
        scores={
            name: ScoreView(score.value, score.status.value, score.reason, score.details, score.evidence)
            for name, score in evaluation.scores.items()
        },
    )
