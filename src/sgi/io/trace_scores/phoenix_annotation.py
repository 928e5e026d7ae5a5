"""Scores as span annotations of Phoenix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sgi.io.trace_scores.trace_score import TraceScore


def phoenix_annotation(score: TraceScore) -> dict[str, Any] | None:
    """Return the row of ``log_span_annotations_dataframe`` for a score; None without a span.

    The label is the class of the row, or its status. A repeated upload replaces an annotation with the same
    name, span and identifier.
    """
    if not score.span_id:
        return None
    return {
        "span_id": score.span_id,
        "name": score.metric,
        "annotator_kind": score.annotator,
        "label": score.label,
        "score": score.value,
        "explanation": score.reason or None,
        "identifier": score.id,
    }
