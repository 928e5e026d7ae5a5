"""Caches replies, and sends equal concurrent calls only once."""

from __future__ import annotations

import asyncio
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING

from sgi.kernel.errors import SgiError
from sgi.kernel.protocols import Usage
from sgi.llm.calls import GroupCommit, decode_completion, encode_completion

if TYPE_CHECKING:
    from sgi.kernel.protocols import Cache
    from sgi.llm.calls import Call, Chat, Completion, UsageCounter


class CachedChat:
    """Chat model that sends each distinct call to another chat model only once, and caches the replies.

    The usage of a reply is stored before the reply, and the reply before it is returned: if the process is
    killed, every cached reply is counted and every used reply is cached. If an equal call is in flight, a
    call waits for its reply, and is sent itself if the first is cancelled. Invalid cached values are
    requested again and replaced. Keys are digests of the model's fingerprint and the call.
    """

    def __init__(self, chat: Chat, cache: Cache, counter: UsageCounter) -> None:
        self.fingerprint = chat.fingerprint
        self._chat = chat
        self._cache = cache
        self._counter = counter
        self._flights: dict[bytes, asyncio.Future[Completion | SgiError | None]] = {}
        self._unwritten: dict[bytes, bytes] = {}
        self._group = GroupCommit(self._write)

    async def complete(self, call: Call, /) -> Completion:
        """Return the cached reply, or request one from the model.

        Raises a JudgeError if the model returns no reply, a StoreError if the cache fails.
        """
        key = call.key(self.fingerprint)
        while flight := self._flights.get(key):
            outcome = await asyncio.shield(flight)
            if isinstance(outcome, SgiError):
                raise copy(outcome)
            if outcome is not None:
                self._counter.add(Usage(cached=1))
                return outcome
        cached = self._lookup(key)
        if cached is None:
            return await self._request(call, key)
        self._counter.add(Usage(cached=1))
        return cached

    def _lookup(self, key: bytes) -> Completion | None:
        value = self._cache.get_many([key]).get(key)
        try:
            return None if value is None else replace(decode_completion(value), cached=True)
        except ValueError:
            return None

    async def _request(self, call: Call, key: bytes) -> Completion:
        """Request and store a reply; pass the reply, the error, or None (cancelled) to waiting calls."""
        flight = self._flights[key] = asyncio.get_running_loop().create_future()
        outcome: Completion | SgiError | None = None
        try:
            completion = await self._chat.complete(call)
            self._unwritten[key] = encode_completion(completion)
            await self._group.commit()
        except SgiError as error:
            outcome = error
            raise
        else:
            outcome = completion
            return completion
        finally:
            del self._flights[key]
            flight.set_result(outcome)

    def _write(self) -> None:
        """Store the usage, then the replies, so that every stored reply is counted."""
        items, self._unwritten = self._unwritten, {}
        self._counter.save()
        self._cache.put_many(items)
