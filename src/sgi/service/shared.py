"""Something that many tasks use: opened at its first use, once for an event loop, closed at the end."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Generic, TypeVar

import anyio
from anyio.lowlevel import current_token

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")


class Shared(Generic[T]):
    """Opens a thing once for an event loop, to which its connections belong.

    Args:
        make: opens it; what has to be closed afterwards is entered into the stack.

    >>> async def make(stack):
    ...     print("opened")
    ...     return "thing"
    >>> async def use():
    ...     shared = Shared(make)
    ...     return await shared.opened(), await shared.opened()
    >>> anyio.run(use)
    opened
    ('thing', 'thing')
    """

    def __init__(self, make: Callable[[AsyncExitStack], Awaitable[T]]) -> None:
        self._make = make
        self._opening = anyio.Lock()
        self._loop: object = None
        self._stack = AsyncExitStack()
        self._made: list[T] = []

    async def opened(self) -> T:
        """The thing, open; raises what opening it raises."""
        async with self._opening:
            if not self._made or self._loop != current_token():
                async with AsyncExitStack() as stack:  # closed again if it cannot be opened whole
                    made = await self._make(stack)
                    self._loop, self._made, self._stack = current_token(), [made], stack.pop_all()
            return self._made[0]

    async def aclose(self) -> None:
        """Close it; closing twice does no harm."""
        self._made = []
        await self._stack.aclose()
