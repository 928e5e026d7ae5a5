"""Bounds on the work of slow requests: values that are computed once, and requests that run at once."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from dataclasses import fields, is_dataclass
from threading import BoundedSemaphore, Lock, local
from typing import TYPE_CHECKING, TypeVar, cast

import anyio
import numpy as np

from sgi.kernel.errors import SgiError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Hashable, Iterator

T = TypeVar("T")
_MAX_BYTES = 256_000_000
_MAX_THREADS = 16
"""Threads that may compute or wait, of the 40 worker threads; the others stay free for quick requests."""
_OBJECT = 64
"""Approximate bytes of a small Python object."""
_BUSY, _LATER = "The server is busy with other requests.", "Try again in a moment."


class ServerBusyError(SgiError):
    """The server is busy; the client can retry later."""


class AsyncThrottle:
    """Lets ``at_once`` coroutines run and ``max_waiting`` others wait, in order, and refuses the rest."""

    def __init__(self, at_once: int, max_waiting: int) -> None:
        self._limiter = anyio.CapacityLimiter(at_once)
        self._max_waiting = max_waiting

    @asynccontextmanager
    async def acquire(self) -> AsyncIterator[None]:
        """Context manager that runs its block while fewer than ``at_once`` other coroutines run one.

        Raises:
            ServerBusyError: too many coroutines wait.
        """
        if self._limiter.statistics().tasks_waiting >= self._max_waiting:
            raise ServerBusyError(_BUSY, hint=_LATER)
        async with self._limiter:
            yield


class Throttle:
    """Runs ``at_once`` requests, lets ``max_waiting`` others wait up to ``seconds``, and refuses the rest.

    `anyio.CapacityLimiter` does not replace it: it works in coroutines and does not bound the queue.
    """

    def __init__(self, max_waiting: int = 4, seconds: float = 5.0, *, at_once: int = 1) -> None:
        self._queue = BoundedSemaphore(at_once + max_waiting)
        self._running = BoundedSemaphore(at_once)
        self._seconds = seconds

    @contextmanager
    def acquire(self) -> Iterator[None]:
        """Context manager that runs its block while fewer than ``at_once`` other requests run one.

        Raises:
            ServerBusyError: too many requests wait, or the wait took too long.
        """
        with _acquire(self._queue, 0.0), _acquire(self._running, self._seconds):
            yield


@contextmanager
def _acquire(lock: BoundedSemaphore, seconds: float) -> Iterator[None]:
    if not lock.acquire(timeout=seconds):
        raise ServerBusyError(_BUSY, hint=_LATER)
    try:
        yield
    finally:
        lock.release()


class SingleFlightCache:
    """LRU cache in which one thread computes a value and others that need it wait.

    `cachetools` has no single flight and no bound on the threads that wait.

    Args:
        max_entries: maximum number of values.
        max_bytes: maximum total of ``size_of``; a value that alone exceeds it is not stored.
        max_threads: maximum number of threads that compute values or wait for them.

    >>> cache = SingleFlightCache(1)
    >>> [cache.get(key, lambda: value) for key, value in (("a", 1), ("a", 2), ("b", 3), ("a", 4))]
    [1, 1, 3, 4]
    """

    def __init__(
        self, max_entries: int = 512, *, max_bytes: int = _MAX_BYTES, max_threads: int = _MAX_THREADS
    ) -> None:
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._max_threads = max_threads
        self._futures: dict[Hashable, Future[object]] = {}
        self._sizes: dict[Hashable, int] = {}  # of the computed values, the least recently used first
        self._busy = 0
        self._lock = Lock()
        self._thread = local()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the cached value, or compute it; an error is raised in all waiting threads.

        Raises:
            ServerBusyError: too many threads compute values or wait for them.
        """
        with self._lock:
            if key in self._sizes:
                self._sizes[key] = self._sizes.pop(key)
                return cast("T", self._futures[key].result())
            nested = getattr(self._thread, "busy", False)  # a computation can need another value
            if self._busy >= self._max_threads and not nested:
                raise ServerBusyError("The server is busy with other pages.", hint=_LATER)
            self._busy += not nested
            is_first = key not in self._futures
            future = self._futures.setdefault(key, Future())
        self._thread.busy = True
        try:
            if is_first:
                self._compute(key, make, future)
            return cast("T", future.result())
        finally:
            self._thread.busy = nested
            with self._lock:
                self._busy -= not nested

    def _compute(self, key: Hashable, make: Callable[[], T], future: Future[object]) -> None:
        try:
            value = make()
            size = size_of(value)
        except BaseException as error:  # noqa: BLE001 - it is raised in all threads
            with self._lock:
                del self._futures[key]
            future.set_exception(error)
            return
        future.set_result(value)
        with self._lock:
            self._sizes[key] = size
            while len(self._sizes) > self._max_entries or sum(self._sizes.values()) > self._max_bytes:
                oldest = next(iter(self._sizes))
                del self._sizes[oldest], self._futures[oldest]


def size_of(value: object) -> int:
    """Estimate the memory of a value in bytes; shared parts count twice."""
    if isinstance(value, (bytes, str)):
        return _OBJECT + len(value)
    if isinstance(value, np.ndarray):
        return _OBJECT + value.nbytes + (sum(map(size_of, value.flat)) if value.dtype.hasobject else 0)
    if isinstance(value, Mapping):
        return _OBJECT + sum(size_of(key) + size_of(part) for key, part in value.items())
    if isinstance(value, (list, tuple, set, frozenset)):
        return _OBJECT + sum(map(size_of, value))
    if is_dataclass(value):
        return _OBJECT + sum(size_of(getattr(value, field.name)) for field in fields(value))
    return _OBJECT
