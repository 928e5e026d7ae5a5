"""Reads files, converts parser errors to errors with file and line, and checks the JSON of other programs."""

from __future__ import annotations

import math
import struct
import zlib
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import AfterValidator, Field, PlainValidator, Strict, TypeAdapter, ValidationError

from sgi.kernel.errors import DataError, SgiError
from sgi.kernel.input_limits import how_to_raise, input_limits, size_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_DEPTH: Final = 100
"""The maximum number of nested lists and objects, in settings and in JSON that is stored."""
_INT64: Final = 2**63
_MAX_REASON: Final = 200

PARSER_ERRORS: Final = (
    ValueError,  # also: wrong JSON or TOML, wrong UTF-8, too many digits, an Arrow or pydantic error
    ArithmeticError,  # a date or a number out of range
    LookupError,  # an unknown time zone, a duplicate key of a map
    TypeError,
    RecursionError,
    MemoryError,
    EOFError,
    OSError,
    struct.error,
    zlib.error,
)
"""The exceptions that parsers raise for invalid input."""


@contextmanager
def parsing(
    file: str | Path,
    what: str = "",
    *,
    error: type[SgiError] = DataError,
    hint: str = "",
) -> Iterator[None]:
    """Context manager that converts parser errors in its block, which should contain only the parser's call.

    Args:
        file: the name of the file in messages.
        what: the expected format, such as ``TOML``.
        error: the class of the raised error.
        hint: how to fix the error.

    >>> import json
    >>> with parsing("a.json", "JSON"):
    ...     json.loads("{")
    Traceback (most recent call last):
    sgi.kernel.errors.DataError: a.json: is not JSON: Expecting property name enclosed ...
    """
    try:
        yield
    except PARSER_ERRORS as cause:
        problem = f"{f'is not {what}' if what else 'cannot be read'}: {reason(cause)}"
        if isinstance(cause, OSError) and cause.strerror:
            problem = f"cannot be read: {cause.strerror}"
        raise placed_error(error, problem, str(file), hint=hint) from cause


def placed_error(
    error: type[SgiError], problem: str, file: str, line: int | None = None, hint: str = ""
) -> SgiError:
    """Return an error of this class whose message begins with the file and the line."""
    if issubclass(error, DataError):
        return error(problem, file=file, line=line, hint=hint)
    place = file if line is None else f"{file}:{line}"
    return error(f"{place}: {problem}.", hint=hint)


def reason(error: BaseException) -> str:
    """Return the message of a parser's error, on one line."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, MemoryError):
        return "it needs too much memory"
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start + 1} (0x{error.object[error.start]:02x}) is not UTF-8"
    text = str(error).strip().partition("\n")[0].encode("utf-8", "backslashreplace").decode()
    return text[:_MAX_REASON].rstrip(".") or type(error).__name__


def read_whole(
    path: Path, *, error: type[SgiError] = DataError, hint: str = "", most: int | None = None
) -> bytes:
    """Read a file; raises ``error`` if it cannot be read, or has more bytes than ``most`` or the limit."""
    limit = input_limits().file if most is None else most
    with parsing(path, error=error, hint=hint), path.open("rb") as stream:
        content = stream.read(limit + 1)
    if len(content) > limit:
        way_out = how_to_raise("file") if most is None else ""
        raise placed_error(error, f"is larger than {size_text(limit)}", str(path), hint=way_out)
    return content


def read_toml(
    path: Path, *, error: type[SgiError], hint: str = "", most: int | None = None
) -> dict[str, Any]:
    """Read a TOML file; raises ``error`` for bad syntax, integers beyond 64 bits, or more than 100 levels.

    ``most`` is the maximum number of bytes; None for the limit of all files.
    """
    import tomllib

    raw = read_whole(path, error=error, hint=hint, most=most)
    with parsing(path, "TOML", error=error, hint=hint):
        values = tomllib.loads(raw.decode("utf-8-sig"))
        _check_values(values)
    return values


def read_json(path: Path, *, error: type[SgiError], hint: str = "") -> object:
    """Read a strict JSON file; raises ``error`` as `read_toml` does, also for NaN and lone surrogates."""
    import orjson

    raw = read_whole(path, error=error, hint=hint)
    with parsing(path, "JSON", error=error, hint=hint):
        value = orjson.loads(raw.decode("utf-8-sig"))
        _check_values(value)
    return value


def _check_values(value: object, depth: int = 0) -> None:
    if depth > MAX_DEPTH:
        raise ValueError(f"it is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, int) and not -_INT64 <= value < 2 * _INT64:
        raise ValueError("a whole number has more than 64 bits")
    if isinstance(value, (list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            _check_values(item, depth + 1)


MAX_INT = 2**63 - 1
MAX_ROWS = 2**31 - 1


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("it is not a text")
    return value


def _finite(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError("it is not a number")
    if not abs(value) <= MAX_FLOAT:
        raise ValueError("it is not a finite number")
    return float(value)


def check_depth(value: object) -> object:
    """Return a JSON value; raise ValueError if it is nested deeper than `MAX_DEPTH` levels."""
    level: list[object] = [value]
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
