"""Read MLflow traces: JSON of traces, and data frames of ``search_traces``."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any

import orjson

from sgi.kernel import raw_values
from sgi.kernel.errors import DataError
from sgi_traces.observation import evaluation, failure, step_attributes
from sgi_traces.span import Span, cost_in, usage_attributes
from sgi_traces.trace_records import cell_value, list_cell, nanoseconds, object_cell, required_id

if TYPE_CHECKING:
    from collections.abc import Mapping

_OWN = "mlflow."
_KINDS = {
    "LLM": "LLM",
    "CHAT_MODEL": "LLM",
    "CHAIN": "CHAIN",
    "WORKFLOW": "CHAIN",
    "TASK": "CHAIN",
    "AGENT": "AGENT",
    "TOOL": "TOOL",
    "RETRIEVER": "RETRIEVER",
    "RERANKER": "RERANKER",
    "EMBEDDING": "EMBEDDING",
}
_FRAMES = (
    {"trace_id", "state", "request_time", "execution_duration"},
    {"request_id", "timestamp_ms", "execution_time_ms", "request_metadata"},
)
"""Columns of frames of traces, of version 3 and 2 of MLflow."""
_BASE64 = 12
"""Characters of eight bytes in base64."""
REFERENCES = ("expected_response", "expected_output", "expected_answer", "ground_truth")
"""Names of expectations that are the reference of a row."""


def is_mlflow(values: Mapping[str, object]) -> bool:
    """Return whether a record is a trace, or a row of a frame of traces.

    >>> is_mlflow({"info": {"trace_id": "tr-1"}, "data": {"spans": []}}), is_mlflow({"info": {}, "data": {}})
    (True, False)
    """
    info, data = values.get("info"), values.get("data")
    if isinstance(info, dict) and isinstance(data, dict):
        return "spans" in data and ("trace_id" in info or "request_id" in info)
    return any(columns <= values.keys() for columns in _FRAMES)


def mlflow_spans(values: Mapping[str, object], line: int = 0) -> list[Span]:
    """Convert a trace to spans. Raises DataError with the id and the field for wrong types."""
    if not is_mlflow(values):
        hint = "A trace has info and data.spans; a row of search_traces() has trace_id and spans."
        raise DataError("is not a trace of MLflow", hint=hint)
    info = object_cell(values, "info") or values
    held = object_cell(values, "data") or values
    name = required_id(info.get("trace_id") or info.get("request_id"), "trace_id")
    try:
        facts = _facts(info)
        spans = [_span(item, name, place, line) for place, item in enumerate(list_cell(held, "spans"))]
    except DataError as error:
        raise DataError(error.message, sample_id=name, field=error.field, hint=error.hint) from None
    root = next((place for place, span in enumerate(spans) if span.parent_id is None), None)
    if root is None:  # a trace whose spans were not exported
        input_value, output_value = (_payload(values.get(key)) for key in ("request", "response"))
        return [
            Span(
                name,
                name,
                attributes=step_attributes("CHAIN", "", input_value, output_value, facts),
                line=line,
            )
        ]
    first = spans[root]
    own = {**facts, **first.attributes}
    spans[root] = Span(
        name, first.span_id, None, first.name, first.start, first.end, own, first.events, first.resource, line
    )
    return spans


def mlflow_reference(values: Mapping[str, Any]) -> str | None:
    """Return the expected answer of a trace, which someone logged as an expectation; None without one."""
    known = {}
    for item in list_cell(object_cell(values, "info") or values, "assessments"):
        expected = item.get("expectation") if isinstance(item, dict) else None
        if isinstance(expected, dict) and isinstance(expected.get("value"), str):
            known[str(item.get("assessment_name"))] = expected["value"]
    return next((known[name] for name in REFERENCES if name in known), None)


def _facts(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of the root span: session, assessments, and the user's tags."""
    held = object_cell(info, "trace_metadata") or object_cell(info, "request_metadata")
    tags = object_cell(info, "tags")
    scores = []
    for item in list_cell(info, "assessments"):
        feedback = item.get("feedback") if isinstance(item, dict) else None
        if isinstance(feedback, dict):
            value = feedback.get("value")
            is_label = isinstance(value, (str, bool))
            label, score = (str(value), None) if is_label else (None, value)
            scores.append(evaluation(str(item.get("assessment_name")), score, label, item.get("rationale")))
    own = {key: value for key, value in tags.items() if not key.startswith(_OWN)}
    state = info.get("state") or info.get("status")
    user = held.get("mlflow.trace.user")
    more = {
        "user_id": user,
        "state": None if state == "OK" else state,
        "run_id": held.get("mlflow.sourceRun"),
    }
    return {
        "session.id": held.get("mlflow.trace.session"),
        **_usage(held, "mlflow.trace.tokenUsage", "mlflow.trace.cost"),
        "evaluations": scores or None,
        "metadata": {**own, **{key: value for key, value in more.items() if value}},
    }


def _usage(values: Mapping[str, Any], usage: str, cost: str) -> dict[str, Any]:
    return usage_attributes(object_cell(values, usage), cost_in(values.get(cost)))


def _span(item: Any, trace: str, place: int, line: int) -> Span:
    if not isinstance(item, dict):
        raise DataError(f"expected an object, found {raw_values.describe(item)}", field=f"spans.{place}")
    given_context = item.get("context")
    context = given_context if isinstance(given_context, dict) else item
    name = str(item.get("name") or "")
    try:
        own = {key: _json_value(value) for key, value in object_cell(item, "attributes").items()}
        kind = _KINDS.get(str(own.get("mlflow.spanType")))
        facts = {
            "llm.model_name": own.get("mlflow.llm.model"),
            **_usage(own, "mlflow.chat.tokenUsage", "mlflow.llm.cost"),
        }
        input_value, output_value = own.get("mlflow.spanInputs"), own.get("mlflow.spanOutputs")
        parent = item.get("parent_span_id", item.get("parent_id"))
        return Span(
            trace_id=trace,
            span_id=_hex(raw_values.as_id(context.get("span_id"))),
            parent_id=_hex(raw_values.as_id(parent)) if parent else None,
            name=name,
            start=nanoseconds(
                item.get("start_time_unix_nano", item.get("start_time")), "start_time_unix_nano"
            ),
            end=nanoseconds(item.get("end_time_unix_nano", item.get("end_time")), "end_time_unix_nano"),
            attributes=step_attributes(kind, name, input_value, output_value, facts),
            events=failure(_error(item)),
            line=line,
        )
    except DataError as error:
        raise DataError(
            error.message, field=f"spans.{place}.{error.field or 'span_id'}", hint=error.hint
        ) from None


def _error(item: Mapping[str, object]) -> object:
    """Return the message of a failed span, of version 3 or 2; None for others."""
    status = item.get("status")
    held = status if isinstance(status, dict) else {"code": item.get("status_code")}
    message = held.get("message", item.get("status_message"))
    return (message or "the span failed") if "ERROR" in str(held.get("code")) else None


def _json_value(value: object) -> object:
    """Parse the JSON in an attribute; every attribute of MLflow is JSON."""
    if not isinstance(value, str):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return value


def _payload(value: Any) -> Any:
    return None if raw_values.is_absent(value) or value == "" else cell_value(value)


def _hex(name: str) -> str:
    """Return a span id as MLflow shows it; its JSON has the bytes in base64."""
    if len(name) != _BASE64 or not name.endswith("="):
        return name
    try:
        return base64.b64decode(name, validate=True).hex()
    except binascii.Error:
        return name
