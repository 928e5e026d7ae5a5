"""Counts the work in one batch, so that a long batch shows progress before it ends."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class WorkCount:
    """The numbers of texts and pairs that are done, and that are needed; threads may share it.

    ``report`` passes both to the listener.
    """

    def __init__(self, listener: Callable[[int, int], None] | None = None) -> None:
        self._listener = listener
        self._lock = Lock()
        self._done = 0
        self._total = 0

    @property
    def done(self) -> int:
        """The finished units, at most ``total``."""
        return min(self._done, self._total)

    @property
    def total(self) -> int:
        """The units that are needed."""
        return self._total

    @property
    def report(self) -> Callable[[], None] | None:
        """A function that calls the listener; None without a listener."""
        listener = self._listener
        return None if listener is None else lambda: listener(self.done, self.total)

    def expect(self, units: int) -> None:
        """Increase ``total``."""
        with self._lock:
            self._total += units

    def add(self, units: int) -> None:
        """Increase ``done``."""
        with self._lock:
            self._done += units

    def reach(self, done: int) -> None:
        """Set ``done`` unless it is greater: for work that does not count itself."""
        with self._lock:
            self._done = max(self._done, done)


_CURRENT: ContextVar[WorkCount | None] = ContextVar("sgi_work", default=None)


def current_work() -> WorkCount:
    """Return the count of this context; without one, a new count that nothing reads."""
    return _CURRENT.get() or WorkCount()


@contextmanager
def counting_work(listener: Callable[[int, int], None] | None = None) -> Iterator[WorkCount]:
    """Count the work of this context, including tasks awaited in it and threads they wait for.

    >>> with counting_work() as work:
    ...     current_work().expect(3)
    >>> work.total
    3
    """
    work = WorkCount(listener)
    token = _CURRENT.set(work)
    try:
        yield work
    finally:
        _CURRENT.reset(token)
