"""A time limit for work on untrusted input: loops that can be long check it."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_end: ContextVar[float] = ContextVar("time_limit", default=float("inf"))


class TimeLimitError(Exception):
    """The time limit has passed. It is no OSError, as TimeoutError is, so that readers do not report it."""


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
