"""How many do the same at once: work that takes long must leave threads to those who ask for little."""

from __future__ import annotations

from contextlib import contextmanager
from threading import BoundedSemaphore, Lock
from typing import TYPE_CHECKING

from sgi.kernel.errors import SgiError

if TYPE_CHECKING:
    from collections.abc import Iterator


class ServerBusyError(SgiError):
    """So much is being done already that no more is taken; it can be asked for again later."""


class Turns:
    """One works at a time; a few wait for their turn, for a while; the others are asked to come again.

    Args:
        most_waiting: how many wait at most.
        seconds: how long each waits at most.

    >>> turns = Turns(most_waiting=0)
    >>> with turns.taken():
    ...     with turns.taken():
    ...         pass
    Traceback (most recent call last):
        ...
    sgi.web.throttle.ServerBusyError: The server is busy with other downloads. Try again in a moment.
    """

    def __init__(self, most_waiting: int = 4, seconds: float = 5.0) -> None:
        self._places = BoundedSemaphore(1 + most_waiting)
        self._turn = Lock()
        self._seconds = seconds

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Have the turn within the block.

        Raises:
            ServerBusyError: too many wait, or the turn did not come in time.
        """
        with _held(self._places, 0.0), _held(self._turn, self._seconds):
            yield


@contextmanager
def _held(lock: Lock | BoundedSemaphore, seconds: float) -> Iterator[None]:
    if not lock.acquire(timeout=seconds):
        raise ServerBusyError("The server is busy with other downloads.", hint="Try again in a moment.")
    try:
        yield
    finally:
        lock.release()
