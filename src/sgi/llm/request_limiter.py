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
"""The wait in seconds after a service reports too many requests and requests no wait itself."""
MAX_PAUSE = 120.0
"""The maximum wait in seconds; a longer wait that a service requests is shortened."""

_Queue = deque[tuple[asyncio.Future[JudgeRejectedError | None], int]]
"""Waiting requests with their tokens; a future gets None if its request may be sent, or an error."""


class Limiter:
    """Limits concurrent requests with slots: each request needs one, retries first, then in order of arrival.

    Requests and tokens per minute are spaced evenly. If the service reports too many requests, the number of
    slots (``allowed``) is halved, and no request is sent before the requested wait is over; then each time
    that as many requests succeed as there are slots, one slot is added.

    Args:
        concurrency: the maximum number of slots.
        rpm: the maximum number of requests per minute; None means no limit.
        tpm: the maximum number of tokens per minute; None means no limit.
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
        """Context manager that waits for a slot and holds it in its block.

        ``tokens`` is the estimated number of tokens of the request. A ``retry`` precedes new requests. Raises
        a JudgeRejectedError if the service rejects all requests meanwhile.
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
        """Add the tokens of a reply to the tokens per minute."""
        self._next_token += tokens * self._per_token

    def reject_waiting(self, error: JudgeRejectedError) -> None:
        """Make all waiting requests raise this error."""
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
        """Halve the number of slots, only once for all requests that were in flight at the same time."""
        now = asyncio.get_running_loop().time()
        wait = _PAUSE if retry_after is None else min(retry_after, MAX_PAUSE)
        self._paused_until = max(self._paused_until, now + wait)
        if began > self._slowed_at:
            self.allowed = max(1.0, self.allowed / 2)
            self._slowed_at = now
