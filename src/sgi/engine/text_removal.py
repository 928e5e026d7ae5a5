"""What a run that keeps no texts stores: samples, scores and the summary without the texts in them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sgi.kernel.errors import UsageError
from sgi.kernel.metric import Scores, Status
from sgi.kernel.placeholders import placeholder, without_texts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from sgi.engine.score import BatchScores
    from sgi.engine.summary import Summary
    from sgi.store.run_queries import RunRecord

REASON_NOT_KEPT = "the reason is not kept, since it can quote texts"
"""What is stored in place of the reason of a failed row or model."""


def batch_without_texts(made: BatchScores, categories: Mapping[str, str]) -> BatchScores:
    """The scores of a batch without the texts in their details, their reasons and their evidence.

    Args:
        made: the scores.
        categories: the key of a metric's details that names a row's class, by canonical string; may be empty.
    """
    scores = {
        name: scores_without_texts(found, categories.get(name, "")) for name, found in made.scores.items()
    }
    return replace(made, scores=scores, failures=dict.fromkeys(made.failures, REASON_NOT_KEPT), evidence={})


def scores_without_texts(scores: Scores, category: str = "") -> Scores:
    """The scores with the numbers of their details, and with reasons that quote no text.

    Args:
        scores: of some rows.
        category: the key of the details that names a row's class, which is kept; may be empty.

    >>> failed = Scores.without_value(Status.FAILED, ["the judge replied 'Paris'"])
    >>> scores_without_texts(failed).reasons
    ('the reason is not kept, since it can quote texts',)
    """
    failed = (scores.status == Status.FAILED.value).tolist()
    reasons = tuple(
        REASON_NOT_KEPT if lost else reason for lost, reason in zip(failed, scores.reasons, strict=True)
    )
    details = tuple(_numbers(body, category) for body in scores.details)
    return Scores(scores.values, scores.status, reasons, details)


def _numbers(body: Mapping[str, JsonValue], category: str) -> dict[str, JsonValue]:
    kept = {name: without_texts(value) for name, value in body.items() if not isinstance(value, str)}
    return kept | {category: body[category]} if category in body else kept


def summary_without_texts(summary: Summary) -> Summary:
    """The summary with a placeholder for the question that most rows share."""
    dominant = summary.clustering.dominant
    if dominant is None:
        return summary
    found = replace(dominant, text=placeholder(dominant.text))
    return replace(summary, clustering=replace(summary.clustering, dominant=found))


def require_texts(record: RunRecord, purpose: str) -> None:
    """Raise a UsageError if the run keeps no texts.

    Args:
        record: the run.
        purpose: what needs the texts, as the subject of a sentence.
    """
    if record.no_texts:
        raise UsageError(
            f"{purpose} needs the texts, and the run {record.label} keeps none.",
            hint="Score the data in a run without --no-texts.",
        )
