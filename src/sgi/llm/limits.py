"""Limits concurrent requests, and requests and tokens per minute."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from sgi.kernel.errors import JudgeRejectedError, JudgeUnavailableError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_PAUSE = 1.0
"""Seconds to wait after a service reports too many requests without a time to wait."""
MAX_PAUSE = 120.0
"""Seconds; a longer wait that a service requests is shortened."""

_Queue = deque[tuple[asyncio.Future[JudgeRejectedError | None], int]]
"""Waiting requests with their tokens; the future gets an error, or None for a slot."""


class Limiter:
    """Gives slots to requests: to retries first, then in the order of arrival.

    Requests and tokens per minute are spaced evenly. If the service reports too many requests, the number of
    slots (``allowed``) is halved and none is given before the requested wait is over; then every full round
    of successful requests adds one slot.

    Args:
        concurrency: the most slots.
        rpm: the most requests per minute; None for no limit.
        tpm: the most tokens per minute; None for no limit.
    """

    def __init__(self, *, concurrency: int, rpm: float | None = None, tpm: float | None = None) -> None:
        self.allowed = float(concurrency)
        self._concurrency = concurrency
        self._per_call = 60 / rpm if rpm else 0.0
        self._per_token = 60 / tpm if tpm else 0.0
        self._next_call = 0.0
        self._next_token = 0.0
        self._paused_until = 0.0
        self._slowed_at = float("-inf")
        self._running = 0
        self._waiting: _Queue = deque()
        self._retries: _Queue = deque()
        self._timer: asyncio.TimerHandle | None = None

    @asynccontextmanager
    async def slot(self, tokens: int, *, retry: bool = False) -> AsyncIterator[None]:
        """Wait for a slot and hold it; JudgeRejectedError if the service rejects all requests.

        ``tokens`` is an estimate for the request. A ``retry`` precedes new requests.
        """
        await self._wait_for_slot(tokens, self._retries if retry else self._waiting)
        began = asyncio.get_running_loop().time()
        try:
            yield
        except JudgeUnavailableError as error:
            if error.throttled:
                self._slow_down(began, error.retry_after)
            raise
        else:
            self.allowed = min(self._concurrency, self.allowed + 1 / self.allowed)
        finally:
            self._running -= 1
            self._admit()

    def count_output(self, tokens: int) -> None:
        """Count the tokens of a reply."""
        self._next_token += tokens * self._per_token

    def reject_waiting(self, error: JudgeRejectedError) -> None:
        """Raise the error in all waiting requests."""
        for queue in (self._retries, self._waiting):
            for future, _ in queue:
                if not future.done():
                    future.set_result(error)
            queue.clear()

    async def _wait_for_slot(self, tokens: int, queue: _Queue) -> None:
        future = asyncio.get_running_loop().create_future()
        queue.append((future, tokens))
        self._admit()
        try:
            error = await future
        except asyncio.CancelledError:
            if future.cancelled():
                with suppress(ValueError):
                    queue.remove((future, tokens))
            elif future.result() is None:  # it got a slot in the same moment
                self._running -= 1
                self._admit()
            raise
        if error is not None:
            raise JudgeRejectedError(error.message, hint=error.hint)

    def _admit(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        while (queue := self._retries or self._waiting) and self._running < int(self.allowed):
            start = max(self._paused_until, self._next_call, self._next_token)
            if start > now:
                if self._timer is not None:
                    self._timer.cancel()
                self._timer = loop.call_at(start, self._admit)
                return
            future, tokens = queue.popleft()
            if not future.done():
                self._running += 1
                self._next_call = now + self._per_call
                self._next_token = max(now, self._next_token) + tokens * self._per_token
                future.set_result(None)

    def _slow_down(self, began: float, retry_after: float | None) -> None:
        """Halve the slots, once for all requests that were in flight together."""
        now = asyncio.get_running_loop().time()
        wait = _PAUSE if retry_after is None else min(retry_after, MAX_PAUSE)
        self._paused_until = max(self._paused_until, now + wait)
        if began > self._slowed_at:
            self.allowed = max(1.0, self.allowed / 2)
            self._slowed_at = now
