"""Reads the JSON around a reply, which servers and gateways with OpenAI's API fill in differently."""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import Any

from openai.types.chat import ChatCompletion

NO_CHOICES = "a reply without choices"
"""The message of the client's error for a reply with neither a choice nor an error."""
_BAD_GATEWAY = 502
_STATUS_OF_WORDS = [
    (402, r"insufficient.{0,20}(?:quota|balance|credit|fund)|billing|payment|余额不足|欠费"),
    (429, r"rate.?limit|too many requests|throttl"),
    (401, r"invalid.{0,3}api.{0,3}key|authentication|unauthori[sz]ed"),
    (403, r"permission|forbidden"),
    (404, r"model.{0,3}not.{0,3}found|model_not_exist"),
    (400, r"context.length|invalid_?request|bad.request|content.filter|unsupported"),
]
"""The status of an error without a status, by its code, type and message; otherwise it is a bad gateway."""
_FINISHES = {
    "length": "length max_tokens max_output_tokens max_completion_tokens max_new_tokens max_length "
    "model_length token_limit truncated",
    "content_filter": "content_filter content-filter content_filtered filtered safety recitation blocklist "
    "prohibited_content spii sensitive refusal guardrail_intervened",
    "tool_calls": "tool_calls tool_call tool_use function_call",
    "error": "error failed abort aborted cancelled canceled timeout insufficient_system_resource",
}
_FINISH_OF = {name: finish for finish, names in _FINISHES.items() for name in names.split()}
_INPUT_TOKENS = ("prompt_tokens", "input_tokens", "promptTokens", "inputTokens", "prompt_eval_count")
_OUTPUT_TOKENS = ("completion_tokens", "output_tokens", "completionTokens", "outputTokens", "eval_count")
_REASONING = ("reasoning_content", "reasoning", "reasoning_details", "thinking", "thinking_blocks")
_WAITS = {"retry_after": 1.0, "retry_after_seconds": 1.0, "retry-after": 1.0, "retry_after_ms": 0.001}
"""The names of a requested wait, and the length of its unit in seconds."""


class ErrorReplyError(Exception):
    """An error in a reply with HTTP status 200; ``status`` is the status that fits it.

    ``error`` is its JSON, and ``retry_after`` the requested wait in seconds, if any.
    """

    def __init__(self, status: int, error: dict[str, object], retry_after: float | None = None) -> None:
        super().__init__(status, error)
        self.status = status
        self.error = error
        self.retry_after = retry_after


class NoChoicesError(Exception):
    """A reply that contains neither a choice nor an error."""


def read_completion(body: object) -> ChatCompletion:
    """Return the first choice of a reply and its token counts as a chat completion.

    Fields that do not affect the score may be missing, null or of another type. The text may be a list of
    parts. A choice with reasoning and without a text counts as truncated.

    Raises:
        ErrorReplyError: the reply is an error.
        NoChoicesError: the reply has no choice.
        ValueError: the reply is not a JSON object, or its text is not a text.

    >>> reply = read_completion({"choices": [{"message": {"content": [{"type": "text", "text": "Yes"}]}}]})
    >>> reply.choices[0].message.content, reply.choices[0].finish_reason
    ('Yes', 'stop')
    """
    if not isinstance(body, dict):
        raise ValueError("not a JSON object")
    choice = _first_choice(body)
    _raise_error(body, choice)
    finish = _finish(choice.get("finish_reason"))
    if finish == "error":
        reason = f"the reply ended with finish_reason {choice['finish_reason']!r}"
        raise ErrorReplyError(_BAD_GATEWAY, {"message": reason})
    message = choice.get("message")
    if not isinstance(message, dict):
        if finish not in ("length", "content_filter"):
            raise NoChoicesError
        message = {}
    text, refusal = _text(message.get("content"))
    refusal = _string(message.get("refusal")) or refusal
    calls = _tool_calls(message.get("tool_calls"))
    reasoned = any(message.get(name) for name in _REASONING) or isinstance(message.get("content"), list)
    if finish == "stop" and reasoned and not (text.strip() or refusal or calls):
        finish = "length"
    read = {"role": "assistant", "content": text, "refusal": refusal or None, "tool_calls": calls or None}
    return ChatCompletion.model_validate(
        {
            "id": _string(body.get("id")),
            "object": "chat.completion",
            "created": 0,
            "model": _string(body.get("model")),
            "choices": [{"index": 0, "finish_reason": finish, "message": read}],
            "usage": _usage(body.get("usage")),
        }
    )


