"""Scores of rows that were read from traces, in the formats of tracing tools.

OpenTelemetry: a row gives one span of the kind EVALUATOR, a child of the span that it was read from. The span
has an event ``gen_ai.evaluation.result`` for each metric, and the same scores as OpenInference attributes.
Phoenix: span annotations. Langfuse: request bodies of its scores API.

Source: OpenTelemetry semantic conventions for generative AI, event ``gen_ai.evaluation.result``;
OpenInference semantic conventions, ``evaluations``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NoReturn

from sgi.kernel.errors import UnknownNameError
from sgi.kernel.signature import package_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


class TraceFormat(StrEnum):
    """The format of scores for one tracing tool."""

    OTEL = "otel"
    PHOENIX = "phoenix"
    LANGFUSE = "langfuse"

    @classmethod
    def _missing_(cls, value: object) -> NoReturn:
        raise UnknownNameError("format", str(value), hint=f"The formats: {', '.join(cls)}.")


@dataclass(frozen=True)
class TraceScore:
    """One score of a row that was read from a trace.

    Attributes:
        run: the id of the run.
        row: the id of the row.
        trace_id: the trace of the row; empty if unknown.
        span_id: the span of the row; empty if unknown.
        service: the service of the trace; empty if unknown.
        metric: the metric's canonical string.
        value: the value; None if and only if ``status`` is not ok.
        status: ``ok``, ``undefined``, ``missing`` or ``failed``.
        reason: why there is no value.
        category: the class of the row, such as a verdict; empty if the metric has no classes.
        judged: whether a language model judged the row.
        time: when the run was created, ISO 8601 in UTC.
    """

    run: str
    row: str
    trace_id: str
    span_id: str
    service: str
    metric: str
    value: float | None
    status: str
    reason: str
    category: str
    judged: bool
    time: str

    @property
    def id(self) -> str:
        """An id that depends only on run, row and metric, so that a repeated upload replaces the score."""
        return stable_id(self.run, self.row, self.metric)

    @property
    def label(self) -> str:
        """The class of the row if it has one, otherwise its status."""
        return self.category or self.status

    @property
    def annotator(self) -> str:
        """``LLM`` for judged metrics, otherwise ``CODE``."""
        return "LLM" if self.judged else "CODE"


def stable_id(*parts: str, size: int = 16) -> str:
    """Return a hexadecimal id of ``size`` bytes that depends on all parts.

    >>> stable_id("run", "row", size=8) == stable_id("run", "row", size=8) != stable_id("ru", "nrow", size=8)
    True
    """
    state = blake2b(digest_size=size)
    for part in parts:
        text = part.encode("utf-8", "surrogatepass")
        state.update(len(text).to_bytes(8, "big") + text)
    return state.hexdigest()


def phoenix_annotation(score: TraceScore) -> dict[str, object] | None:
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


def langfuse_score(score: TraceScore) -> dict[str, object] | None:
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


def otlp_request(spans: Iterable[EvaluationSpan]) -> dict[str, object]:
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
