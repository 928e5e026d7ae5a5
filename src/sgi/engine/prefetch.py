"""Prepare a few items concurrently and take them one by one in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

import anyio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from anyio.streams.memory import MemoryObjectSendStream

T = TypeVar("T")
P = TypeVar("P")


class _Slot(Generic[P]):
    """A queue entry; it is filled when its item is prepared."""

    def __init__(self) -> None:
        self.ready = anyio.Event()
        self.made: list[P] = []

    async def fill(self, prepared: Awaitable[P]) -> None:
        self.made.append(await prepared)
        self.ready.set()


async def prefetch(
    items: Iterable[T],
    prepare: Callable[[T], Awaitable[P]],
    take: Callable[[P], Awaitable[None]],
    *,
    depth: int,
) -> None:
    """Prepare items concurrently; take each one when it and all items before it are ready.

    The first exception cancels everything and is raised as it is.

    Args:
        items: the items, in order.
        prepare: prepares an item.
        take: receives the prepared items, one at a time.
        depth: the most items that are being prepared or wait to be taken; at least 2.

    >>> async def double(n): return 2 * n
    >>> taken = []
    >>> async def take(n): taken.append(n)
    >>> anyio.run(lambda: prefetch([1, 2, 3], double, take, depth=2))
    >>> taken
    [2, 4, 6]
    """
    send, receive = anyio.create_memory_object_stream[_Slot[P]](max(depth - 2, 0))
    try:
        async with receive, anyio.create_task_group() as group:
            group.start_soon(_prepare_all, items, prepare, send)
            async for slot in receive:
                await slot.ready.wait()
                await take(slot.made[0])
    except BaseExceptionGroup as errors:
        raise first_error(errors) from None


async def _prepare_all(
    items: Iterable[T],
    prepare: Callable[[T], Awaitable[P]],
    send: MemoryObjectSendStream[_Slot[P]],
) -> None:
    async with send, anyio.create_task_group() as group:
        for item in items:
            slot: _Slot[P] = _Slot()
            group.start_soon(slot.fill, prepare(item))
            await send.send(slot)


def first_error(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first error that is not a group; its traceback and notes are kept."""
    found = errors.exceptions[0]
    return first_error(found) if isinstance(found, BaseExceptionGroup) else found
