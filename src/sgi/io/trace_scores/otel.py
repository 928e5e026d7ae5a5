"""Scores as OpenTelemetry spans, in OTLP JSON.

A row gives one span of the kind EVALUATOR, a child of the span that it was read from. The span has an event
``gen_ai.evaluation.result`` for each metric, and the same scores as OpenInference attributes.

Source: OpenTelemetry semantic conventions for generative AI, event ``gen_ai.evaluation.result``;
OpenInference semantic conventions, ``evaluations``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sgi.io.trace_scores.trace_score import stable_id
from sgi.kernel.signature import package_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sgi.io.trace_scores.trace_score import TraceScore

EVENT = "gen_ai.evaluation.result"
SPAN_NAME = "sgi evaluate"
SCOPE = "sgi"
# MLflow writes "tr-" before the id of OpenTelemetry.
_TRACE_ID = re.compile(r"(?:tr-)?((?!0{32})[0-9a-f]{32})", re.IGNORECASE)
_SPAN_ID = re.compile(r"(?!0{16})[0-9a-f]{16}", re.IGNORECASE)
_INTERNAL = 1  # the span kind

Attributes = dict[str, str | float]


@dataclass(frozen=True)
class EvaluationSpan:
    """The span with the scores of one row; ids are hexadecimal, and ``time`` is in nanoseconds since 1970.

    ``events`` has the attributes of the event of each metric.
    """

    trace_id: str
    span_id: str
    parent_id: str
    service: str
    time: int
    attributes: Attributes
    events: tuple[Attributes, ...]


def evaluation_span(scores: Sequence[TraceScore]) -> EvaluationSpan | None:
    """Return the span of the scores of one row; None if its trace id is not one of OpenTelemetry."""
    first = scores[0]
    trace_id = _TRACE_ID.fullmatch(first.trace_id)
    if trace_id is None:
        return None
    attributes: Attributes = {
        "openinference.span.kind": "EVALUATOR",
        "sgi.run": first.run,
        "sgi.row": first.row,
    }
    for number, score in enumerate(scores):
        values = {"name": score.metric, "annotator_kind": score.annotator} | _result(score, "score", "label")
        attributes |= {f"evaluations.{number}.evaluation.{key}": value for key, value in values.items()}
    return EvaluationSpan(
        trace_id[1].lower(),
        stable_id(first.run, first.row, size=8),
        first.span_id.lower() if _SPAN_ID.fullmatch(first.span_id) else "",
        first.service,
        _nanoseconds(first.time),
        attributes,
        tuple(_event(score) for score in scores),
    )


def _event(score: TraceScore) -> Attributes:
    values = {"name": score.metric} | _result(score, "score.value", "score.label")
    return {f"gen_ai.evaluation.{key}": value for key, value in values.items()}


def _result(score: TraceScore, value: str, label: str) -> Attributes:
    """Return the value, label and explanation of a score; without a value there is no score attribute."""
    result: Attributes = {label: score.label}
    if score.value is not None:
        result[value] = score.value
    if score.reason:
        result["explanation"] = score.reason
    return result


def _nanoseconds(time: str) -> int:
    return int(datetime.fromisoformat(time).timestamp() * 1_000_000) * 1000


def otlp_request(spans: Iterable[EvaluationSpan]) -> dict[str, Any]:
    """Return the spans as one OTLP request in JSON, grouped by service."""
    services: dict[str, list[EvaluationSpan]] = {}
    for span in spans:
        services.setdefault(span.service, []).append(span)
    scope = {"name": SCOPE, "version": package_version()}
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": _attributes({"service.name": service or SCOPE})},
                "scopeSpans": [{"scope": scope, "spans": [_span(span) for span in group]}],
            }
            for service, group in services.items()
        ]
    }


def _span(span: EvaluationSpan) -> dict[str, Any]:
    time = str(span.time)
    parent = {"parentSpanId": span.parent_id} if span.parent_id else {}
    return {
        "traceId": span.trace_id,
        "spanId": span.span_id,
        **parent,
        "name": SPAN_NAME,
        "kind": _INTERNAL,
        "startTimeUnixNano": time,
        "endTimeUnixNano": time,
        "attributes": _attributes(span.attributes),
        "events": [
            {"timeUnixNano": time, "name": EVENT, "attributes": _attributes(event)} for event in span.events
        ],
        "status": {},
    }


def _attributes(values: Mapping[str, str | float]) -> list[dict[str, Any]]:
    return [
        {"key": key, "value": {"stringValue": value} if isinstance(value, str) else {"doubleValue": value}}
        for key, value in values.items()
    ]
