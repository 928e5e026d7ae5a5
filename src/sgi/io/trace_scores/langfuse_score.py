"""Scores as the request bodies of Langfuse's scores API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sgi.io.trace_scores.trace_score import TraceScore


def langfuse_score(score: TraceScore) -> dict[str, Any] | None:
    """Return a score as an item of ``POST /api/public/scores``; None without a trace.

    Langfuse requires a value, so a row without one gives the categorical score ``METRIC.status`` with the
    reason as its comment, and no number. A repeated upload with the same id and timestamp replaces a score.
    """
    if not score.trace_id:
        return None
    known = score.value is not None
    comment = score.category if known else score.reason
    return {
        "id": score.id,
        "traceId": score.trace_id,
        **({"observationId": score.span_id} if score.span_id else {}),
        "name": score.metric if known else f"{score.metric}.status",
        "value": score.value if known else score.status,
        "dataType": "NUMERIC" if known else "CATEGORICAL",
        **({"comment": comment} if comment else {}),
        "metadata": {"sgi.run": score.run, "sgi.row": score.row},
        "timestamp": score.time,
    }
