"""LRU cache with single-flight computation: simultaneous requests for a value compute it once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import fields, is_dataclass
from threading import Lock, local
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from sgi_web.throttle import ServerBusyError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from starlette.requests import Request

T = TypeVar("T")
_MAX_BYTES = 256_000_000
_MAX_THREADS = 16
"""Threads that may compute or wait, of the 40 worker threads; the others stay free for quick requests."""
_OBJECT = 64
"""Approximate bytes of a small Python object."""


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
        self._values: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._pending: dict[Hashable, Future[Any]] = {}
        self._busy = 0
        self._lock = Lock()
        self._thread = local()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the cached value, or compute it; an error is raised in all waiting threads.

        Raises:
            ServerBusyError: too many threads compute values or wait for them.
        """
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return cast("T", self._values[key][0])
            nested = getattr(self._thread, "busy", False)  # a computation can need another value
            if self._busy >= self._max_threads and not nested:
                raise ServerBusyError("The server is busy with other pages.", hint="Try again in a moment.")
            self._busy += not nested
            others = self._pending.get(key)
            mine: Future[Any] = Future()
            if others is None:
                self._pending[key] = mine
        self._thread.busy = True
        try:
            return cast("T", others.result()) if others is not None else self._compute(key, make, mine)
        finally:
            self._thread.busy = nested
            with self._lock:
                self._busy -= not nested

    def _compute(self, key: Hashable, make: Callable[[], T], future: Future[Any]) -> T:
        try:
            value = make()
            self._store(key, value)
        except BaseException as error:
            with self._lock:
                self._pending.pop(key, None)
            future.set_exception(error)
            raise
        future.set_result(value)
        return value

    def _store(self, key: Hashable, value: Any) -> None:
        size = size_of(value)
        with self._lock:
            self._pending.pop(key, None)
            self._values[key] = value, size
            while len(self._values) > self._max_entries or self._total_bytes() > self._max_bytes:
                self._values.popitem(last=False)

    def _total_bytes(self) -> int:
        return sum(size for _, size in self._values.values())


def size_of(value: Any) -> int:
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


def cache_of(request: Request) -> SingleFlightCache:
    """Return the cache of the application."""
    return cast("SingleFlightCache", request.app.state.cache)
