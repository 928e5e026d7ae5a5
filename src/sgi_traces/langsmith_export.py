"""Read runs of LangSmith: from its client, its API, or its bulk export."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgi.kernel import raw_values
from sgi.kernel.errors import DataError
from sgi_traces.observation import evaluation, failure, step_attributes
from sgi_traces.span import Span, usage_attributes
from sgi_traces.trace_records import list_cell, nanoseconds, object_cell, read

if TYPE_CHECKING:
    from collections.abc import Mapping

_KINDS = {
    "chain": "CHAIN",
    "llm": "LLM",
    "retriever": "RETRIEVER",
    "tool": "TOOL",
    "embedding": "EMBEDDING",
    "prompt": None,
    "parser": None,
}
_SESSIONS = ("session_id", "thread_id", "conversation_id")
"""Keys of a run's metadata by which LangSmith groups runs into threads."""
_MODELS = ("ls_model_name", "model_name", "model")


def is_langsmith(values: Mapping[str, object]) -> bool:
    """Return whether a record is a run.

    >>> is_langsmith({"id": "1", "run_type": "chain", "inputs": {}, "start_time": "2026-01-31T12:00:00Z"})
    True
    >>> is_langsmith({"id": "1", "run_type": "nightly", "inputs": {}, "start_time": "12:00"})
    False
    """
    return _kind(values) in _KINDS and {"id", "inputs", "start_time"} <= values.keys()


def _kind(run: Mapping[str, object]) -> str:
    """Return the type of a run; the newer API writes it in capitals."""
    return str(run.get("run_type")).casefold()


def langsmith_spans(values: Mapping[str, object], line: int = 0) -> list[Span]:
    """Convert a run and its child runs to spans. Raises DataError with the id and field for wrong types."""
    spans = []
    waiting: list[tuple[object, str | None, str | None]] = [(values, None, None)]
    while waiting:
        run, parent, trace = waiting.pop()
        if not isinstance(run, dict) or not is_langsmith(run):
            hint = "A run has id, run_type, start_time, and inputs."
            raise DataError("is not a run of LangSmith", field="child_runs" if parent else None, hint=hint)
        span = _span(run, parent, trace, line)
        spans.append(span)
        waiting += [(child, span.span_id, span.trace_id) for child in list_cell(run, "child_runs")]
    return spans


def _span(run: Mapping[str, Any], parent: str | None, trace: str | None, line: int) -> Span:
    known = run.get("id") if isinstance(run.get("id"), str) else None
    try:
        name = read(run, "name") or ""
        extra = object_cell(run, "extra")
        own = object_cell(extra, "metadata") | object_cell(run, "metadata")
        around = list_cell(run, "parent_run_ids")  # from the root to the parent
        parent = read(run, "parent_run_id", raw_values.as_id) or (
            raw_values.as_id(around[-1]) if around else parent
        )
        span_id = raw_values.as_id(run.get("id"))
        return Span(
            trace_id=read(run, "trace_id", raw_values.as_id) or trace or parent or span_id,
            span_id=span_id,
            parent_id=parent,
            name=name,
            start=nanoseconds(run.get("start_time"), "start_time"),
            end=nanoseconds(run.get("end_time"), "end_time"),
            attributes=_attributes(run, name, own),
            events=failure(run.get("error")),
            line=line,
        )
    except DataError as error:
        raise DataError(error.message, sample_id=known, field=error.field, hint=error.hint) from None


def _attributes(run: Mapping[str, Any], name: str, own: Mapping[str, Any]) -> dict[str, Any]:
    stats = object_cell(run, "feedback_stats")
    scores = [evaluation(key, item.get("avg")) for key, item in stats.items() if isinstance(item, dict)]
    facts = {
        "session.id": run.get("thread_id") or next((own[key] for key in _SESSIONS if own.get(key)), None),
        "llm.model_name": next((own[key] for key in _MODELS if isinstance(own.get(key), str)), None),
        **_usage(run, own),
        "evaluations": scores or None,
        "metadata": {
            **{key: value for key, value in own.items() if key not in {*_SESSIONS, "revision_id"}},
            **({"tags": tags} if (tags := list_cell(run, "tags")) else {}),
            **{key: run[key] for key in ("error", "reference_example_id", "session_name") if run.get(key)},
        },
    }
    kind = _KINDS[_kind(run)]
    return step_attributes(kind, name, object_cell(run, "inputs"), object_cell(run, "outputs") or None, facts)


def _usage(run: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tokens and the cost that LangSmith computed, otherwise those that the application logged."""
    if run.get("prompt_tokens") or run.get("total_cost"):
        counts = {name: run.get(name) for name in ("prompt_tokens", "completion_tokens")}
        return usage_attributes(counts, run.get("total_cost"))
    logged = object_cell(object_cell(run, "outputs"), "usage_metadata") or object_cell(own, "usage_metadata")
    return usage_attributes(logged, logged.get("total_cost"))
