"""Read the conventions of span attributes: OpenInference, OpenTelemetry GenAI and OpenLLMetry.

OpenTelemetry's Python package marks its GenAI constants as deprecated, so the names are written out here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgi.io import coercion as cells
from sgi.io.traces.attributes import id_of, lists_of, parse_json, text_of
from sgi.io.traces.content import Attribute, Content, Kind
from sgi.io.traces.documents import documents_in, flat_documents
from sgi.io.traces.events import read_events
from sgi.io.traces.messages import flat_messages, json_messages
from sgi.kernel.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgi.io.traces.attributes import Items
    from sgi.io.traces.span import Span

_DOCUMENTS = ("reranker.output_documents", "retrieval.documents", "output.documents")
_ASKED = ("llm.input_messages", "gen_ai.prompt")
_REPLIED = ("llm.output_messages", "gen_ai.completion")
_COMPLETIONS = {"llm.prompts": "prompt.text", "llm.choices": "completion.text"}
_EVALUATIONS = ("evaluations", "annotations", "trace.evaluations", "trace.annotations")
_LISTS = frozenset(
    {*_DOCUMENTS, "reranker.input_documents", *_ASKED, *_REPLIED, *_COMPLETIONS, *_EVALUATIONS}
)
_OPERATIONS = {
    "chat": Kind.LLM,
    "text_completion": Kind.LLM,
    "generate_content": Kind.LLM,
    "embeddings": Kind.EMBEDDING,
    "execute_tool": Kind.TOOL,
    "invoke_agent": Kind.AGENT,
    "invoke_workflow": Kind.CHAIN,
    "retrieval": Kind.RETRIEVER,
}
_TRACELOOP = {
    "workflow": Kind.CHAIN,
    "task": Kind.CHAIN,
    "agent": Kind.AGENT,
    "tool": Kind.TOOL,
}
_MODELS = (
    "llm.model_name",
    "gen_ai.response.model",
    "gen_ai.request.model",
    "llm.response.model_name",
    "llm.request.model_name",
)
_SESSIONS = (
    "session.id",
    "gen_ai.conversation.id",
    "traceloop.association.properties.session_id",
    "langfuse.session.id",
)
_INPUTS = ("input.value", "gen_ai.input.messages", "traceloop.entity.input", "gen_ai.tool.call.arguments")
_OUTPUTS = ("output.value", "gen_ai.output.messages", "traceloop.entity.output", "gen_ai.tool.call.result")
_MIMES = {"input.value": "input.mime_type", "output.value": "output.mime_type"}
KEPT = (
    "openinference.span.kind", "input.", "output.", "llm.input_messages", "llm.output_messages",
    "llm.prompts", "llm.choices", "llm.model_name", "llm.response.model_name", "llm.request.model_name",
    "retrieval.documents", "reranker.", "tool.name", "session.id", "metadata", "evaluations", "annotations",
    "trace.evaluations", "trace.annotations", "gen_ai.", "traceloop.", "llm.request.type", "db.system",
    "langfuse.session.id", "events", "final_result",
)  # fmt: skip
"""Prefixes of the attributes that `content_of` reads; readers drop the others to save memory."""

KEPT_RESOURCE = ("service.",)
"""Prefixes of the attributes of a resource that are kept."""


def content_of(span: Span) -> Content:
    """Return what a span is and what it holds. Raises DataError with the attribute's name for wrong types."""
    attributes = span.attributes
    lists = lists_of(attributes, _LISTS)
    content = Content(
        input=_first(attributes, _INPUTS),
        output=_first(attributes, _OUTPUTS),
        model=_first_text(attributes, _MODELS),
        session=_first_id(attributes, _SESSIONS),
        tool=_first_text(attributes, ("tool.name", "gen_ai.tool.name", "traceloop.entity.name")),
        is_store=attributes.get("gen_ai.tool.type") == "datastore",
        query=_first_text(attributes, ("gen_ai.retrieval.query.text",)),
    )
    _read_messages(content, attributes, lists)
    _read_documents(content, attributes, lists)
    read_events(content, span)
    content.kind = _kind(span, content)
    if content.documents is None and content.kind in {Kind.RETRIEVER, Kind.RERANKER} and content.output:
        content.documents = documents_in(content.output.value)
        content.from_attribute["documents"] = content.output.name
    _read_evaluations(content, lists)
    content.metadata = _metadata(attributes.get("metadata"))
    return content


