"""Types for JSON from other programs; pydantic checks the values of `json.loads` against them.

A text may contain lone surrogates, which pydantic's ``str`` rejects. Booleans are not integers, and integers
must fit into a database column.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Annotated, Any

from pydantic import AfterValidator, Field, PlainValidator, Strict, TypeAdapter, ValidationError

MAX_INT = 2**63 - 1
MAX_ROWS = 2**31 - 1
MAX_DEPTH = 100
"""The maximum number of nested lists and objects; deeper values could be read but not written."""


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("it is not a text")  # noqa: TRY004 - pydantic takes this one for a wrong value
    return value


def _finite(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError("it is not a number")  # noqa: TRY004 - as above
    if not abs(value) <= MAX_FLOAT:
        raise ValueError("it is not a finite number")
    return float(value)


def check_depth(value: Any) -> Any:
    """Return a JSON value; raise ValueError if it is nested deeper than `MAX_DEPTH` levels."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH + 1):
        items = [item for item in level if isinstance(item, (dict, list))]
        if not items:
            return value
        level = [part for item in items for part in (item.values() if isinstance(item, dict) else item)]
    raise ValueError("it is nested too deeply")


MAX_FLOAT = math.nextafter(math.inf, 0)
AnyText = Annotated[str, PlainValidator(_text)]
Finite = Annotated[float, PlainValidator(_finite)]
Count = Annotated[int, Strict(), Field(ge=0, le=MAX_INT)]
Rows = Annotated[int, Strict(), Field(ge=0, le=MAX_ROWS)]
JsonObject = Annotated[dict[AnyText, Any], AfterValidator(check_depth)]


def validate(kind: Any, value: object) -> Any:
    """Convert a JSON value to a type; raise ValidationError if it does not fit."""
    return _adapter(kind).validate_python(value)


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def first_problem(errors: ValidationError) -> str:
    """Return the first validation error as ``path: reason``, without the value.

    >>> try:
    ...     validate(dict[str, Rows], {"rows": -1})
    ... except ValidationError as errors:
    ...     first_problem(errors)
    'rows: input should be greater than or equal to 0'
    """
    first = errors.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(str(part)[:60] for part in first["loc"] if not str(part).startswith("function-"))
    message = first["msg"].removeprefix("Value error, ")
    problem = f"{message[:1].lower()}{message[1:]}"
    return f"{place}: {problem}" if place else problem
