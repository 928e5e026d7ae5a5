"""How hard a service is asked: at once, and a minute."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from sgi.kernel.errors import JudgeRejectedError, JudgeUnavailableError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_PAUSE = 1.0
"""Seconds to wait after a service says it is asked too fast, but not how long to wait."""
LONGEST_PAUSE = 120.0
"""Seconds: whatever a service asks for."""

_Queue = deque[tuple[asyncio.Future[JudgeRejectedError | None], int]]
"""Who waits, with the tokens of the request; told the reason if there will be no turn."""


class Limiter:
    """Gives turns, to those first that had one before, else in the order they were asked for.

    Requests and tokens a minute are spaced evenly. When the service says it is asked too fast, as many may be
    in flight as half of before, and none begins before the time it asks for has passed; each turn that ends
    well then adds its part, so that a full round of them adds one.

    Args:
        concurrency: the most turns at once.
        rpm: the most turns a minute; None for no limit.
        tpm: the most tokens a minute; None for no limit.

    Attributes:
        allowed: how many turns there may be at once by now.
    """

    def __init__(self, *, concurrency: int, rpm: float | None = None, tpm: float | None = None) -> None:
        self.allowed = float(concurrency)
        self._most = concurrency
        self._per_call = 60 / rpm if rpm else 0.0
        self._per_token = 60 / tpm if tpm else 0.0
        self._next_call = 0.0
        self._next_token = 0.0
        self._paused_until = 0.0
        self._slowed_at = float("-inf")
        self._running = 0
        self._waiting: _Queue = deque()
        self._returning: _Queue = deque()
        self._timer: asyncio.TimerHandle | None = None

    @asynccontextmanager
    async def turn(self, tokens: int, *, again: bool = False) -> AsyncIterator[None]:
        """Wait for a turn and hold it.

        Args:
            tokens: about how many the request has.
            again: whether it had a turn before: then it goes before those that had none.

        Raises:
            JudgeRejectedError: all who waited were sent away.
        """
        await self._admitted(tokens, self._returning if again else self._waiting)
        began = asyncio.get_running_loop().time()
        try:
            yield
        except JudgeUnavailableError as error:
            if error.throttled:
                self._slow_down(began, error.retry_after)
            raise
        else:
            self.allowed = min(self._most, self.allowed + 1 / self.allowed)
        finally:
            self._running -= 1
            self._admit()

    def written(self, tokens: int) -> None:
        """Count the tokens of a reply, which nobody knew before."""
        self._next_token += tokens * self._per_token

    def send_away(self, error: JudgeRejectedError) -> None:
        """Tell all who wait that no request is taken, and why."""
        for queue in (self._returning, self._waiting):
            for future, _ in queue:
                if not future.done():
                    future.set_result(error)
            queue.clear()

    async def _admitted(self, tokens: int, queue: _Queue) -> None:
        future = asyncio.get_running_loop().create_future()
        queue.append((future, tokens))
        self._admit()
        try:
            error = await future
        except asyncio.CancelledError:
            if future.cancelled():
                with suppress(ValueError):
                    queue.remove((future, tokens))
            elif future.result() is None:  # it was given a turn in the same moment
                self._running -= 1
                self._admit()
            raise
        if error is not None:
            raise JudgeRejectedError(error.message, hint=error.hint)

    def _admit(self) -> None:
        """Give all the turns there are to give now, and come back for the next one."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        while (queue := self._returning or self._waiting) and self._running < int(self.allowed):
            start = max(self._paused_until, self._next_call, self._next_token)
            if start > now:
                self._wake_at(loop, start)
                return
            future, tokens = queue.popleft()
            if not future.done():
                self._running += 1
                self._next_call = now + self._per_call
                self._next_token = max(now, self._next_token) + tokens * self._per_token
                future.set_result(None)

    def _wake_at(self, loop: asyncio.AbstractEventLoop, time: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_at(time, self._admit)

    def _slow_down(self, began: float, retry_after: float | None) -> None:
        """Halve what is in flight, once for all that were in flight together."""
        now = asyncio.get_running_loop().time()
        wait = _PAUSE if retry_after is None else min(retry_after, LONGEST_PAUSE)
        self._paused_until = max(self._paused_until, now + wait)
        if began > self._slowed_at:
            self.allowed = max(1.0, self.allowed / 2)
            self._slowed_at = now
