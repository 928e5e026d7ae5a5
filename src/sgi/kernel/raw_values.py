"""Convert raw values to texts, ids and numbers, or raise a DataError; find them in JSON by dotted paths."""

from __future__ import annotations

import json
import math
import re
from copy import deepcopy
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.kernel.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import JsonValue

_SHOWN = 40
_SEVERAL = re.compile(r"[\s,;|]")


def is_absent(value: object) -> bool:
    """Return whether the value is None, NaN, or NA or NaT of pandas; an empty text is not absent."""
    if value is None:
        return True
    if type(value) is str or isinstance(value, (list, dict, int, tuple, str, np.ndarray)):
        return False
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, (float, np.generic)):
        return bool(value != value)  # noqa: PLR0124 - only NaN and NaT differ from themselves
    return type(value).__name__ in {"NAType", "NaTType"}


def as_text(value: object) -> str:
    """Return text that UTF-8 can encode; raise a DataError for other values and lone surrogates."""
    if type(value) is str and value.isascii():  # first what nearly all are
        return value
    if not isinstance(value, str):
        raise DataError(f"expected text, found {describe(value)}")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            hint = "Half of a character is missing; write the text again from its source."
            raise DataError(
                f"the text has a lone surrogate at character {error.start + 1}", hint=hint
            ) from None
    return str(value)


def as_id(value: object) -> str:
    """Convert an id: text, or an integer."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return str(int(value))
    if not isinstance(value, str):
        raise DataError(f"expected text or a whole number, found {describe(value)}")
    if not value.strip():
        raise DataError("the id is blank", hint="Leave it out and the row's number is its id.")
    return as_text(value)


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
    return tuple(as_list(value, as_plain_id, "id", "ids"))


def as_scores(value: object) -> tuple[float, ...]:
    """Convert retrieval scores: a list of finite numbers."""
    return tuple(as_list(value, as_number, "score", "numbers"))


def as_list(value: object, read: Callable[[Any], Any], word: str, words: str) -> list[Any]:
    """Convert each item of a list; an error names the position of the item, from 1."""
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


def as_plain_id(value: object) -> str:
    """Convert an id of a passage: text, or an integer."""
    try:
        return as_id(value)
    except DataError as error:
        raise DataError(error.message) from None  # the hint of an id of a row does not fit


def as_number(value: object) -> float:
    """Convert a finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise DataError(f"expected a number, found {describe(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise DataError(f"expected a finite number, found {describe(value)}")
    return number


def describe(value: object) -> str:
    """Describe a value for a message, such as ``number 3``, ``null`` or ``a list``."""
    if is_absent(value):
        return "null"
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, float, Decimal, np.number)):
        return f"number {str(value)[:_SHOWN]}"
    if isinstance(value, str):
        return f"text {value[:_SHOWN]!r}"
    if isinstance(value, dict):
        return "an object"
    return "a list" if isinstance(value, (list, tuple, np.ndarray)) else type(value).__name__


EVERY = "*"
_MAX_KEYS_SHOWN = 5
_MAX_INDEX_DIGITS = 9


class PathAbsentError(LookupError):
    """There is no value at a path: a part of it is null, lacks the key, or is a list with too few items.

    If this happens after ``*``, a plain LookupError is raised, since other items may have a value.
    """


def check_path(path: str, *, every: bool) -> str:
    """Return the path; raise ValueError if its syntax is invalid. ``*`` is allowed only if ``every``."""
    steps = path.split(".")
    if not path.isprintable():
        raise ValueError("a path must not contain control characters")
    if "[" in path or "]" in path:
        raise ValueError("write list items with dots, as in choices.0.text or sources.*.text")
    if not all(step and step == step.strip() for step in steps):
        raise ValueError("a path must consist of names with single dots between them, as in output.text")
    if EVERY in steps and not every:
        raise ValueError("the path must name one text, so `*` is not allowed")
    return path


def set_path(body: dict[str, JsonValue], path: str, value: str) -> dict[str, JsonValue]:
    """Return a copy of a request's body with the value at the path; missing objects are created.

    Raises a ValueError if the path leads into a text or a number or past the end of a list, or if the body
    already has a value there.

    >>> set_path({"messages": [{"role": "user"}]}, "messages.0.content", "Who?")
    {'messages': [{'role': 'user', 'content': 'Who?'}]}
    """
    whole = deepcopy(body)
    *parents, last = path.split(".")
    place: Any = whole
    for step in parents:
        if isinstance(place, dict):
            place = place.setdefault(step, {})
        elif _is_item(place, step):
            place = place[int(step)]
        else:
            raise ValueError(f"{path} leads through {kind_of(place)}, which has no {step!r}")
    if not isinstance(place, dict) or last in place:
        raise ValueError(f"{path} cannot be set in the constant body: there is {kind_of(place)}")
    place[last] = value
    return whole


def get_path(document: object, path: str, *, root: str = "the reply") -> object:
    """Return the value at the path; if the path contains ``*``, the list of all values that it matches.

    Args:
        document: a JSON value.
        path: a path that `check_path` accepts.
        root: the name of the document in messages.

    Raises:
        LookupError: there is no value; it is a PathAbsentError if no ``*`` precedes the missing part.

    >>> get_path({"sources": [{"text": "a"}, {"text": "b"}]}, "sources.*.text")
    ['a', 'b']
    >>> get_path({"output": {"text": "a"}}, "output.answer")
    Traceback (most recent call last):
    sgi.kernel.raw_values.PathAbsentError: no output.answer: output is an object with 'text'
    """
    steps = path.split(".")
    places: list[tuple[str, object]] = [("", document)]
    for number, step in enumerate(steps):
        following = []
        for where, place in places:
            items = _items(place, step)
            if items is None:
                problem = f"no {path}: {where or root} is {kind_of(place)}"
                absent = EVERY not in steps[:number] and _may_be_absent(place, step)
                raise PathAbsentError(problem) if absent else LookupError(problem)
            following += [(f"{where}.{name}".lstrip("."), value) for name, value in items]
        places = following
    values = [value for _, value in places]
    return values if EVERY in steps else values[0]


def _items(place: Any, step: str) -> list[tuple[str, Any]] | None:
    """Return the names and values at one part of a path; None if there are none."""
    if isinstance(place, dict) and step in place:
        return [(step, place[step])]
    if isinstance(place, list) and step == EVERY:
        return [(str(index), item) for index, item in enumerate(place)]
    return [(step, place[int(step)])] if _is_item(place, step) else None


def _may_be_absent(place: Any, step: str) -> bool:
    """Return whether a value of this kind can lack this part of a path without being of a wrong kind."""
    return place is None or (isinstance(place, dict) and step != EVERY) or _is_index(place, step)


def _is_index(place: object, step: str) -> bool:
    is_number = step.isdecimal() and step.isascii() and len(step) <= _MAX_INDEX_DIGITS
    return isinstance(place, list) and is_number


def _is_item(place: Any, step: str) -> bool:
    return _is_index(place, step) and int(step) < len(place)


def kind_of(value: Any) -> str:
    """Describe a JSON value without its contents, except some keys of an object.

    >>> kind_of(None), kind_of(3), kind_of(["a"]), kind_of({"text": "a"})
    ('null', 'a number', 'a list of 1', "an object with 'text'")
    """
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a text"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if not value:
        return "an empty object"
    names = ", ".join(f"'{key}'" for key in list(value)[:_MAX_KEYS_SHOWN])
    return f"an object with {names}{', …' if len(value) > _MAX_KEYS_SHOWN else ''}"
