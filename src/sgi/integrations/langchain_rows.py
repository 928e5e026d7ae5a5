"""Converts a tree of LangChain or LangSmith runs to a row: question, contexts, response and metadata.

Runs, documents and messages are objects of LangChain, or the JSON of such objects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from sgi.io.chat_messages import last_text, message_of, without_wrapper
from sgi.io.coercion import any_json
from sgi.io.column_names import NAMES
from sgi.io.documents import Document

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from sgi.io.chat_messages import Message

_NAMES_OF_FIELDS = frozenset(name for names in NAMES.values() for name in names)
_GIVEN = ("id", "reference")
_SESSION_KEYS = ("thread_id", "session_id", "conversation_id")


def run_row(run: Any, *, tools: Collection[str] = ()) -> dict[str, Any]:
    """Return the row of a run and its child runs.

    The question and the response come from the inputs and outputs of the run itself: a text, the value of a
    key such as ``question`` or ``answer``, or the last human and AI message. The contexts come from all its
    runs, see `passages_of`. A field that the run does not have is None. If the metadata of the run has ``id``
    and ``reference``, the row gets them. The other metadata stays metadata. Further metadata has the names
    that rows from traces have: ``trace_id``, ``span_id``, ``session_id``, ``span_name``, ``start``, and
    ``document_ids``, and also ``error`` and ``tags``.

    The id of the run is not that of the row: rows without id are compared by question, so that two runs of
    the same questions can be compared.

    Args:
        run: the root run.
        tools: the names of tools whose text output is a passage.
    """
    passages = passages_of(run, tools)
    inputs, outputs = run.inputs or {}, run.outputs or {}
    messages = (last_text(_messages(values), "user") for values in (inputs, outputs))
    questions = (_field(inputs, "question"), *messages)
    given = (run.extra or {}).get("metadata") or {}
    return {
        **{name: given[name] for name in _GIVEN if name in given},
        "question": next((text for text in questions if text is not None), None),
        "contexts": None if passages is None else [passage.text for passage in passages],
        "response": _response(outputs, inputs),
        "latency_ms": _latency(run),
        "metadata": _metadata(run, passages or [], given),
    }


def run_error(run: Any) -> str | None:
    """Return the error of a run without the traceback; None if it has none."""
    return (run.error or "").partition("Traceback (most recent call last)")[0].strip() or None


def without_messages(values: dict[str, Any]) -> dict[str, Any]:
    """Return the inputs or outputs of a run with the text of each message, and without lists of messages."""
    texts = {}
    for name, value in values.items():
        message = _message(value)
        if message is not None and message.role == "assistant":
            texts[name] = message.text
        elif message is not None or not _messages({name: value}):
            texts[name] = value
    return texts


def passages_of(run: Any, tools: Collection[str] = ()) -> list[Document] | None:
    """Return the documents that the steps of a run pass on, without repetitions; None without any retrieval.

    A list of texts in the outputs, under a name such as ``contexts``, is used as it is. Otherwise, the
    outermost step that returns documents counts: a reranking retriever hides the retrievers that it calls. A
    later step that receives and returns documents, such as a reranker, replaces those that it received.
    """
    value = next((value for name, value in (run.outputs or {}).items() if name in NAMES["contexts"]), None)
    if isinstance(value, (list, tuple)) and value and all(isinstance(text, str) for text in value):
        return [Document(text) for text in value]
    documents: dict[str | None, Document] = {}
    if _collect(run, frozenset(tools), documents):
        return list(documents.values())
    return [Document(value)] if isinstance(value, str) else None


def _collect(run: Any, tools: frozenset[str], documents: dict[str | None, Document]) -> bool:
    """Add the passages of a run to ``documents``; return whether something was retrieved."""
    outputs = run.outputs or {}
    passages = _documents_in(outputs)
    if passages is None and run.run_type == "retriever" and "documents" in outputs:
        passages = []
    if passages is None and run.run_type == "tool" and run.name in tools:
        message = _message(outputs.get("output"))
        text = outputs.get("output") if message is None else message.text
        passages = [Document(text)] if isinstance(text, str) else None
    if passages is None:
        retrieved = [_collect(child, tools, documents) for child in run.child_runs or ()]
        return any(retrieved)
    for passage in _documents_in(run.inputs or {}) or ():
        documents.pop(passage.text, None)
    for passage in passages:
        documents.setdefault(passage.text, passage)
    return True


def _documents_in(values: dict[str, object]) -> list[Document] | None:
    """Return the documents of a run's inputs or outputs; None if there is no list of documents."""
    return [passage for value in values.values() for passage in _documents(value)] or None


