"""Convert raw values to the fields of retrieval, citations and conversations, or raise a DataError."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.io.coercion import as_id, as_label, as_passages, as_text, describe, is_absent
from sgi.kernel.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable

_SEVERAL = re.compile(r"[\s,;|]")
_MAX = 2**31
_ROLES = {"human": "user", "ai": "assistant", "bot": "assistant", "model": "assistant"}
"""Names of roles in other tools."""


def as_ids(value: object) -> tuple[str, ...]:
    """Convert ids: a list of texts or whole numbers, or one id.

    >>> as_ids(["d1", 7]), as_ids("d1")
    (('d1', '7'), ('d1',))
    """
    if isinstance(value, str) and _SEVERAL.search(value.strip()):
        hint = 'Write a JSON list, such as ["d1", "d2"].'
        raise DataError(f"expected a list of ids, found {describe(value)}", hint=hint)
    if isinstance(value, (str, int, np.integer)) and not isinstance(value, bool):
        return (as_id(value),)
    return tuple(_each(value, _id, "id", "ids"))


def as_scores(value: object) -> tuple[float, ...]:
    """Convert retrieval scores: a list of finite numbers."""
    return tuple(_each(value, _number, "score", "numbers"))


def as_relevance(value: object) -> dict[str, int] | tuple[int, ...]:
    """Convert relevance: an object from ids to grades, or a list of grades.

    >>> as_relevance({"d1": 2}), as_relevance([1, 0])
    ({'d1': 2}, (1, 0))
    """
    if not isinstance(value, dict):
        if not isinstance(value, (list, tuple, np.ndarray)):
            hint = "Drop the field from the mapping (relevance=) if the column holds something else."
            raise DataError(f"expected an object {{id: grade}}, found {describe(value)}", hint=hint)
        return tuple(_each(value, _grade, "grade", "grades"))
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
    return tuple(_each(value, _citation, "citation", "citations"))


def as_turns(value: object) -> tuple[dict[str, Any], ...]:
    """Convert turns: a list of objects with role, text (or content) and perhaps contexts."""
    return tuple(_each(value, _turn, "turn", "turns"))


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


def _each(value: object, read: Callable[[Any], Any], word: str, words: str) -> list[Any]:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        raise DataError(f"expected a list of {words}, found {describe(value)}")
    items = []
    for position, item in enumerate(value, 1):
        try:
            items.append(read(item))
        except DataError as error:
            raise DataError(f"{word} {position}: {error.message}", hint=error.hint) from None
    return items


def _id(value: object) -> str:
    try:
        return as_id(value)
    except DataError as error:
        raise DataError(error.message) from None  # the hint of an id of a row does not fit


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise DataError(f"expected a number, found {describe(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise DataError(f"expected a finite number, found {describe(value)}")
    return number


def _grade(value: object) -> int:
    number = _number(int(value) if isinstance(value, (bool, np.bool_)) else value)
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
    return _id(value) if isinstance(value, str) else _whole(value, "passage", 1)


def _whole(value: object, key: str, least: int) -> int:
    try:
        number = _number(value)
    except DataError as error:
        raise DataError(f"{key}: {error.message}") from None
    if not (number.is_integer() and least <= number < _MAX):
        raise DataError(f"{key}: expected a whole number from {least}, found {describe(value)}")
    return int(number)


def _turn(value: object) -> dict[str, Any]:
    given = _object(value, "an object", ("role", "text", "content", "contexts"))
    if ("text" in given) == ("content" in given):
        raise DataError("it needs the key text or content")
    role = as_text(given.get("role", "")).casefold()
    role = _ROLES.get(role, role)
    if role not in {"user", "assistant", "system", "tool"}:
        found = describe(given.get("role"))
        raise DataError(f"the role must be user, assistant, system or tool, found {found}")
    turn: dict[str, Any] = {"role": role, "text": as_text(given.get("text", given.get("content")))}
    return turn | {"contexts": as_passages(given["contexts"])} if "contexts" in given else turn


def _object(value: object, expected: str, keys: tuple[str, ...]) -> dict[str, Any]:
    """Return an object without its null values; raise a DataError for another type or an unknown key."""
    if not isinstance(value, dict):
        raise DataError(f"expected {expected}, found {describe(value)}")
    for key in value:
        if key not in keys:
            raise DataError(f"unknown key {str(key)[:60]!r}; the keys are {', '.join(keys)}")
    return {key: item for key, item in value.items() if not is_absent(item)}
