"""What was asked of a model so far, counted by the wrappers around it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from sgi.kernel.errors import JudgeError
from sgi.kernel.protocols import Usage
from sgi.llm.group_commit import GroupCommit

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable


class Tally:
    """A sum of usages that several wrappers add to, stored durably if somebody stores it.

    Attributes:
        usage: the sum.
        earlier: what earlier attempts at the same run took; not part of the sum.

    >>> tally = Tally()
    >>> tally.add(Usage(calls=1, cost=0.5))
    >>> tally.add(Usage(cached=1))
    >>> tally.usage
    Usage(calls=1, cached=1, retries=0, input_tokens=0, output_tokens=0, cost=0.5, unanswered=0)
    """

    def __init__(self) -> None:
        self.usage = Usage()
        self.earlier = Usage()
        self._store: Callable[[], None] | None = None
        self._stored = self.usage
        self._group = GroupCommit(self.save)

    def add(self, usage: Usage) -> None:
        """Count this too."""
        self.usage += usage

    def store_with(self, store: Callable[[], None], earlier: Usage) -> None:
        """From now on, `save` calls ``store``; ``earlier`` is what earlier attempts took."""
        self._store, self.earlier = store, earlier

    def save(self) -> None:
        """Store the sum, if somebody stores it and it has changed."""
        if self._store is not None and self.usage != self._stored:
            usage = self.usage
            self._store()
            self._stored = usage

    @asynccontextmanager
    async def request(self) -> AsyncIterator[None]:
        """A request that is sent in the block: unanswered from before it is sent until an answer comes.

        The count is stored before the block begins, so that it outlives a killed process. A request that ends
        without an answer stays unanswered, since its provider may bill it.
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
