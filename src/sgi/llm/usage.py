"""Counts the requests, tokens and cost of a judge."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from copy import copy
from typing import TYPE_CHECKING

from sgi.kernel.errors import JudgeError, SgiError
from sgi.kernel.protocols import Usage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable


class UsageCounter:
    """Counter of a judge's usage, to which the wrappers around its chat model add.

    Attributes:
        usage: the total since the run was started or resumed.
        earlier: the usage before the run was resumed; the total does not include it.
    """

    def __init__(self) -> None:
        self.usage = Usage()
        self.earlier = Usage()
        self._store: Callable[[], None] | None = None
        self._stored = self.usage
        self._group = GroupCommit(self.save)

    def add(self, usage: Usage) -> None:
        """Add a usage to the total."""
        self.usage += usage

    def store_with(self, store: Callable[[], None], earlier: Usage) -> None:
        """Set the function that `save` calls, and the usage before the run was resumed."""
        self._store, self.earlier = store, earlier

    def save(self) -> None:
        """Store the total if it has changed."""
        if self._store is not None and self.usage != self._stored:
            usage = self.usage
            self._store()
            self._stored = usage

    @asynccontextmanager
    async def request(self) -> AsyncIterator[None]:
        """Context manager that counts the request sent in its block as unanswered until an answer arrives.

        The count is stored before the block begins, so it survives a killed process. A request without an
        answer stays counted, since the provider may bill it.
        """
        self.add(Usage(unanswered=1))
        try:
            if self._store is not None:
                await self._group.commit()
        except BaseException:
            self.add(Usage(unanswered=-1))  # nothing was sent
            raise
        try:
            yield
        except JudgeError as error:
            if error.answered:
                self.add(Usage(unanswered=-1))
            raise
        self.add(Usage(unanswered=-1))


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
