"""Dotted paths into JSON: ``choices.0.message.content``, ``sources.*.text``.

A name is a key of an object, a number is an index of a list, ``*`` is every item of a list. A key that
contains a dot cannot be addressed.
"""

from __future__ import annotations

import json
from copy import deepcopy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import JsonValue

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


def get_path(document: Any, path: str, *, root: str = "the reply") -> Any:
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
    sgi.kernel.json_path.PathAbsentError: no output.answer: output is an object with 'text'
    """
    steps = path.split(".")
    places: list[tuple[str, Any]] = [("", document)]
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


def _is_index(place: Any, step: str) -> bool:
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
