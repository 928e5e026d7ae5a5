"""A resource that tasks share: opened at first use, once for each event loop."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Generic, TypeVar

import anyio
from anyio.lowlevel import current_token

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")


class Shared(Generic[T]):
    """Opens a resource once for each event loop, since its connections belong to the loop.

    Args:
        make: opens it, and registers on the stack what must be closed.

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
        """The open resource; raises what ``make`` raises."""
        async with self._opening:
            if not self._made or self._loop != current_token():
                async with AsyncExitStack() as stack:  # closed again if it cannot be opened whole
                    made = await self._make(stack)
                    self._loop, self._made, self._stack = current_token(), [made], stack.pop_all()
            return self._made[0]

    async def aclose(self) -> None:
        """Close it; closing twice is safe."""
        self._made = []
        await self._stack.aclose()
