"""Groups the writes of all tasks in one iteration of the event loop."""

from __future__ import annotations

import asyncio
from copy import copy
from typing import TYPE_CHECKING

from sgi.kernel.errors import SgiError

if TYPE_CHECKING:
    from collections.abc import Callable


class GroupCommit:
    """Runs a blocking write once for all callers of one iteration of the event loop.

    Calls during a write share the next write, so groups are larger on a slow disk. ``write`` runs even if all
    callers are cancelled.

    >>> writes = []
    >>> async def ask():
    ...     group = GroupCommit(lambda: writes.append("written"))
    ...     await asyncio.gather(*[group.commit() for _ in range(3)])
    >>> asyncio.run(ask())
    >>> writes
    ['written']
    """

    def __init__(self, write: Callable[[], None]) -> None:
        self._write = write
        self._next: asyncio.Future[Exception | None] | None = None

    async def commit(self) -> None:
        """Wait for the end of a write that begins after this call; raise the error of the write."""
        loop = asyncio.get_running_loop()
        if self._next is None:
            self._next = loop.create_future()
            loop.call_soon(self._run)
        error = await asyncio.shield(self._next)
        if error is not None:
            raise copy(error) if isinstance(error, SgiError) else error

    def _run(self) -> None:
        done, self._next = self._next, None
        outcome: Exception | None = None
        try:
            self._write()
        except Exception as error:  # noqa: BLE001 - whatever it is, the callers raise it
            outcome = error
        if done is not None:
            done.set_result(outcome)
