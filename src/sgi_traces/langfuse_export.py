"""Read Langfuse exports: observations of its API, tables of its pages, and scheduled exports to storage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgi.kernel import raw_values
from sgi.kernel.errors import DataError
from sgi_traces.observation import evaluation, failure, step_attributes
from sgi_traces.span import Span, cost_in, usage_attributes
from sgi_traces.trace_records import cell_value, list_cell, nanoseconds, object_cell, read

if TYPE_CHECKING:
    from collections.abc import Mapping

_KINDS = {
    "SPAN": None,
    "GENERATION": "LLM",
    "EVENT": None,
    "AGENT": "AGENT",
    "TOOL": "TOOL",
    "CHAIN": "CHAIN",
    "RETRIEVER": "RETRIEVER",
    "EVALUATOR": None,
    "EMBEDDING": "EMBEDDING",
    "GUARDRAIL": None,
}


def is_langfuse(values: Mapping[str, object]) -> bool:
    """Return whether a record is an observation, or a trace with or without its observations.

    >>> is_langfuse({"id": "1", "traceId": "t", "type": "SPAN", "startTime": "2026-01-31T12:00:00Z"})
    True
    >>> is_langfuse({"id": "1", "trace_id": "t", "type": "question", "start_time": "12:00"})
    False
    """
    return _is_observation(values) or _is_trace(values)


def langfuse_spans(values: Mapping[str, object], line: int = 0) -> list[Span]:
    """Convert an observation, or a trace with its observations, to spans.

    Raises DataError with the id and the field for wrong types.
    """
    if _is_observation(values):
        return [_span(values, line)]
    if _is_trace(values):
        return _spans_of_trace(values, line)
    hint = "Export observations: they have id, traceId (or trace_id), type and startTime (or start_time)."
    raise DataError("is not an observation or a trace of Langfuse", hint=hint)


def _is_observation(values: Mapping[str, Any]) -> bool:
    named = {"traceId", "startTime"} <= values.keys() or {"trace_id", "start_time"} <= values.keys()
    return named and "id" in values and str(values.get("type")) in _KINDS


def _is_trace(values: Mapping[str, object]) -> bool:
    if not {"id", "timestamp"} <= values.keys():
        return False
    observations = cell_value(values.get("observations"))
    if isinstance(observations, list) and observations and isinstance(observations[0], dict):
        return _is_observation(observations[0])
    if {"input", "output"} <= values.keys() and "traceId" not in values and _holds_object(values):
        return True  # a row of columns has texts
    has_session = "sessionId" in values or "session_id" in values
    return has_session and "public" in values and ("input" in values or "output" in values)


def _holds_object(values: Mapping[str, object]) -> bool:
    cells = [cell_value(values[name]) for name in ("input", "output")]
    return isinstance(cells[0], dict) and (cells[1] is None or isinstance(cells[1], dict))


def _span(values: Mapping[str, Any], line: int, trace: Mapping[str, Any] | None = None) -> Span:
    try:
        name = read(values, "name") or ""
        facts = {
            "session.id": _either(values, "sessionId", "session_id"),
            "llm.model_name": _either(values, "model", "providedModelName", "provided_model_name"),
            **_usage(values),
            "metadata": _metadata(values),
            **(trace or {}),
        }
        output_value = _payload(values.get("output"))
        attributes = step_attributes(
            _KINDS[values["type"]], name, _payload(values.get("input")), output_value, facts
        )
        is_error = values.get("level") == "ERROR"
        parent = _either(values, "parentObservationId", "parent_observation_id")
        return Span(
            trace_id=raw_values.as_id(_either(values, "traceId", "trace_id")),
            span_id=raw_values.as_id(values.get("id")),
            parent_id=None if parent is None else raw_values.as_id(parent),
            name=name,
            start=_time(values, "startTime", "start_time"),
            end=_time(values, "endTime", "end_time"),
            attributes=attributes,
            events=failure(_either(values, "statusMessage", "status_message") if is_error else None),
            line=line,
        )
    except DataError as error:
        identifier = values.get("id")
        known = identifier if isinstance(identifier, str) else None
        raise DataError(error.message, sample_id=known, field=error.field, hint=error.hint) from None


def _spans_of_trace(values: Mapping[str, Any], line: int) -> list[Span]:
    """Return the observations of a trace, under a span for the trace itself if it has an input or output."""
    name = read(values, "id", raw_values.as_id)
    observations = [item for item in list_cell(values, "observations") if not isinstance(item, str)]
    for place, item in enumerate(observations):
        if not isinstance(item, dict) or not _is_observation(item):
            raise DataError("is not an observation", sample_id=name, field=f"observations.{place}")
    scores = [
        evaluation(str(score.get("name")), score.get("value"), score.get("stringValue"), score.get("comment"))
        for score in _scores(values)
    ]
    facts = {"session.id": _either(values, "sessionId", "session_id"), "evaluations": scores or None}
    input_value, output_value = _payload(values.get("input")), _payload(values.get("output"))
    root = Span(
        trace_id=name,
        span_id=name,
        name=read(values, "name") or "",
        start=nanoseconds(values.get("timestamp"), "timestamp"),
        attributes=step_attributes(
            "CHAIN", "", input_value, output_value, {**facts, **_usage(values), "metadata": _metadata(values)}
        ),
        line=line,
    )
    if input_value is None and output_value is None and observations:
        return [_span(item, line, facts) for item in observations]
    parented = [{**item, "traceId": name} for item in observations]
    spans = [_span(item, line) for item in parented]
    return [root, *(_with_parent(span, name) for span in spans)]


def _with_parent(span: Span, parent: str) -> Span:
    if span.parent_id is not None:
        return span
    return Span(
        span.trace_id,
        span.span_id,
        parent,
        span.name,
        span.start,
        span.end,
        span.attributes,
        span.events,
        line=span.line,
    )


def _scores(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the scores of a trace, which are objects, or ids where the API gives no more."""
    scores = cell_value(values.get("scores"))
    if isinstance(scores, dict):  # the table of traces has scores by name
        return [{"name": key, "value": value} for key, value in scores.items()]
    return [score for score in scores if isinstance(score, dict)] if isinstance(scores, list) else []


