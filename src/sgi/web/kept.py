"""What is dear to compute and wanted several times: the last few, by what they were made of."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from starlette.requests import Request

T = TypeVar("T")
_NOTHING = object()


class Kept:
    """The values of the last few keys; each is made by one thread, and nobody else waits for it.

    Args:
        most: how many are kept.

    >>> kept = Kept(1)
    >>> kept.get("a", lambda: 1), kept.get("a", lambda: 2), kept.get("b", lambda: 3), kept.get("a", lambda: 4)
    (1, 1, 3, 4)
    """

    def __init__(self, most: int = 4) -> None:
        self._most = most
        self._values: OrderedDict[Hashable, Any] = OrderedDict()
        self._making: dict[Hashable, Lock] = {}
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value of the key, made if it isn't there."""
        with self._lock:
            making = self._making.setdefault(key, Lock())
        with making:
            with self._lock:
                known = self._values.get(key, _NOTHING)
            value = make() if known is _NOTHING else known
            with self._lock:
                self._values[key] = value
                self._values.move_to_end(key)
                while len(self._values) > self._most:
                    gone, _ = self._values.popitem(last=False)
                    self._making.pop(gone, None)
            made: T = value
            return made


def kept_of(request: Request) -> Kept:
    """What the application that a request came to has kept."""
    return cast("Kept", request.app.state.kept)
