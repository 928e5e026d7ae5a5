"""Read the conventions of span attributes: OpenInference, OpenTelemetry GenAI and OpenLLMetry.

OpenTelemetry's Python package marks its GenAI constants as deprecated, so the names are written out here.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from sgi.io import coercion as cells
from sgi.io.chat_messages import flat_messages, json_messages
from sgi.io.documents import Document, documents_in, flat_documents
from sgi.io.json_values import LISTS, id_of, list_items, number_of, parse_json, text_of
from sgi.kernel import raw_values
from sgi.kernel.errors import DataError
from sgi_traces.content import Attribute, Content, Kind
from sgi_traces.span import COSTS, read_costs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from sgi.io.chat_messages import Message
    from sgi.io.json_values import Items
    from sgi_traces.span import Span

_DOCUMENTS = ("reranker.output_documents", "retrieval.documents", "output.documents")
_ASKED = {"llm.input_messages": "", "gen_ai.prompt": "", "llm.prompts": "prompt.text"}
_REPLIED = {"llm.output_messages": "", "gen_ai.completion": "", "llm.choices": "completion.text"}
"""Lists of messages; lists of texts with the key of a text."""
_EVALUATIONS = ("evaluations", "annotations", "trace.evaluations", "trace.annotations")
_KINDS = {kind.value: kind for kind in Kind}
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
_INPUTS = (
    "input.value",
    "gen_ai.input.messages",
    "traceloop.entity.input",
    "gen_ai.tool.call.arguments",
    "pydantic_ai.all_messages",
)
_OUTPUTS = (
    "output.value",
    "gen_ai.output.messages",
    "traceloop.entity.output",
    "gen_ai.tool.call.result",
    "final_result",
)
_TOOLS = ("tool.name", "gen_ai.tool.name", "traceloop.entity.name")
_METADATA = "metadata"
_RETRIEVED = "gen_ai.retrieval.documents"
_JSON_ASKED = ("gen_ai.input.messages", "gen_ai.prompt")
_JSON_REPLIED = ("gen_ai.output.messages", "gen_ai.completion")
_MIMES = {"input.value": "input.mime_type", "output.value": "output.mime_type"}


class _Names(NamedTuple):
    """The attributes of a span that conventions know, in the order in which they are tried."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    models: tuple[str, ...]
    sessions: tuple[str, ...]
    tools: tuple[str, ...]
    queries: tuple[str, ...]
    lists: tuple[str, ...]
    metadata: tuple[str, ...]
    costs: tuple[str, ...]
    has_json: bool


