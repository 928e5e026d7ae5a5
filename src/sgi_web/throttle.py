"""Limits how many slow requests run at once."""

from __future__ import annotations

from contextlib import contextmanager
from threading import BoundedSemaphore, Lock
from typing import TYPE_CHECKING

from sgi.kernel.errors import SgiError

if TYPE_CHECKING:
    from collections.abc import Iterator


class ServerBusyError(SgiError):
    """The server is busy; the client can retry later."""


class Throttle:
    """Runs one request at a time, lets ``max_waiting`` others wait up to ``seconds``, and refuses the rest.

    `anyio.CapacityLimiter` does not replace it: it works in coroutines and does not bound the queue.
    """

    def __init__(self, max_waiting: int = 4, seconds: float = 5.0) -> None:
        self._queue = BoundedSemaphore(1 + max_waiting)
        self._lock = Lock()
        self._seconds = seconds

    @contextmanager
    def acquire(self) -> Iterator[None]:
        """Context manager that runs its block while no other request runs one.

        Raises:
            ServerBusyError: too many requests wait, or the wait took too long.
        """
        with _acquire(self._queue, 0.0), _acquire(self._lock, self._seconds):
            yield


@contextmanager
def _acquire(lock: Lock | BoundedSemaphore, seconds: float) -> Iterator[None]:
    if not lock.acquire(timeout=seconds):
        raise ServerBusyError("The server is busy with other requests.", hint="Try again in a moment.")
    try:
        yield
    finally:
        lock.release()
