"""What is dear to compute and wanted several times: the last few, by what they were made of."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import fields, is_dataclass
from threading import Lock, local
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from sgi.web.throttle import ServerBusyError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from starlette.requests import Request

T = TypeVar("T")
_MOST_BYTES = 256_000_000
_MOST_BUSY = 16
"""Of the 40 threads that answer: the others stay free for what is quick."""
_OBJECT = 64
"""Bytes of a small Python object, roughly."""


class Kept:
    """The values of the last few keys; each is made by one thread, and whoever else wants it waits for that.

    Args:
        most: how many are kept.
        most_bytes: how much they hold together, as ``size_of`` estimates it; a larger value is not kept.
        most_busy: how many threads make values or wait for them.

    >>> kept = Kept(1)
    >>> kept.get("a", lambda: 1), kept.get("a", lambda: 2), kept.get("b", lambda: 3), kept.get("a", lambda: 4)
    (1, 1, 3, 4)
    """

    def __init__(self, most: int = 64, *, most_bytes: int = _MOST_BYTES, most_busy: int = _MOST_BUSY) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._most_busy = most_busy
        self._values: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._making: dict[Hashable, Future[Any]] = {}
        self._busy = 0
        self._lock = Lock()
        self._thread = local()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value of the key, made if it isn't there; what making it raises is told to all who wait.

        Raises:
            ServerBusyError: too many threads make values or wait for them.
        """
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return cast("T", self._values[key][0])
            nested = getattr(self._thread, "busy", False)  # what makes a value may need another one
            if self._busy >= self._most_busy and not nested:
                raise ServerBusyError("The server is busy with other pages.", hint="Try again in a moment.")
            self._busy += not nested
            others = self._making.get(key)
            mine: Future[Any] = Future()
            if others is None:
                self._making[key] = mine
        self._thread.busy = True
        try:
            return cast("T", others.result()) if others is not None else self._made(key, make, mine)
        finally:
            self._thread.busy = nested
            with self._lock:
                self._busy -= not nested

    def _made(self, key: Hashable, make: Callable[[], T], told: Future[Any]) -> T:
        try:
            value = make()
            self._keep(key, value)
        except BaseException as error:
            with self._lock:
                self._making.pop(key, None)
            told.set_exception(error)
            raise
        told.set_result(value)
        return value

    def _keep(self, key: Hashable, value: Any) -> None:
        size = size_of(value)
        with self._lock:
            self._making.pop(key, None)
            self._values[key] = value, size
            while len(self._values) > self._most or self._held() > self._most_bytes:
                self._values.popitem(last=False)

    def _held(self) -> int:
        return sum(size for _, size in self._values.values())


def size_of(value: Any) -> int:
    """The memory of a value with all in it, in bytes, roughly; what is in it twice counts twice.

    >>> size_of(b"1234"), size_of({"a": np.zeros(1000)}), size_of(["one", None])
    (68, 8193, 195)
    """
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


def kept_of(request: Request) -> Kept:
    """What the application that a request came to has kept."""
    return cast("Kept", request.app.state.kept)
