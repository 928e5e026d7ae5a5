"""Convert raw values to the values of fields, or raise a DataError; the caller adds file and line to it."""

from __future__ import annotations

import math
from datetime import date, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np

from sgi.kernel.errors import DataError
from sgi.kernel.raw_values import as_text, describe, is_absent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import JsonValue


_DEEPEST = 100
_TEXT_PARTS = ("text", "input_text", "output_text")
_PASSAGE_KEYS = ("text", "content", "page_content")
_TRUTH = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


def as_passages(value: object) -> tuple[str, ...]:
    """Convert passages: a text, a list of texts, or a list of objects with their text under a usual key.

    >>> as_passages("one"), as_passages(["one", {"page_content": "two", "source": "b"}])
    (('one',), ('one', 'two'))
    """
    return _texts(value, _passage, "passage")


def as_reference(value: object) -> str | tuple[str, ...]:
    """Convert the expected answer: a text if there is one accepted answer, otherwise a tuple of all."""
    answers = as_answers(value)
    return answers[0] if len(answers) == 1 else answers


def as_answers(value: object) -> tuple[str, ...]:
    """Convert accepted answers: a text or a list of texts."""
    return _texts(value, as_text, "answer")


def as_label(value: object) -> bool:
    """Convert a label: true/false, 1/0 or yes/no (in any case), or 1.0/0.0."""
    known: bool | None = None
    if isinstance(value, (bool, np.bool_, int, float, np.integer, np.floating)):
        known = {0: False, 1: True}.get(value)  # type: ignore[arg-type]  # numpy's numbers hash as Python's
    elif isinstance(value, str):
        known = _TRUTH.get(value.strip().casefold())
    if known is None:
        raise DataError(f"expected true/false, 1/0 or yes/no, found {describe(value)}")
    return known


def as_object(value: object) -> dict[str, JsonValue]:
    """Convert metadata: an object of JSON values."""
    if not isinstance(value, dict):
        raise DataError(f"expected an object, found {describe(value)}")
    plain = as_json(value)
    return plain if isinstance(plain, dict) else {}


def as_json(value: object, depth: int = 0) -> JsonValue:
    """Convert to JSON: values that are not finite become null, dates become ISO text, arrays become lists.

    Raises DataError for other types, or more than 100 nested levels.

    >>> as_json({"at": date(2025, 1, 31), "n": Decimal("0.5"), "gone": float("nan")})
    {'at': '2025-01-31', 'n': 0.5, 'gone': None}
    """
    if isinstance(value, str):
        return as_text(value)
    if isinstance(value, int):
        return value if isinstance(value, bool) else int(value)
    if is_absent(value):
        return None
    if depth > _DEEPEST:
        raise DataError(f"nested deeper than {_DEEPEST} levels")
    if isinstance(value, dict):
        return {_key(key): as_json(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(item, depth + 1) for item in value]
    return _scalar(value, depth)


def any_json(value: object) -> JsonValue:
    """Convert any value of a rejected row to JSON; values without a JSON form become text."""
    if isinstance(value, dict):
        return {str(any_json(str(key))): _json_or_text(item) for key, item in value.items()}
    return _json_or_text(value)


def join_parts(parts: Sequence[Any]) -> str | None:
    r"""Join the texts of a message's parts; None if it has none.

    >>> join_parts([{"type": "text", "text": "a"}, {"type": "image_url"}, "b"])
    'a\nb'
    """
    texts = []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict) and part.get("type", "text") in _TEXT_PARTS:
            value = part.get("text", part.get("content"))
            if isinstance(value, str):
                texts.append(value)
    return "\n".join(texts) if texts else None


def _texts(value: object, read: Any, word: str) -> tuple[str, ...]:
    if isinstance(value, str):
        return (as_text(value),)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        raise DataError(f"expected text or a list of texts, found {describe(value)}")
    texts = []
    for position, item in enumerate(value, 1):
        try:
            texts.append(read(item))
        except DataError as error:
            raise DataError(f"{word} {position}: {error.message}", hint=error.hint) from None
    return tuple(texts)


def _passage(value: object) -> str:
    if not isinstance(value, dict):
        return as_text(value)
    inner = value.get("kwargs")  # of a serialised object of LangChain
    for holder in (value, inner if isinstance(inner, dict) else {}):
        for key in _PASSAGE_KEYS:
            if key in holder:
                return as_text(holder[key])
    keys = ", ".join(_PASSAGE_KEYS[:-1])
    raise DataError(f"expected text, found an object without the key {keys} or {_PASSAGE_KEYS[-1]}")


def _key(key: object) -> str:
    if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
        return str(int(key))
    if not isinstance(key, str):
        raise DataError(f"an object's key must be text, found {describe(key)}")
    return as_text(key)


def _scalar(value: object, depth: int) -> JsonValue:
    if isinstance(value, (float, Decimal)):
        if not math.isfinite(value):
            raise DataError(f"JSON has no number {value}", hint="Write null for a missing value.")
        return int(value) if isinstance(value, Decimal) and value == value.to_integral() else float(value)
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, (UUID, np.datetime64)):
        return str(value)
    if isinstance(value, (np.generic, np.ndarray)):
        return as_json(value.tolist(), depth + 1)
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise DataError(f"expected text, found {len(value)} bytes that are not UTF-8") from None
    raise DataError(f"expected a JSON value, found {describe(value)}")


def _json_or_text(value: object) -> JsonValue:
    try:
        return as_json(value)
    except DataError:
        text = value if isinstance(value, str) else _repr_or_type(value)
        return text.encode("utf-8", "backslashreplace").decode()


def _repr_or_type(value: object) -> str:
    try:
        return repr(value)
    except RecursionError:
        return f"{describe(value)} nested too deeply to be shown"
