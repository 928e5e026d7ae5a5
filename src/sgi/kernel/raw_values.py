"""Convert raw values to texts, ids and numbers, or raise a DataError; the caller adds the field to it."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.kernel.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable

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
