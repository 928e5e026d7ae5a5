"""Read TruLens' records (``get_records_and_feedback``) and events (``get_events``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgi.kernel import raw_values
from sgi.kernel.errors import DataError
from sgi_traces.content import answer_in, question_in
from sgi_traces.observation import failure
from sgi_traces.span import Span, usage_attributes
from sgi_traces.trace_records import (
    all_rows,
    cell_value,
    make_row,
    nanoseconds,
    object_cell,
    read,
    required_id,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgi_traces.assemble import TraceRows

_OWN = "ai.observability."
_NO_PASSAGES = "records of TruLens have no passages; export its events, with TruSession.get_events()"
_KINDS = {
    "record_root": "CHAIN",
    "retrieval": "RETRIEVER",
    "reranking": "RERANKER",
    "generation": "LLM",
    "tool": "TOOL",
    "MCP": "TOOL",
    "agent": "AGENT",
    "graph_node": "CHAIN",
    "graph_task": "CHAIN",
    "workflow_step": "CHAIN",
}
EVENT_NAMES = {
    "input.value": "record_root.input",
    "output.value": "record_root.output",
    "retrieval.documents": "retrieval.retrieved_contexts",
    "reranker.output_documents": "reranking.output_context_texts",
}
"""Attributes of OpenInference: the attributes of TruLens that they are from."""
_JSON = {"app_json", "record_json", "perf_json"}
_LEFT_OUT = {
    "record_json",
    "app_json",
    "cost_json",
    "perf_json",
    "is_match",
    "type",
    "input",
    "output",
    "record_id",
}


def is_trulens(values: Mapping[str, object]) -> bool:
    """Return whether a record is a record or an event of TruLens.

    >>> is_trulens({"record_id": "r1", "app_id": "a", "perf_json": {}, "input": "Who?", "output": "She."})
    True
    >>> is_trulens({"record_id": "r1", "input": "Who?", "output": "She."})
    False
    """
    is_record = {"record_id", "app_id"} <= values.keys() and not _JSON.isdisjoint(values)
    return is_event(values) or is_record


def is_event(values: Mapping[str, object]) -> bool:
    """Return whether a record is an event."""
    return {"event_id", "record_attributes"} <= values.keys()


def trulens_rows(values: Mapping[str, object], line: int = 0) -> TraceRows:
    """Make a row of a record. Raises DataError with the field for wrong types."""
    if not is_trulens(values):
        hint = (
            "Write them with session.get_records_and_feedback()[0].to_json(…, orient='records', lines=True)."
        )
        raise DataError("is not a record of TruLens: record_id, app_id or perf_json is missing", hint=hint)
    question, answer = values.get("input"), values.get("output")
    for name, value in (("input", question), ("output", answer)):
        if not raw_values.is_absent(value) and not isinstance(value, (str, dict, list)):
            raise DataError(f"expected text, found {raw_values.describe(value)}", field=name)
    fields = {
        "id": read(values, "record_id", raw_values.as_id),
        "question": None if raw_values.is_absent(question) else question_in(question),
        "response": None if raw_values.is_absent(answer) else answer_in(answer),
    }
    scores = [key.removesuffix("_calls") for key in values if key.endswith("_calls")]
    feedback = {
        key: value
        for name in scores
        for key, value in values.items()
        if key in {name, f"{name}_calls", f"{name} direction", f"{name} feedback cost in USD"}
    }
    metadata = {
        "session_id": values.get("conversation_id"),
        "start": values.get("ts"),
        "evaluations": {
            name: {"score": values[name]} for name in scores if not raw_values.is_absent(values.get(name))
        },
        **{
            key: value
            for key, value in values.items()
            if key not in {*_LEFT_OUT, *feedback, "conversation_id", "ts"}
        },
    }
    sources = {"question": "input", "response": "output"}
    if fields["response"] is None:
        return all_rows([], ["the record has no output"])
    return all_rows([make_row(fields, sources, metadata, absent={"contexts": _NO_PASSAGES}, line=line)])


def trulens_spans(values: Mapping[str, object], line: int = 0) -> list[Span]:
    """Convert an event to a span. Raises DataError with the field for wrong types."""
    attributes = object_cell(values, "record_attributes")
    place = object_cell(values, "trace")
    record = object_cell(values, "record")
    name = attributes.get(f"{_OWN}eval.target_record_id") or attributes.get(f"{_OWN}record_id")
    span_id = required_id(place.get("span_id") or values.get("event_id"), "trace.span_id")
    parent = place.get("parent_id") or record.get("parent_span_id")
    return [
        Span(
            trace_id=required_id(name or place.get("trace_id"), "trace.trace_id"),
            span_id=span_id,
            parent_id=str(parent) if parent else None,
            name=str(record.get("name") or ""),
            start=nanoseconds(values.get("start_timestamp"), "start_timestamp"),
            end=nanoseconds(values.get("timestamp"), "timestamp"),
            attributes=_attributes(attributes),
            events=failure(attributes.get(f"{_OWN}record_root.error")),
            resource=object_cell(values, "resource_attributes"),
            line=line,
        )
    ]


def _attributes(record: Mapping[str, Any]) -> dict[str, Any]:
    own = {key.removeprefix(_OWN): value for key, value in record.items() if key.startswith(_OWN)}
    kind = str(own.get("span_type"))
    if kind in {"eval", "eval_root"}:
        return _evaluation(own) if kind == "eval_root" else {}
    converted = {
        "openinference.span.kind": _KINDS.get(kind),
        "input.value": own.get("record_root.input", own.get("retrieval.query_text")),
        "output.value": own.get("record_root.output"),
        **usage_attributes(
            {"input": own.get("cost.num_prompt_tokens"), "output": own.get("cost.num_completion_tokens")},
            own.get("cost.cost") if own.get("cost.cost_currency") == "USD" else None,
        ),
        "session.id": own.get("conversation_id"),
        "gen_ai.retrieval.query.text": own.get("retrieval.query_text"),
        "metadata": {"input_id": own.get("input_id"), "run_name": own.get("run.name") or None},
    }
    if kind == "generation" and converted["output.value"] is None:
        converted["output.value"] = own.get("call.return")
    if kind == "retrieval":
        converted["retrieval.documents"] = _texts(own.get("retrieval.retrieved_contexts"))
    if kind == "reranking":
        converted["reranker.input_documents"] = _texts(own.get("reranking.input_context_texts"))
        converted["reranker.output_documents"] = _texts(own.get("reranking.output_context_texts"))
    if kind in {"tool", "MCP"}:
        converted["tool.name"] = own.get("mcp.tool_name", own.get("call.function"))
        converted["output.value"] = own.get("mcp.output_content", own.get("call.return"))
    return {key: value for key, value in converted.items() if value is not None}


def _texts(value: object) -> list[dict[str, object]] | None:
    """Return documents in the form of OpenInference."""
    parsed = cell_value(value)
    if parsed is None:
        return None
    if not isinstance(parsed, list):
        raise DataError(
            f"expected a list of texts, found {raw_values.describe(parsed)}", field="record_attributes"
        )
    return [item if isinstance(item, dict) else {"document.content": item} for item in parsed]


def _evaluation(own: Mapping[str, object]) -> dict[str, object]:
    evaluation = {
        "evaluation.name": own.get("eval_root.metric_name"),
        "evaluation.score": own.get("eval_root.score"),
        "evaluation.explanation": own.get("eval_root.explanation"),
    }
    return {"evaluations": [{key: value for key, value in evaluation.items() if value is not None}]}
