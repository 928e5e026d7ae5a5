"""Read attributes of spans: lists with flat keys or nested values, JSON in texts, and typed values."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import orjson

from sgi.io import coercion as cells
from sgi.kernel.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping

_FLAT = re.compile(r"([a-z_.]+?)\.(\d{1,9})\.(.+)", re.DOTALL)
_MAX_DEPTH = 20

Items = dict[str, list[dict[str, Any]]]
"""The lists of a span: the name of the list → its items, each with dotted keys."""


def lists_of(attributes: Mapping[str, Any], names: frozenset[str]) -> Items:
    """Collect the lists with these names, from flat keys or nested values.

    >>> lists_of({"docs.1.text": "b", "docs.0.text": "a"}, frozenset({"docs"}))
    {'docs': [{'text': 'a'}, {'text': 'b'}]}
    >>> lists_of({"docs": [{"text": "a", "meta": {"page": 1}}]}, frozenset({"docs"}))
    {'docs': [{'text': 'a', 'meta': {'page': 1}, 'meta.page': 1}]}
    """
    flat: dict[str, dict[int, dict[str, Any]]] = {}
    lists: Items = {}
    for key, value in attributes.items():
        if key in names:
            items = parse_json(value)
            if isinstance(items, list):
                lists[key] = [flatten(item) if isinstance(item, dict) else {"": item} for item in items]
        elif (match := _FLAT.fullmatch(key)) is not None and match[1] in names:
            flat.setdefault(match[1], {}).setdefault(int(match[2]), {})[match[3]] = value
    for name, by_index in flat.items():
        lists.setdefault(name, [by_index[index] for index in sorted(by_index)])
    return lists


def flatten(values: Mapping[str, Any]) -> dict[str, Any]:
    """Add the values of nested objects and lists under dotted keys.

    >>> flatten({"document": {"content": "a"}})
    {'document': {'content': 'a'}, 'document.content': 'a'}
    """
    dotted: dict[str, Any] = {}
    waiting: list[tuple[str, Any, int]] = [(key, value, 0) for key, value in reversed([*values.items()])]
    while waiting:
        key, value, depth = waiting.pop()
        dotted[key] = value
        if depth >= _MAX_DEPTH:
            continue
        if isinstance(value, dict):
            waiting += [(f"{key}.{name}", item, depth + 1) for name, item in reversed(value.items())]
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            waiting += [(f"{key}.{n}", item, depth + 1) for n, item in reversed([*enumerate(value)])]
    return dotted


def parse_json(value: Any) -> Any:
    """Parse a text that holds a JSON object or list; other values are returned unchanged.

    >>> parse_json('[{"a": 1}]'), parse_json("[1] and more"), parse_json("text")
    ([{'a': 1}], '[1] and more', 'text')
    """
    if isinstance(value, str) and value.lstrip()[:1] in {"{", "["}:
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
    return value


def text_of(value: Any, field: str) -> str | None:
    """Return a text, or None for null. Raises DataError with the attribute's name for another type."""
    if cells.is_absent(value):
        return None
    try:
        return cells.as_text(value)
    except DataError as error:
        raise DataError(error.message, field=field, hint=error.hint) from None


def id_of(value: Any, field: str) -> str | None:
    """Return an id as text, or None for null and blank texts. Raises DataError for another type."""
    if cells.is_absent(value) or (isinstance(value, str) and not value.strip()):
        return None
    try:
        return cells.as_id(value)
    except DataError as error:
        raise DataError(error.message, field=field, hint=error.hint) from None


def number_of(value: Any) -> float | None:
    """Return a finite number, or None.

    >>> number_of("0.5"), number_of(float("nan")), number_of("high")
    (0.5, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < float("inf") else None
