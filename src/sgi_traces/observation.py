"""Turn a step of another tool's trace into a span with the attributes of OpenInference."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from sgi.io.documents import documents_in, has_answer
from sgi.kernel import raw_values
from sgi_traces.span import Event
from sgi_traces.trace_conversation import is_search
from sgi_traces.trace_records import cell_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgi.io.documents import Document

_RERANK = re.compile(r"re-?rank", re.IGNORECASE)
_RETRIEVE = re.compile(r"retriev|search|lookup", re.IGNORECASE)
_UNNAMED = {None, "CHAIN"}


def step_attributes(
    kind: str | None, name: str, input_value: Any, output_value: Any, extra: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the attributes of a span for a step that another tool recorded.

    A step of no special kind whose output is documents is a reranking or a retrieval if its name says so. A
    tool has documents if its name says that it searches.

    Args:
        kind: the kind of OpenInference, None if the tool has no equal kind.
        name: the name of the step.
        input_value: its input, JSON or a text that holds JSON; None if unknown.
        output_value: its output, in the same way.
        extra: other attributes; absent ones are left out.

    >>> documents = [{"id": "1", "text": "A passage."}]
    >>> step_attributes(None, "rerank", "Who?", documents, {})["openinference.span.kind"]
    'RERANKER'
    """
    input_value, output_value = cell_value(input_value), cell_value(output_value)
    if (
        kind in _UNNAMED
        and (_RERANK.search(name) or _RETRIEVE.search(name))
        and not has_answer(output_value)
        and documents_in(output_value) is not None
    ):
        kind = "RERANKER" if _RERANK.search(name) else "RETRIEVER"
    attributes = {
        "openinference.span.kind": kind,
        "input.value": None if raw_values.is_absent(input_value) else input_value,
        "output.value": None if raw_values.is_absent(output_value) else output_value,
        **extra,
    }
    if kind == "LLM":
        attributes["gen_ai.input.messages"] = input_value if isinstance(input_value, (list, dict)) else None
        attributes["gen_ai.output.messages"] = (
            output_value if isinstance(output_value, (list, dict)) else None
        )
    if kind == "TOOL":
        attributes["tool.name"] = name or None
        documents = documents_in(output_value) if is_search(name) else None
        if documents is not None:
            attributes["retrieval.documents"] = [_openinference_document(document) for document in documents]
    return {key: value for key, value in attributes.items() if value is not None}


def _openinference_document(document: Document) -> dict[str, object]:
    values = {
        "document.content": document.text,
        "document.id": document.id,
        "document.score": document.score,
    }
    return {key: value for key, value in values.items() if value is not None}


def failure(message: Any) -> tuple[Event, ...]:
    """Return the events of a step that failed with this message; none without a message."""
    return (
        (Event("exception", {"exception.message": message}),) if isinstance(message, str) and message else ()
    )


def evaluation(name: str, score: Any, label: Any = None, explanation: Any = None) -> dict[str, Any]:
    """Return a score of another tool in the form of OpenInference."""
    values = {
        "evaluation.name": name,
        "evaluation.score": score,
        "evaluation.label": label,
        "evaluation.explanation": explanation,
    }
    return {key: value for key, value in values.items() if not raw_values.is_absent(value)}
