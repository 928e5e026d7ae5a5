"""Limits of size and time for untrusted input, so that a hostile file cannot fill the memory or hang."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from functools import lru_cache
from time import monotonic
from typing import TYPE_CHECKING, Final

from sgi.kernel.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

_ITEM: Final = 32
"""The assumed size of a JSON value in bytes, without its text."""
_UNITS: Final = {"": 1, "B": 1, "KB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000}


@dataclass(frozen=True)
class InputLimits:
    """Maximum sizes of input. The variable ``SGI_MAX_ROW`` or ``sgi --max-row`` sets ``row``, and so on.

    Attributes:
        cell: bytes of one value of a row, which may be a list of texts.
        row: bytes of one row: a line of JSON Lines, a record of CSV, an object of a JSON file.
        columns: columns of a table, or keys of an object.
        file: bytes of a file that is read as a whole, such as a TOML file or a calibration.
    """

    cell: int = 4_000_000
    row: int = 8_000_000
    columns: int = 10_000
    file: int = 64_000_000


NAMES: Final = tuple(field.name for field in fields(InputLimits))


def input_limits() -> InputLimits:
    """Return the limits that environment variables set; the other limits have their defaults."""
    return _limits(tuple(os.environ.get(variable(name), "") for name in NAMES))


@lru_cache(maxsize=8)
def _limits(texts: tuple[str, ...]) -> InputLimits:
    sizes = zip(NAMES, texts, strict=True)
    return InputLimits(**{name: size_in_bytes(text) for name, text in sizes if text})


def variable(name: str) -> str:
    """Return the name of the environment variable that sets a limit."""
    return f"SGI_MAX_{name.upper()}"


def how_to_raise(name: str) -> str:
    """Return the hint of an error about an exceeded limit."""
    ways = f"sgi --max-{name} SIZE, or with the variable {variable(name)}"
    return f"If the data is right, raise the limit with {ways}."


def size_text(size: int) -> str:
    """Format a size in bytes.

    >>> size_text(8_000_000), size_text(1500), size_text(20)
    ('8 MB', '1.5 KB', '20 bytes')
    """
    for unit in ("GB", "MB", "KB"):
        if size >= _UNITS[unit]:
            return f"{size / _UNITS[unit]:.4g} {unit}"
    return f"{size} bytes"


def size_in_bytes(text: str) -> int:
    """Parse a size such as ``8MB``, and return it in bytes; UsageError for an invalid size."""
    upper = text.strip().upper()
    digits = upper.rstrip("BKMG ")
    try:
        size = round(float(digits) * _UNITS[upper[len(digits) :].strip()])
    except (KeyError, ValueError, OverflowError):
        size = 0
    if size <= 0:
        raise UsageError(f"Cannot read the size {text[:40]!r}.", hint="Write 100MB or 2GB.")
    return size


def size_of(value: object, most: int) -> int:
    """Return the approximate size of a JSON value in bytes: the characters of texts, and 32 for each value.

    The count stops at ``most``, so that a list may contain itself.

    >>> size_of("abc", 100), size_of(["abc", 1], 100)
    (35, 99)
    """
    total, waiting = 0, [value]
    while waiting and total <= most:
        value = waiting.pop()
        total += _ITEM
        if isinstance(value, (str, bytes)):
            total += len(value)
        elif isinstance(value, Mapping):
            waiting += value.values()
            waiting += value.keys()
        elif isinstance(value, (list, tuple)):
            waiting += value
    return total


_end: ContextVar[float] = ContextVar("time_limit", default=float("inf"))


class TimeLimitError(Exception):
    """The time limit has passed. Not an OSError, so that readers do not catch it."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Context manager in which `check_time` raises TimeLimitError when the time has passed.

    >>> with time_limit(60.0):
    ...     check_time()
    """
    token = _end.set(monotonic() + seconds)
    try:
        yield
    finally:
        _end.reset(token)


def check_time() -> None:
    """Raise TimeLimitError if the time limit has passed; without one, do nothing."""
    if monotonic() > _end.get():
        raise TimeLimitError
