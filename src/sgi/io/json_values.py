"""Read attributes of spans: lists with flat keys or nested values, JSON in texts, and typed values."""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import orjson

from sgi.kernel import raw_values
from sgi.kernel.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_FLAT = re.compile(r"([a-z_.]+?)\.(\d{1,9})\.(.+)", re.DOTALL)
_MAX_DEPTH = 20
_LONG = 200

LISTS = frozenset(
    {
        "retrieval.documents", "reranker.input_documents", "reranker.output_documents", "output.documents",
        "llm.input_messages", "llm.output_messages", "llm.prompts", "llm.choices", "gen_ai.prompt",
        "gen_ai.completion", "evaluations", "annotations", "trace.evaluations", "trace.annotations",
    }
)  # fmt: skip
"""Attributes that are lists of objects, whose items often have keys of their own."""

KEPT = (
    "openinference.span.kind", "input.", "output.", "llm.model_name", "llm.response.model_name",
    "llm.request.model_name", "tool.name", "session.id", "metadata", "gen_ai.", "traceloop.",
    "llm.request.type", "llm.token_count.", "llm.cost.total", "operation.cost",
    "langfuse.session.id", "final_result", "pydantic_ai.all_messages", *LISTS,
)  # fmt: skip
"""Prefixes of the attributes that are used; readers drop the others to save memory."""

Items = dict[str, list[dict[str, Any]]]
"""The lists of a span: the name of the list → its items, each with dotted keys."""


def nest(pairs: Iterable[tuple[str, object]]) -> dict[str, object]:
    """Collect the attributes of trace conventions; lists with flat keys become lists of objects.

    >>> nest([("input.value", "Who?"), ("retrieval.documents.0.document.content", "A."), ("http.url", "x")])
    {'input.value': 'Who?', 'retrieval.documents': [{'document.content': 'A.'}]}
    """
    plain: dict[str, object] = {}
    items: dict[tuple[str, int], dict[str, object]] = {}
    place: tuple[str, int] | None = None
    item: dict[str, object] = {}
    for key, value in pairs:
        at, name = _place(key) if len(key) < _LONG else (None, key)
        if at is None:
            if name:
                plain[name] = value
            continue
        if at != place:  # the keys of an item are usually adjacent
            place = at
            item = items.setdefault(at, {})
        item[name] = value
    lists: dict[str, list[dict[str, object]]] = {}
    for at in sorted(items):
        lists.setdefault(at[0], []).append(items[at])
    return plain | lists if lists else plain


@lru_cache(maxsize=4096)
def _place(key: str) -> tuple[tuple[str, int] | None, str]:
    """Split a flat key into the list and index, and the key in the item.

    An attribute that is not in a list has no index; the key is blank for one that is not used.
    """
    match = _FLAT.fullmatch(key)
    if match is not None and match[1] in LISTS:
        return (sys.intern(match[1]), int(match[2])), sys.intern(match[3])
    return None, sys.intern(key) if key.startswith(KEPT) else ""


def list_items(attributes: Mapping[str, object], names: Iterable[str]) -> Items:
    """Return the lists in these attributes; values of nested objects also get dotted keys.

    >>> list_items({"evaluations": '[{"evaluation": {"name": "a"}}]'}, ["evaluations"])
    {'evaluations': [{'evaluation': {'name': 'a'}, 'evaluation.name': 'a'}]}
    """
    lists: Items = {}
    for name in names:
        items = parse_json(attributes[name])
        if isinstance(items, list):
            lists[name] = [flatten(item) if isinstance(item, dict) else {"": item} for item in items]
    return lists


def flatten(values: dict[str, object]) -> dict[str, object]:
    """Add the values of nested objects and lists under dotted keys.

    >>> flatten({"document": {"content": "a"}})
    {'document': {'content': 'a'}, 'document.content': 'a'}
    """
    for value in values.values():
        if type(value) is dict or type(value) is list:
            break
    else:
        return values
    dotted: dict[str, object] = {}
    waiting: list[tuple[str, object, int]] = [(key, value, 0) for key, value in reversed([*values.items()])]
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


def text_of(value: Any, *field: object) -> str | None:
    """Return a text, or None for null.

    Raises DataError for another type, with the attribute's name: the parts of ``field``, joined with dots.
    """
    if type(value) is str and value.isascii():
        return value
    return None if raw_values.is_absent(value) else _convert(raw_values.as_text, value, field)


def id_of(value: object, *field: object) -> str | None:
    """Return an id as text, or None for null and blank texts. Raises DataError as `text_of` does."""
    if isinstance(value, str):
        return None if not value or value.isspace() else text_of(value, *field)
    return None if raw_values.is_absent(value) else _convert(raw_values.as_id, value, field)


def _convert(convert: Callable[[Any], str], value: object, field: tuple[object, ...]) -> str:
    try:
        return convert(value)
    except DataError as error:
        raise DataError(error.message, field=".".join(map(str, field)), hint=error.hint) from None


def number_of(value: Any) -> float | None:
    """Return a finite number, or None.

    >>> number_of("0.5"), number_of(float("nan")), number_of("high")
    (0.5, None, None)
    """
    if type(value) is not float and (isinstance(value, bool) or not isinstance(value, (float, int, str))):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < float("inf") else None
