"""Counts the finished texts and pairs of a batch, so that a long batch shows progress before it ends."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class WorkCount:
    """Counter of the finished and of all texts and pairs that models must compute; it is thread-safe.

    ``report`` passes both numbers to the listener.
    """

    def __init__(self, listener: Callable[[int, int], None] | None = None) -> None:
        self._listener = listener
        self._lock = Lock()
        self._done = 0
        self._total = 0

    @property
    def done(self) -> int:
        """The number of finished texts and pairs, at most ``total``."""
        return min(self._done, self._total)

    @property
    def total(self) -> int:
        """The number of texts and pairs to compute."""
        return self._total

    @property
    def report(self) -> Callable[[], None] | None:
        """A function that calls the listener; None if there is no listener."""
        listener = self._listener
        return None if listener is None else lambda: listener(self.done, self.total)

    def expect(self, units: int) -> None:
        """Increase ``total`` by ``units``."""
        with self._lock:
            self._total += units

    def add(self, units: int) -> None:
        """Increase ``done`` by ``units``."""
        with self._lock:
            self._done += units

    def reach(self, done: int) -> None:
        """Increase ``done`` to this number if it is less, for work that does not call `add`."""
        with self._lock:
            self._done = max(self._done, done)


_CURRENT: ContextVar[WorkCount | None] = ContextVar("sgi_work", default=None)


def current_work() -> WorkCount:
    """Return the counter of the current `counting_work` block, or an unused one outside of such a block."""
    return _CURRENT.get() or WorkCount()


@contextmanager
def counting_work(listener: Callable[[int, int], None] | None = None) -> Iterator[WorkCount]:
    """Context manager that counts the work in its block, including that of awaited tasks and threads.

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
