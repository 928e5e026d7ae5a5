"""Find the question or the answer in the input or output of a span, which may be JSON."""

from __future__ import annotations

from typing import Any

from sgi.io.chat_messages import json_messages, last_text, message_of
from sgi.io.json_values import parse_json

_QUESTION_KEYS = (
    "question", "query", "user_query", "user_input", "query_str", "user_message", "chat_input", "input",
    "inputs", "prompt", "message", "messages", "text", "content", "kwargs", "args", "data", "body", "state",
)  # fmt: skip
_ANSWER_KEYS = (
    "answer", "response", "final_answer", "final_output", "output", "outputs", "result", "generation",
    "completion", "generated_text", "output_text", "reply", "replies", "text", "content", "message",
    "messages", "choices", "generations", "data", "body", "state", "return",
)  # fmt: skip
_FIRST_OF = {"choices", "generations", "replies"}
_MAX_DEPTH = 8


def question_in(value: Any, mime: Any = None) -> str | None:
    """Find the question in an input: a text, or JSON with a usual key or messages; None if it has none.

    >>> question_in("Who?"), question_in('{"question": "Who?", "top_k": 3}')
    ('Who?', 'Who?')
    >>> question_in({"messages": [{"role": "user", "content": "Who?"}]}), question_in({"top_k": 3})
    ('Who?', None)
    """
    return _text_in(_parsed(value, mime), _QUESTION_KEYS, "user", 0)


def answer_in(value: Any, mime: Any = None) -> str | None:
    """Find the answer in an output: a text, or JSON with a usual key or messages; None if it has none.

    >>> answer_in('{"answer": "She.", "docs": []}')
    'She.'
    >>> answer_in({"tool_calls": [{"name": "search"}], "content": "", "role": "assistant"}) is None
    True
    """
    return _text_in(_parsed(value, mime), _ANSWER_KEYS, "assistant", 0)


def _parsed(value: Any, mime: Any) -> Any:
    return value if isinstance(mime, str) and mime.startswith("text/") else parse_json(value)


def _text_in(value: Any, keys: tuple[str, ...], role: str, depth: int) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and depth <= _MAX_DEPTH:
        return _text_in_list(value, keys, role, depth)
    return _text_in_object(value, keys, role, depth) if isinstance(value, dict) else None


def _text_in_object(value: dict[str, Any], keys: tuple[str, ...], role: str, depth: int) -> str | None:
    message = message_of(value)
    if message is not None:
        return message.text if message.role == role else None
    if depth > _MAX_DEPTH:
        return None
    for key in keys:
        inner = value.get(key)
        if key in _FIRST_OF and isinstance(inner, list):
            inner = inner[0] if inner else None
        if inner is not None and (text := _text_in(inner, keys, role, depth + 1)) is not None:
            return text
    (only,) = value.values() if len(value) == 1 else (None,)
    return _text_in(only, keys, role, depth + 1) if isinstance(only, (dict, list)) else None


def _text_in_list(value: list[Any], keys: tuple[str, ...], role: str, depth: int) -> str | None:
    messages = json_messages(value, "")
    if messages:
        if role == "assistant" and messages[-1].calls_tools:
            return None
        return last_text(messages, role)
    return _text_in(value[0], keys, role, depth + 1) if len(value) == 1 else None
