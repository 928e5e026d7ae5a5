"""Convert raw values to latency, tokens and cost of an answer, or raise a DataError."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.kernel.errors import DataError
from sgi.kernel.raw_values import describe

if TYPE_CHECKING:
    from collections.abc import Callable

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


def _with_hint(name: str, read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def read_cell(value: object) -> Any:
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