def _first(attributes: Mapping[str, Any], names: tuple[str, ...]) -> Attribute | None:
    for name in names:
        value = attributes.get(name)
        if value is not None and value != "":
            return Attribute(name, value, attributes.get(_MIMES.get(name, "")))
    return next((Attribute(name, "") for name in names if attributes.get(name) == ""), None)


def _first_text(attributes: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    return next((text for name in names if (text := text_of(attributes.get(name), name))), None)


def _first_id(attributes: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    return next((text for name in names if (text := id_of(attributes.get(name), name))), None)


def _kind(span: Span, content: Content) -> Kind:
    attributes = span.attributes
    given = attributes.get("openinference.span.kind")
    if isinstance(given, str) and given.upper() in Kind.__members__:
        return Kind(given.upper())
    operation = attributes.get("gen_ai.operation.name")
    if isinstance(operation, str) and operation in _OPERATIONS:
        return _OPERATIONS[operation]
    traced = attributes.get("traceloop.span.kind")
    if isinstance(traced, str) and traced in _TRACELOOP:
        return _TRACELOOP[traced]
    if content.replied or content.asked or attributes.get("llm.request.type") in {"chat", "completion"}:
        return Kind.LLM
    if content.documents is not None:
        return Kind.RETRIEVER
    return Kind.CHAIN if content.input and content.output else Kind.OTHER


def _read_messages(content: Content, attributes: Mapping[str, Any], lists: Items) -> None:
    for name in _ASKED:
        if name in lists and not content.asked:
            content.asked = flat_messages(lists[name], name, "user")
            content.from_attribute["asked"] = name
    for name in _REPLIED:
        if name in lists and not content.replied:
            content.replied = flat_messages(lists[name], name, "assistant")
            content.from_attribute["replied"] = name
    for name, key in _COMPLETIONS.items():
        messages = [{"content": item.get(key, item.get(""))} for item in lists.get(name, ())]
        if messages and name == "llm.prompts" and not content.asked:
            content.asked = flat_messages(messages, name, "user")
            content.from_attribute["asked"] = name
        elif messages and name == "llm.choices" and not content.replied:
            content.replied = flat_messages(messages, name, "assistant")
            content.from_attribute["replied"] = name
    _read_json_messages(content, attributes)


def _read_json_messages(content: Content, attributes: Mapping[str, Any]) -> None:
    for name in ("gen_ai.input.messages", "gen_ai.prompt"):
        if not content.asked and attributes.get(name) is not None:
            content.asked = json_messages(attributes[name], "user")
            content.from_attribute["asked"] = name
    for name in ("gen_ai.output.messages", "gen_ai.completion"):
        if not content.replied and attributes.get(name) is not None:
            content.replied = json_messages(attributes[name], "assistant")
            content.from_attribute["replied"] = name


def _read_documents(content: Content, attributes: Mapping[str, Any], lists: Items) -> None:
    for name in _DOCUMENTS:
        if name in lists and content.documents is None:
            content.documents = flat_documents(lists[name], name)
            content.from_attribute["documents"] = name
    name = "gen_ai.retrieval.documents"
    if content.documents is None and attributes.get(name) is not None:
        documents = documents_in(attributes[name])
        if documents is None:
            problem = f"expected a list of documents, found {cells.describe(attributes[name])}"
            raise DataError(problem, field=name)
        content.documents = documents
        content.from_attribute["documents"] = name
    if "reranker.input_documents" in lists:
        content.given = flat_documents(lists["reranker.input_documents"], "reranker.input_documents")


def _read_evaluations(content: Content, lists: Items) -> None:
    for name in _EVALUATIONS:
        for item in lists.get(name, ()):
            prefix = "evaluation." if any(key.startswith("evaluation.") for key in item) else "annotation."
            content.add_evaluation({key.removeprefix(prefix): value for key, value in item.items()})


def _is_plain(value: Any) -> bool:
    items = value if isinstance(value, list) else [value]
    return all(isinstance(item, (str, int, float)) for item in items)


def _metadata(value: Any) -> dict[str, Any]:
    """Return the scalars and lists of scalars of the user's own metadata, which is a JSON object."""
    parsed = parse_json(value)
    if not isinstance(parsed, dict):
        return {}
    try:
        return cells.as_object({key: v for key, v in parsed.items() if v != [] and _is_plain(v)})
    except DataError as error:
        raise DataError(error.message, field="metadata", hint=error.hint) from None
