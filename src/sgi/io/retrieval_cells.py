"""Convert raw values to the fields of retrieval, citations, conversations and costs, or raise a DataError."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.io.coercion import as_label, as_passages, join_parts
from sgi.kernel.errors import DataError
from sgi.kernel.raw_values import (
    as_id,
    as_ids,
    as_list,
    as_number,
    as_plain_id,
    as_scores,
    as_text,
    describe,
    is_absent,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_MAX = 2**31
_ROLES = {
    "human": "user",
    "ai": "assistant",
    "bot": "assistant",
    "model": "assistant",
    "developer": "system",
    "function": "tool",
}
"""Names of roles in other tools."""
_CALLS = ("tool_calls", "function_call")
_CHAT_KEYS = (*_CALLS, "tool_call_id", "name", "refusal", "audio", "annotations")
"""Keys of chat completions that are not used, except that a message with calls needs no text."""


def as_relevance(value: object) -> dict[str, int] | tuple[int, ...]:
    """Convert relevance: an object from ids to grades, or a list of grades.

    >>> as_relevance({"d1": 2}), as_relevance([1, 0])
    ({'d1': 2}, (1, 0))
    """
    if not isinstance(value, dict):
        if not isinstance(value, (list, tuple, np.ndarray)):
            hint = "Drop the field from the mapping (relevance=) if the column holds something else."
            raise DataError(f"expected an object {{id: grade}}, found {describe(value)}", hint=hint)
        return tuple(as_list(value, _grade, "grade", "grades"))
    grades: dict[str, int] = {}
    for key, grade in value.items():
        name = as_id(key)
        if is_absent(grade):  # Arrow writes a null for each key of the other rows
            continue
        try:
            grades[name] = _grade(grade)
        except DataError as error:
            raise DataError(f"id {name[:60]!r}: {error.message}") from None
    return grades


def as_citations(value: object) -> tuple[dict[str, Any], ...]:
    """Convert citations: a list of ids, of positions from 1, or of objects with passage, start and end."""
    return tuple(as_list(value, _citation, "citation", "citations"))


def as_turns(value: object) -> tuple[dict[str, Any], ...]:
    """Convert turns: a list of objects with role, text (or content) and perhaps contexts.

    Messages of chat completions are turns: if their content is a list of parts, the texts of the parts are
    joined, and a
    message that only calls tools has the text "".

    >>> as_turns([{"role": "assistant", "content": [{"type": "text", "text": "She."}]}])
    ({'role': 'assistant', 'text': 'She.'},)
    """
    return tuple(as_list(value, _turn, "turn", "turns"))


READ_RETRIEVAL: dict[str, Callable[[Any], Any]] = {
    "context_ids": as_ids,
    "context_scores": as_scores,
    "gold_ids": as_ids,
    "relevance": as_relevance,
    "gold_passages": as_passages,
    "citations": as_citations,
    "answerable": as_label,
    "turns": as_turns,
}
"""The function that converts each field."""


def _grade(value: object) -> int:
    number = as_number(int(value) if isinstance(value, (bool, np.bool_)) else value)
    if not (number.is_integer() and abs(number) < _MAX):
        raise DataError(f"expected a whole number below {_MAX}, found {describe(value)}")
    return int(number)


def _citation(value: object) -> dict[str, Any]:
    if isinstance(value, (str, int, np.integer)) and not isinstance(value, bool):
        value = {"passage": value}
    given = _object(value, "an id, a position or an object", ("passage", "start", "end"))
    if "passage" not in given:
        raise DataError("it has no passage")
    citation: dict[str, Any] = {"passage": _passage(given["passage"])}
    for key in ("start", "end"):
        if key in given:
            citation[key] = _whole(given[key], key, 0)
    if ("start" in citation) != ("end" in citation):
        raise DataError("start and end must be given together")
    if "start" in citation and citation["start"] >= citation["end"]:
        raise DataError(f"start {citation['start']} is not before end {citation['end']}")
    return citation


def _passage(value: object) -> str | int:
    return as_plain_id(value) if isinstance(value, str) else _whole(value, "passage", 1)


def _whole(value: object, key: str, least: int) -> int:
    try:
        number = as_number(value)
    except DataError as error:
        raise DataError(f"{key}: {error.message}") from None
    if not (number.is_integer() and least <= number < _MAX):
        raise DataError(f"{key}: expected a whole number from {least}, found {describe(value)}")
    return int(number)


def _turn(value: object) -> dict[str, Any]:
    given = _object(value, "an object", ("role", "text", "content", "contexts"), _CHAT_KEYS)
    if "text" in given and "content" in given:
        raise DataError("it has both keys, text and content")
    role = _part(given, "role", as_text, "").casefold()
    role = _ROLES.get(role, role)
    if role == "assistant" and any(given.get(key) for key in (*_CALLS, "refusal")):
        given.setdefault("content", given.get("refusal", ""))
    if not {"text", "content"} & given.keys():
        raise DataError("it needs the key text or content")
    if role not in {"user", "assistant", "system", "tool"}:
        found = describe(given.get("role"))
        raise DataError(f"the role must be user, assistant, system or tool, found {found}")
    turn: dict[str, Any] = {
        "role": role,
        "text": _part(given, "text" if "text" in given else "content", _message_text),
    }
    return turn | {"contexts": _part(given, "contexts", as_passages)} if "contexts" in given else turn


def _message_text(value: object) -> str:
    if not isinstance(value, list):
        return as_text(value)
    text = join_parts(value)
    if text is None:
        raise DataError("none of its parts has a text")
    return as_text(text)


def _part(given: dict[str, Any], key: str, read: Callable[[Any], Any], default: Any = None) -> Any:
    """Convert the value of a key; an error names the key."""
    try:
        return read(given.get(key, default))
    except DataError as error:
        raise DataError(f"{key}: {error.message}", hint=error.hint) from None


def _object(
    value: object, expected: str, keys: tuple[str, ...], unused: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return an object without its null values; raise a DataError for another type or an unknown key."""
    if not isinstance(value, dict):
        raise DataError(f"expected {expected}, found {describe(value)}")
    for key in value:
        if key not in keys and key not in unused:
            raise DataError(f"unknown key {str(key)[:60]!r}; the keys are {', '.join(keys)}")
    return {key: item for key, item in value.items() if not is_absent(item)}


