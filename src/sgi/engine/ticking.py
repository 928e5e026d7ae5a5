"""Await work, and report on it at intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import anyio

from sgi.engine.ahead import first_error

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")

_SECONDS = 0.2


async def ticking(work: Callable[[], Awaitable[T]], tick: Callable[[], None]) -> T:
    """The result of the work; ``tick`` is called several times a second in the same event loop meanwhile.

    The first exception, of the work or of ``tick``, ends both and is raised as it is.

    >>> async def work(): return 3
    >>> anyio.run(ticking, work, lambda: None)
    3
    """
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_tick, tick)
            result = await work()
            group.cancel_scope.cancel()
    except BaseExceptionGroup as errors:
        raise first_error(errors) from None
    return result


async def _tick(tick: Callable[[], None]) -> None:
    while True:
        await anyio.sleep(_SECONDS)
        tick()
