"""Read the older conventions of OpenTelemetry, which put messages, documents and evaluations into events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgi.io.chat_messages import json_messages
from sgi.io.documents import Document
from sgi.io.json_values import id_of, number_of, parse_json, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgi.io.chat_messages import Message
    from sgi_traces.content import Content
    from sgi_traces.span import Span

_DETAILS = "gen_ai.client.inference.operation.details"
_ROLES = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}


def read_events(content: Content, span: Span) -> None:
    """Add what the events of a span hold; messages in attributes take precedence."""
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


def _input_messages(name: str, values: Mapping[str, Any]) -> list[Message]:
    if name in _ROLES:
        return json_messages([{**_body(values), "role": _ROLES[name]}], "user")
    if name == "gen_ai.content.prompt":
        return _messages(values.get("gen_ai.prompt"), "user")
    return json_messages(values.get("gen_ai.input.messages"), "user") if name == _DETAILS else []


def _output_messages(name: str, values: Mapping[str, Any]) -> list[Message]:
    if name == "gen_ai.choice":
        return _choice(_body(values))
    if name == "gen_ai.content.completion":
        return _messages(values.get("gen_ai.completion"), "assistant")
    return json_messages(values.get("gen_ai.output.messages"), "assistant") if name == _DETAILS else []


def _body(values: Mapping[str, Any]) -> dict[str, Any]:
    body = parse_json(values.get("gen_ai.event.content", values.get("body", dict(values))))
    return body if isinstance(body, dict) else {"content": body}


def _choice(body: dict[str, Any]) -> list[Message]:
    message = parse_json(body.get("message"))
    if not isinstance(message, dict):
        message = {"content": message} if message else body
    return json_messages([{**message, "role": "assistant"}], "assistant")


def _messages(value: Any, role: str) -> list[Message]:
    parsed = parse_json(value)
    return json_messages([{"role": role, "content": parsed}] if isinstance(parsed, str) else parsed, role)


def _add_document(content: Content, values: Mapping[str, Any]) -> None:
    prefix = "db.query.result."
    document = Document(
        text_of(values.get(f"{prefix}document"), f"{prefix}document"),
        id_of(values.get(f"{prefix}id"), f"{prefix}id"),
        number_of(values.get(f"{prefix}score")),
    )
    content.documents = [*(content.documents or ()), document]
    content.from_attribute["documents"] = "db.query.result"