def _metadata(values: Mapping[str, Any]) -> dict[str, Any]:
    own = object_cell(values, "metadata")
    facts = {
        "tags": list_cell(values, "tags") or None,
        "user_id": _either(values, "userId", "user_id"),
        "environment": _either(values, "environment"),
        "release": _either(values, "release"),
        "version": _either(values, "version"),
        "level": None if values.get("level") == "DEFAULT" else values.get("level"),
        "status_message": _either(values, "statusMessage", "status_message"),
    }
    return own | {key: value for key, value in facts.items() if value is not None}


def _usage(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tokens and the cost of an observation, or the cost of a trace."""
    details = object_cell(values, _name_in(values, "usageDetails", "usage_details"))
    usage = details or {
        "input": _either(values, "inputUsage", "promptTokens"),
        "output": _either(values, "outputUsage", "completionTokens"),
    }
    cost = _either(values, "totalCost", "total_cost", "calculatedTotalCost")
    if cost is None:
        cost = cost_in(object_cell(values, _name_in(values, "costDetails", "cost_details")))
    return usage_attributes(usage, cost)


def _name_in(values: Mapping[str, object], *names: str) -> str:
    return next((name for name in names if name in values), names[0])


def _either(values: Mapping[str, Any], *names: str) -> Any:
    """Return the first value that is neither absent nor an empty text, which means null in exports."""
    for name in names:
        value = values.get(name)
        if value is not None and value != "" and not raw_values.is_absent(value):
            return value
    return None


def _time(values: Mapping[str, Any], *names: str) -> int | None:
    name = next((name for name in names if name in values), names[0])
    return nanoseconds(values.get(name), name)


def _payload(value: Any) -> Any:
    """Return an input or output; an empty text of an export means null."""
    return None if raw_values.is_absent(value) or value == "" else value
