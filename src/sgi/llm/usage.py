"""Counts the requests, tokens and cost of a judge."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from sgi.kernel.errors import JudgeError
from sgi.kernel.protocols import Usage
from sgi.llm.group_commit import GroupCommit

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
