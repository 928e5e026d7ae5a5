"""Dotted paths into JSON: ``choices.0.message.content``, ``sources.*.text``.

A name is a key of an object, a number an item of a list, ``*`` every item of a list. A key that itself holds
a dot cannot be named.
"""

from __future__ import annotations

import json
from copy import deepcopy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import JsonValue

EVERY = "*"
_KEYS_SHOWN = 5


def check_path(path: str, *, every: bool) -> str:
    """The path, if it can be read as one.

    Args:
        path: as written.
        every: whether ``*`` may stand in it.

    Raises:
        ValueError: it cannot.
    """
    steps = path.split(".")
    if not path.isprintable():
        raise ValueError("a path holds no control characters")
    if "[" in path or "]" in path:
        raise ValueError("lists are written with dots, as in choices.0.text or sources.*.text")
    if not all(step and step == step.strip() for step in steps):
        raise ValueError("a path is names with single dots between them, as in output.text")
    if EVERY in steps and not every:
        raise ValueError("one text is wanted here, so `*` cannot stand for several")
    return path


def placed(body: dict[str, JsonValue], path: str, value: str) -> dict[str, JsonValue]:
    """A copy of the body with the value at the path; objects that are not there yet are made.

    Raises:
        ValueError: the path leads through something else than objects and lists, past the end of a list, or
            to a place that is taken.

    >>> placed({"messages": [{"role": "user"}]}, "messages.0.content", "Who?")
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
            raise ValueError(f"{path} leads through {kind(place)}, which has no {step!r}")
    if not isinstance(place, dict) or last in place:
        raise ValueError(f"{path} cannot be set in the constant body: there is {kind(place)}")
    place[last] = value
    return whole


def found(document: JsonValue, path: str) -> JsonValue:
    """What stands at the path; with ``*`` in it, the list of all that stand there.

    Raises:
        LookupError: nothing stands there; says how far the path leads and what is found there instead.

    >>> found({"sources": [{"text": "a"}, {"text": "b"}]}, "sources.*.text")
    ['a', 'b']
    >>> found({"output": {"text": "a"}}, "output.answer")
    Traceback (most recent call last):
    LookupError: no output.answer: output is an object with 'text'
    """
    places: list[tuple[str, JsonValue]] = [("", document)]
    for step in path.split("."):
        places = [
            (f"{where}.{name}".lstrip("."), value)
            for where, place in places
            for name, value in _below(place, step, where, path)
        ]
    values = [value for _, value in places]
    return values if EVERY in path.split(".") else values[0]


def _below(place: JsonValue, step: str, where: str, path: str) -> list[tuple[str, JsonValue]]:
    if isinstance(place, dict) and step in place:
        return [(step, place[step])]
    if isinstance(place, list):
        if step == EVERY:
            return [(str(index), item) for index, item in enumerate(place)]
        if _is_item(place, step):
            return [(step, place[int(step)])]
    raise LookupError(f"no {path}: {where or 'the reply'} is {kind(place)}")


def _is_item(place: Any, step: str) -> bool:
    """Whether the place is a list with such an item."""
    is_index = step.isdecimal() and step.isascii() and len(step) < 10  # noqa: PLR2004 - no list is longer
    return isinstance(place, list) and is_index and int(step) < len(place)


def kind(value: Any) -> str:
    """What a JSON value is, in words; its content is not shown, but the names of an object are, as they are.

    >>> kind(None), kind(3), kind(["a"]), kind({"text": "a"})
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
    names = ", ".join(f"'{key}'" for key in list(value)[:_KEYS_SHOWN])
    return f"an object with {names}{', …' if len(value) > _KEYS_SHOWN else ''}"