_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_MAX_TOKENS = 2**31
_HINT = "If the column holds something else, drop the field with an empty mapping, as in --map {}=."


def as_amount(value: object) -> float:
    """Convert milliseconds or US dollars: a finite number from 0; a table may hold it as text.

    >>> as_amount(12), as_amount(" 0.5 ")
    (12.0, 0.5)
    """
    number = math.nan
    if isinstance(value, str) and _DECIMAL.fullmatch(value.strip()):
        number = float(value)
    elif isinstance(value, (int, float, Decimal, np.integer, np.floating)) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
    if not 0 <= number < math.inf:
        raise DataError(f"expected a number from 0, found {describe(value)}")
    return number


def as_token_count(value: object) -> int:
    """Convert a number of tokens: a whole number from 0; a table may hold it as text, such as ``12.0``."""
    try:
        number = as_amount(value)
    except DataError:
        number = math.nan
    if not (number.is_integer() and number < _MAX_TOKENS):
        raise DataError(f"expected a whole number from 0, found {describe(value)}")
    return int(number)


def _with_hint(name: str, read: Callable[[Any], object]) -> Callable[[Any], object]:
    def read_cell(value: object) -> object:
        try:
            return read(value)
        except DataError as error:
            raise DataError(error.message, hint=_HINT.format(name)) from None

    return read_cell


READ_COSTS: dict[str, Callable[[Any], Any]] = {
    "latency_ms": _with_hint("latency_ms", as_amount),
    "prompt_tokens": _with_hint("prompt_tokens", as_token_count),
    "completion_tokens": _with_hint("completion_tokens", as_token_count),
    "cost": _with_hint("cost", as_amount),
}
"""The function that converts each field."""