def _first_choice(body: dict[str, object]) -> dict[str, object]:
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    return choice if isinstance(choice, dict) else {}


def _raise_error(body: dict[str, object], choice: dict[str, object]) -> None:
    whole = body if body.get("object") == "error" or not choice else None
    for found in (body.get("error"), choice.get("error"), body.get("base_resp"), whole):
        error = {"message": found} if isinstance(found, str) else found
        if not isinstance(error, dict):
            continue
        message = _first(error, "message", "msg", "detail", "status_msg", "error_msg")
        code = _first(error, "code", "status_code", "status")
        status = _http_status(code)
        known = isinstance(message, str) if error is body else message or error.get("type")
        if not (status or known) or (error is body.get("base_resp") and not code):
            continue
        if choice.get("message") and str(code) in ("0", "200"):
            continue  # the code of success
        error = {
            **error,
            "message": message or json.dumps(error),
            "code": None if code is None else str(code),
        }
        raise ErrorReplyError(status or _status_by_words(error), error, _wait(error, body))


def _first(fields: dict[str, object], *names: str) -> object:
    return next((fields[name] for name in names if fields.get(name)), None)


def _http_status(code: Any) -> int | None:
    return int(code) if re.fullmatch(r"[45]\d\d", str(code)) else None


def _status_by_words(error: dict[str, Any]) -> int:
    text = " ".join(str(error.get(name)) for name in ("code", "type", "message"))
    found = (status for status, words in _STATUS_OF_WORDS if re.search(words, text, re.IGNORECASE))
    return next(found, _BAD_GATEWAY)


def _wait(error: dict[str, object], body: dict[str, object]) -> float | None:
    metadata = error.get("metadata")
    inner = metadata if isinstance(metadata, dict) else {}
    headers = inner.get("headers")
    for fields in (error, inner, headers if isinstance(headers, dict) else {}, body):
        for name, value in fields.items():
            unit, count = _WAITS.get(str(name).lower()), _number(value)
            if unit is not None and count is not None:
                return count * unit
    return None


def _finish(reason: object) -> str:
    """Return the finish reason in OpenAI's words; unknown ones count as a normal end.

    >>> _finish("MAX_TOKENS"), _finish("eos"), _finish(None)
    ('length', 'stop', 'stop')
    """
    return _FINISH_OF.get(str(reason).rpartition(".")[2].strip().lower(), "stop")


def _text(content: object) -> tuple[str, str]:
    """Return the text and the refusal in the content of a message."""
    if content is None or isinstance(content, str):
        return content or "", ""
    parts = content if isinstance(content, list) else [content]
    text = refusal = ""
    for part in parts:
        if isinstance(part, str):
            text += part
        elif not isinstance(part, dict) or not isinstance(part.get("type", "text"), str):
            raise ValueError("the content is neither a text nor a list of parts")
        elif part.get("type", "text") in ("text", "output_text"):
            if not isinstance(part.get("text"), str):
                raise ValueError("a part of the content has no text")
            text += part["text"]
        elif part["type"] == "refusal":
            refusal += _string(part.get("refusal"))
    return text, refusal


def _tool_calls(calls: Any) -> list[dict[str, Any]]:
    read = []
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            arguments = function.get("arguments")
            text = arguments if isinstance(arguments, str) else json.dumps(arguments)
            named = {"name": _string(function.get("name")), "arguments": text}
            read.append({"id": _string(call.get("id")) or "call", "type": "function", "function": named})
    return read


def _usage(usage: Any) -> dict[str, int] | None:
    """Return the token counts; a count that the server does not report is 0."""
    if not isinstance(usage, dict):
        return None
    counts = {name: _number(value) for name, value in usage.items()}
    read, written = (
        next((int(count) for name in names if (count := counts.get(name))), 0)
        for names in (_INPUT_TOKENS, _OUTPUT_TOKENS)
    )
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def _number(value: object) -> float | None:
    """Return a number, also one written as a string; None if it is none, or negative."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if isfinite(number) and number >= 0 else None


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