def _documents(value: Any) -> list[Document]:
    artifact = _fields(value).get("artifact")
    if artifact is not None:
        return _documents(artifact)
    items = [_fields(item) for item in value] if isinstance(value, (list, tuple)) else []
    if not all(isinstance(item.get("page_content"), str) for item in items):
        return []
    return [
        Document(item["page_content"], name if isinstance(name := item.get("id"), str) else None)
        for item in items
    ]


def _field(values: dict[str, object], field: str) -> str | None:
    """Return the text under the first known name of a field; a single value may have an unknown name."""
    named = [values[name] for name in NAMES[field] if name in values]
    if len(values) == 1:
        named += [value for name, value in values.items() if name not in _NAMES_OF_FIELDS]
    return next((value for value in named if isinstance(value, str)), None)


def _response(outputs: dict[str, object], inputs: dict[str, object]) -> str | None:
    text = _field(outputs, "response")
    if text is not None:
        return text
    message = _message(outputs.get("output"))
    if message is None or message.role != "assistant":
        message = next(iter(_messages(outputs)[-1:]), None)
    if message is not None:
        return message.text if message.role == "assistant" else None
    added = [value for name, value in outputs.items() if name not in inputs and isinstance(value, str)]
    return added[0] if len(added) == 1 else None


def _messages(values: Mapping[str, object]) -> list[Message]:
    lists = [value if isinstance(value, (list, tuple)) else [value] for value in values.values()]
    messages = (_message(item) for items in lists for item in items)
    return [message for message in messages if message is not None]


def _message(value: Any) -> Message | None:
    """Read a message: an object of LangChain, its JSON, or a role with a text."""
    message = _fields(value)
    content = message.get("content")
    if content is None:
        return None
    if isinstance(content, list):
        blocks = (block if isinstance(block, str) else _fields(block).get("text") for block in content)
        content = "".join(block for block in blocks if isinstance(block, str))
    role = next((message[key] for key in ("role", "type") if isinstance(message.get(key), str)), "")
    role = role.removesuffix("Chunk").removesuffix("Message")
    return message_of({"role": role, "content": content, "tool_calls": message.get("tool_calls")})


def _fields(value: Any) -> Mapping[str, Any]:
    """Return the fields of an object of LangChain, of its JSON, or of a role with a text; otherwise none."""
    if isinstance(value, tuple):
        return dict(zip(("role", "content"), value, strict=False))
    if isinstance(value, BaseModel):
        return dict(value)
    return without_wrapper(value) if isinstance(value, dict) else {}


def _latency(run: Any) -> float | None:
    if run.end_time is None or run.end_time < run.start_time:  # the clock of the host was set back
        return None
    return round(1000 * float((run.end_time - run.start_time).total_seconds()), 3)


def _metadata(run: Any, passages: Iterable[Document], given: Mapping[str, Any]) -> dict[str, Any]:
    ids = [passage.id for passage in passages]
    values = {
        **{name: value for name, value in given.items() if name not in _GIVEN},
        "trace_id": str(run.trace_id),
        "span_id": str(run.id),
        "session_id": next((str(given[key]) for key in _SESSION_KEYS if key in given), None),
        "span_name": run.name,
        "start": run.start_time.isoformat(timespec="milliseconds"),
        "error": run_error(run),
        "tags": run.tags or None,
        "document_ids": ids if any(ids) else None,
    }
    return {str(name): any_json(value) for name, value in values.items() if value is not None}