@lru_cache(maxsize=1024)
def _known_names(attributes: tuple[str, ...]) -> _Names:
    """Sort the names of attributes; most spans of a file have one of a few sets of names."""

    def known(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(name for name in names if name in attributes)

    return _Names(
        known(_INPUTS),
        known(_OUTPUTS),
        known(_MODELS),
        known(_SESSIONS),
        known(_TOOLS),
        known(("gen_ai.retrieval.query.text",)),
        known(sorted(LISTS)),
        tuple(name for name in attributes if name == _METADATA or name.startswith(f"{_METADATA}.")),
        known(COSTS),
        bool(known((*_JSON_ASKED, *_JSON_REPLIED, _RETRIEVED))),
    )


def content_of(span: Span) -> Content:
    """Return kind and content of a span. Raises DataError with the attribute's name for wrong types."""
    attributes = span.attributes
    names = _known_names(tuple(attributes))
    content = Content(
        input=_first(attributes, names.inputs),
        output=_first(attributes, names.outputs),
        model=_first_text(attributes, names.models),
        session=_first_text(attributes, names.sessions, id_of),
        tool=_first_text(attributes, names.tools),
        is_store=attributes.get("gen_ai.tool.type") == "datastore",
        query=_first_text(attributes, names.queries),
    )
    if names.lists:
        lists = list_items(attributes, names.lists)
        _read_messages(content, lists)
        _read_documents(content, lists)
        _read_evaluations(content, lists)
    if names.has_json:
        _read_json(content, attributes)
    if span.events:
        read_events(content, span)
    content.kind = _kind(span, content)
    if content.documents is None and content.kind in {Kind.RETRIEVER, Kind.RERANKER} and content.output:
        content.documents = documents_in(content.output.value)
        content.from_attribute["documents"] = content.output.name
    if names.costs:
        content.costs = read_costs(attributes)
    if names.metadata:
        content.metadata = _metadata(attributes, names.metadata)
    return content


def _first(attributes: Mapping[str, object], names: tuple[str, ...]) -> Attribute | None:
    """Return the first value that is not blank, otherwise a blank one, otherwise None."""
    blank = None
    for name in names:
        value = attributes.get(name)
        if value is not None:
            if value != "":
                return Attribute(name, value, attributes.get(_MIMES.get(name, "")))
            blank = blank or Attribute(name, "")
    return blank


def _first_text(
    attributes: Mapping[str, object],
    names: tuple[str, ...],
    read: Callable[..., str | None] = text_of,
) -> str | None:
    for name in names:
        if name in attributes and (text := read(attributes[name], name)):
            return text
    return None


def _kind(span: Span, content: Content) -> Kind:
    attributes = span.attributes
    name = attributes.get("openinference.span.kind")
    if isinstance(name, str) and (kind := _KINDS.get(name.upper())):
        return kind
    operation = attributes.get("gen_ai.operation.name")
    if isinstance(operation, str) and operation in _OPERATIONS:
        return _OPERATIONS[operation]
    traced = attributes.get("traceloop.span.kind")
    if isinstance(traced, str) and traced in _TRACELOOP:
        return _TRACELOOP[traced]
    if (
        content.output_messages
        or content.input_messages
        or attributes.get("llm.request.type") in {"chat", "completion"}
    ):
        return Kind.LLM
    if content.documents is not None:
        return Kind.RETRIEVER
    return Kind.CHAIN if content.input and content.output else Kind.OTHER


def _read_messages(content: Content, lists: Items) -> None:
    for name, key in _ASKED.items():
        if name in lists and not content.input_messages:
            content.input_messages = flat_messages(_items(lists[name], key), name, "user")
            content.from_attribute["input_messages"] = name
    for name, key in _REPLIED.items():
        if name in lists and not content.output_messages:
            content.output_messages = flat_messages(_items(lists[name], key), name, "assistant")
            content.from_attribute["output_messages"] = name


def _items(items: list[dict[str, object]], key: str) -> list[dict[str, object]]:
    """Return messages; a list of texts instead has its texts under the key."""
    return [{"content": item.get(key, item.get(""))} for item in items] if key else items


def _read_documents(content: Content, lists: Items) -> None:
    for name in _DOCUMENTS:
        if name in lists:
            content.documents = flat_documents(lists[name], name)
            content.from_attribute["documents"] = name
            break
    if "reranker.input_documents" in lists:
        content.input_documents = flat_documents(
            lists["reranker.input_documents"], "reranker.input_documents"
        )


def _read_json(content: Content, attributes: Mapping[str, object]) -> None:
    """Read messages and documents that are values of JSON."""
    for name in _JSON_ASKED:
        if name in attributes and not content.input_messages:
            content.input_messages = json_messages(attributes[name], "user")
            content.from_attribute["input_messages"] = name
    for name in _JSON_REPLIED:
        if name in attributes and not content.output_messages:
            content.output_messages = json_messages(attributes[name], "assistant")
            content.from_attribute["output_messages"] = name
    if attributes.get(_RETRIEVED) is not None and content.documents is None:
        content.documents = documents_in(attributes[_RETRIEVED])
        content.from_attribute["documents"] = _RETRIEVED
        if content.documents is None:
            problem = f"expected a list of documents, found {raw_values.describe(attributes[_RETRIEVED])}"
            raise DataError(problem, field=_RETRIEVED)


def _read_evaluations(content: Content, lists: Items) -> None:
    for name in _EVALUATIONS:
        for item in lists.get(name, ()):
            prefix = "evaluation." if any(key.startswith("evaluation.") for key in item) else "annotation."
            content.add_evaluation({key.removeprefix(prefix): value for key, value in item.items()})


def _is_plain(value: object) -> bool:
    items = value if isinstance(value, list) else [value]
    return all(isinstance(item, (str, int, float)) for item in items)


def _metadata(attributes: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Return scalars and lists of scalars of the user's metadata: an object, or keys as ``metadata.team``."""
    metadata = parse_json(attributes.get(_METADATA))
    prefix = f"{_METADATA}."
    own = {key.removeprefix(prefix): attributes[key] for key in names if key != _METADATA}
    own |= metadata if isinstance(metadata, dict) else {}
    if not own:
        return own
    try:
        return cells.as_object({key: item for key, item in own.items() if item != [] and _is_plain(item)})
    except DataError as error:
        raise DataError(error.message, field=_METADATA, hint=error.hint) from None


_DETAILS = "gen_ai.client.inference.operation.details"
_ROLES = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}


def read_events(content: Content, span: Span) -> None:
    """Add the content of the events of a span; messages in attributes take precedence."""
    input_messages: list[Message] = []
    output_messages: list[Message] = []
    for event in span.events:
        values = event.attributes
        if event.name == "db.query.result":
            _add_document(content, values)
        elif event.name == "gen_ai.evaluation.result":
            prefix = "gen_ai.evaluation."
            content.add_evaluation({key.removeprefix(prefix): item for key, item in values.items()})
        else:
            input_messages += _input_messages(event.name, values)
            output_messages += _output_messages(event.name, values)
    if input_messages and not content.input_messages:
        content.input_messages, content.from_attribute["input_messages"] = input_messages, "events"
    if output_messages and not content.output_messages:
        content.output_messages, content.from_attribute["output_messages"] = output_messages, "events"


def _input_messages(name: str, values: Mapping[str, object]) -> list[Message]:
    if name in _ROLES:
        return json_messages([{**_body(values), "role": _ROLES[name]}], "user")
    if name == "gen_ai.content.prompt":
        return _messages(values.get("gen_ai.prompt"), "user")
    return json_messages(values.get("gen_ai.input.messages"), "user") if name == _DETAILS else []


def _output_messages(name: str, values: Mapping[str, object]) -> list[Message]:
    if name == "gen_ai.choice":
        return _choice(_body(values))
    if name == "gen_ai.content.completion":
        return _messages(values.get("gen_ai.completion"), "assistant")
    return json_messages(values.get("gen_ai.output.messages"), "assistant") if name == _DETAILS else []


def _body(values: Mapping[str, object]) -> dict[str, object]:
    body = parse_json(values.get("gen_ai.event.content", values.get("body", dict(values))))
    return body if isinstance(body, dict) else {"content": body}


def _choice(body: dict[str, object]) -> list[Message]:
    message = parse_json(body.get("message"))
    if not isinstance(message, dict):
        message = {"content": message} if message else body
    return json_messages([{**message, "role": "assistant"}], "assistant")


def _messages(value: object, role: str) -> list[Message]:
    parsed = parse_json(value)
    return json_messages([{"role": role, "content": parsed}] if isinstance(parsed, str) else parsed, role)


def _add_document(content: Content, values: Mapping[str, object]) -> None:
    prefix = "db.query.result."
    document = Document(
        text_of(values.get(f"{prefix}document"), f"{prefix}document"),
        id_of(values.get(f"{prefix}id"), f"{prefix}id"),
        number_of(values.get(f"{prefix}score")),
    )
    content.documents = [*(content.documents or ()), document]
    content.from_attribute["documents"] = "db.query.result"
