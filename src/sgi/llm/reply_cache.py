"""Pay for no answer twice: neither for one that is kept, nor for one that is on its way."""

from __future__ import annotations

import asyncio
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING

from sgi.kernel.errors import SgiError
from sgi.kernel.protocols import Usage
from sgi.llm.calls import completion_of, kept
from sgi.llm.group_commit import GroupCommit

if TYPE_CHECKING:
    from sgi.kernel.protocols import Cache
    from sgi.llm.calls import Call, Chat, Completion
    from sgi.llm.usage import Tally


class Cached:
    """A model around a model that asks each call once.

    The usage of an answer is stored before the answer, and the answer before anyone gets it: a killed process
    has counted every answer that the cache holds, and loses none that it used. Equal calls in flight are one:
    who comes later waits for the first, and takes over if that one is stopped. What cannot be read as an
    answer is asked anew and replaced.

    Args:
        chat: the model.
        cache: keeps the answers, by digests of the model's fingerprint and the call.
        tally: counts the calls that needn't be made.
    """

    def __init__(self, chat: Chat, cache: Cache, tally: Tally) -> None:
        self._chat = chat
        self._cache = cache
        self._tally = tally
        self._flights: dict[bytes, asyncio.Future[Completion | SgiError | None]] = {}
        self._unwritten: dict[bytes, bytes] = {}
        self._group = GroupCommit(self._write)

    @property
    def fingerprint(self) -> str:
        """That of the model within."""
        return self._chat.fingerprint

    async def complete(self, call: Call, /) -> Completion:
        """The kept reply, else the model's.

        Raises:
            JudgeError: there is no reply.
            StoreError: the cache could not be read or written.
        """
        key = call.key(self.fingerprint)
        while flight := self._flights.get(key):
            outcome = await asyncio.shield(flight)
            if isinstance(outcome, SgiError):
                raise copy(outcome)
            if outcome is not None:
                self._tally.add(Usage(cached=1))
                return outcome
        found = self._known(key)
        if found is None:
            return await self._fly(call, key)
        self._tally.add(Usage(cached=1))
        return found

    def _known(self, key: bytes) -> Completion | None:
        value = self._cache.get_many([key]).get(key)
        try:
            return None if value is None else replace(completion_of(value), cached=True)
        except ValueError:
            return None

    async def _fly(self, call: Call, key: bytes) -> Completion:
        """Ask, keep, and tell those who wait: the completion, the error, or None if this one was stopped."""
        flight = self._flights[key] = asyncio.get_running_loop().create_future()
        outcome: Completion | SgiError | None = None
        try:
            completion = await self._chat.complete(call)
            await self._keep(key, completion)
        except SgiError as error:
            outcome = error
            raise
        else:
            outcome = completion
            return completion
        finally:
            del self._flights[key]
            flight.set_result(outcome)

    async def _keep(self, key: bytes, completion: Completion) -> None:
        """Write the answer, together with those of the same turn of the event loop."""
        self._unwritten[key] = kept(completion)
        await self._group.commit()

    def _write(self) -> None:
        """Store the usage, then the replies: a process that is killed in between has counted what it paid."""
        items, self._unwritten = self._unwritten, {}
        self._tally.save()
        self._cache.put_many(items)
