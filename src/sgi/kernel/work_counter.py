"""Counts the work inside one batch, so that a long batch shows progress before it ends."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class WorkCount:
    """Texts embedded and pairs read so far, of those that are known to be needed; threads may share it.

    Args:
        listener: is given ``done`` and ``total`` by ``report``.

    >>> work = WorkCount()
    >>> work.expect(10)
    >>> work.add(4)
    >>> work.done, work.total
    (4, 10)
    """

    def __init__(self, listener: Callable[[int, int], None] | None = None) -> None:
        self._listener = listener
        self._lock = Lock()
        self._done = 0
        self._total = 0

    @property
    def done(self) -> int:
        """The units that are done, at most ``total``."""
        return min(self._done, self._total)

    @property
    def total(self) -> int:
        """The units that are known to be needed."""
        return self._total

    @property
    def report(self) -> Callable[[], None] | None:
        """Tells the listener how far the work is; None where nobody listens."""
        listener = self._listener
        return None if listener is None else lambda: listener(self.done, self.total)

    def expect(self, units: int) -> None:
        """Add units that are still to be done."""
        with self._lock:
            self._total += units

    def add(self, units: int) -> None:
        """Add units that are done."""
        with self._lock:
            self._done += units

    def reach(self, done: int) -> None:
        """Set the units that are done, where they are fewer: for work that was not counted as it was done."""
        with self._lock:
            self._done = max(self._done, done)


_CURRENT: ContextVar[WorkCount | None] = ContextVar("sgi_work", default=None)


def current_work() -> WorkCount:
    """The count of this context; one that nobody reads where nothing is counted."""
    return _CURRENT.get() or WorkCount()


@contextmanager
def counting_work(listener: Callable[[int, int], None] | None = None) -> Iterator[WorkCount]:
    """Count the work of this context, of the tasks awaited in it and of the threads they wait for.

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
