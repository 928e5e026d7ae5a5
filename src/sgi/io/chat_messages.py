"""Messages of language models, in the forms of OpenInference, OpenTelemetry, OpenAI and LangChain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sgi.io.coercion import join_parts
from sgi.io.json_values import parse_json, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_ROLES = {"human": "user", "ai": "assistant", "model": "assistant", "chatbot": "assistant"}
_KNOWN_ROLES = {"user", "assistant", "system", "developer", "tool", "function", *_ROLES}
_OPENINFERENCE_KEYS = ("message.role", "message.content")
_PLAIN_KEYS = 2  # role and content
_CALL_PARTS = ("tool_call", "tool_use", "function_call")


class Message(NamedTuple):
    """A message: its role, its text (None without a text), and whether it calls tools."""

    role: str
    text: str | None
    calls_tools: bool = False


def last_text(messages: Sequence[Message], role: str) -> str | None:
    """Return the text of the last message with this role and a text."""
    texts = (message.text for message in reversed(messages) if message.role == role)
    return next((text for text in texts if text is not None), None)


def flat_messages(items: Iterable[Mapping[str, object]], name: str, role: str) -> list[Message]:
    """Read messages with dotted keys: ``message.role`` of OpenInference, or ``role`` of OpenLLMetry.

    ``name`` is the attribute, for errors; ``role`` is that of a message without one.
    """
    return [_flat_message(item, role, name, index) for index, item in enumerate(items)]


def _flat_message(item: Mapping[str, Any], role: str, *place: object) -> Message:
    prefix = "message."
    if item.keys().isdisjoint(_OPENINFERENCE_KEYS) and not any(key.startswith(prefix) for key in item):
        prefix = ""
    raw_role = text_of(item.get(f"{prefix}role"), *place, f"{prefix}role") or role
    raw = item.get(f"{prefix}content")
    content = parse_json(raw)
    if _are_parts(content):
        text = join_parts(content)
    elif isinstance(content, (list, dict)):  # a text that holds JSON, such as the result of a tool
        text = raw if isinstance(raw, str) else None
    else:
        text = text_of(content, *place, f"{prefix}content")
    calls = False
    if text is None or len(item) > _PLAIN_KEYS:
        text = _flat_parts(item, f"{prefix}contents.") if text is None else text
        keys = (f"{prefix}tool_calls", f"{prefix}function_call")
        calls = any(key.startswith(keys) and bool(value) for key, value in item.items())
    return Message(_role(raw_role), text or (None if calls else text), calls)


def _flat_parts(item: Mapping[str, Any], prefix: str) -> str | None:
    parts: dict[int, dict[str, Any]] = {}
    for key, value in item.items():
        index, _, rest = key.removeprefix(prefix).partition(".") if key.startswith(prefix) else ("", "", "")
        if index.isdecimal() and rest:
            parts.setdefault(int(index), {})[rest.removeprefix("message_content.")] = value
    return join_parts([parts[index] for index in sorted(parts)])


def json_messages(value: object, role: str) -> list[Message]:
    """Read a list of messages that is JSON: OpenTelemetry (``parts``), OpenAI or LangChain messages.

    A message without a role gets the role ``role``; items that are not messages are left out.
    """
    parsed = parse_json(value)
    if isinstance(parsed, dict):
        parsed = parsed.get("messages", [parsed])
    if isinstance(parsed, list) and len(parsed) == 1 and isinstance(parsed[0], list):
        parsed = parsed[0]
    if not isinstance(parsed, list):
        return []
    messages = (message_of(item, role) for item in parsed if isinstance(item, dict))
    return [message for message in messages if message is not None]


def message_of(item: Mapping[str, Any], role: str = "") -> Message | None:
    """Read a message that is a JSON object; None if it is not a message."""
    item = without_wrapper(item)
    raw_role = item.get("role", item.get("type"))
    if not isinstance(raw_role, str) or raw_role.casefold() not in _KNOWN_ROLES:
        raw_role = role
    if not raw_role or not {"content", "parts", "text", "tool_calls", "message"} & item.keys():
        return None
    if isinstance(item.get("message"), dict):
        return message_of(item["message"], raw_role)
    content = item.get("parts", item.get("content", item.get("text")))
    calls = bool(item.get("tool_calls") or item.get("function_call"))
    if isinstance(content, list):
        calls = calls or any(isinstance(part, dict) and part.get("type") in _CALL_PARTS for part in content)
        text = join_parts(content)
    else:
        text = content if isinstance(content, str) else None
    return Message(_role(raw_role), text or (None if calls else text), calls)


def without_wrapper(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of an object that LangChain serialised; other objects as they are."""
    if "lc" in item or ("data" in item and "type" in item):
        inner = item.get("kwargs", item.get("data"))
        if isinstance(inner, dict):
            return {"type": _langchain_type(item), **inner}
    return item


def _langchain_type(item: Mapping[str, object]) -> object:
    kind = item.get("type")
    path = item.get("id")
    if kind == "constructor" and isinstance(path, list) and path and isinstance(path[-1], str):
        return path[-1].removesuffix("Chunk").removesuffix("Message").casefold()
    return kind


def _are_parts(content: Any) -> bool:
    return isinstance(content, list) and all(isinstance(part, dict) and "type" in part for part in content)


def _role(role: str) -> str:
    lower = role.casefold()
    return _ROLES.get(lower, lower)
