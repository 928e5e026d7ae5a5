"""Limits concurrency, time, retries and rate of calls to a target, the RAG system under test."""

from __future__ import annotations

from secrets import SystemRandom
from typing import TYPE_CHECKING

from anyio import CapacityLimiter, current_time, fail_after
from anyio import sleep as anyio_sleep
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, wait_exponential

from sgi.kernel.errors import TargetError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tenacity import RetryCallState

    from sgi.kernel.protocols import Reply, Target

MAX_WAIT = 120.0
"""The maximum wait in seconds; a longer wait that a target requests is shortened."""
_BACKOFF = wait_exponential(multiplier=0.5, max=30)
_JITTER = SystemRandom()  # a target may seed the shared generator


class TransientError(TargetError):
    """Temporary error; ``retry_after`` is the wait in seconds that the target requests, or None."""

    def __init__(self, message: str, *, hint: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class LimitedTarget:
    """Target that calls another target within limits.

    A question occupies one of ``concurrency`` slots until it is answered or fails, also between attempts, so
    a busy target gets fewer calls. After a TransientError or a timeout, the question is sent again: after the
    wait that the target requests (at most 120 s), or if it requests none after 0.5, 1, 2, … s (at most 30).
    A random time of up to one half is added. The wait for ``rate`` does not count for the timeout.

    The latency of an answer is the time of the attempt that was answered, without waits. Concurrent questions
    share the machine, and a sync function starts a thread for each, so their latency includes what they
    wait for each other.

    Args:
        target: the target.
        concurrency: the maximum number of questions in flight.
        timeout: seconds for an attempt. A sync function that takes longer cannot be stopped and continues.
        retries: the number of further attempts after the first.
        rate: the maximum number of attempts per minute, evenly spaced; None means no limit.
        clock: returns the current time in seconds.
        sleep: waits for a number of seconds.
    """

    def __init__(
        self,
        target: Target,
        *,
        concurrency: int = 8,
        timeout: float = 60.0,
        retries: int = 2,
        rate: float | None = None,
        clock: Callable[[], float] = current_time,
        sleep: Callable[[float], Awaitable[None]] = anyio_sleep,
    ) -> None:
        self.fingerprint = target.fingerprint
        self._target = target
        self._slots = CapacityLimiter(concurrency)
        self._timeout = timeout
        self._retries = retries
        self._interval = 60 / rate if rate else 0.0
        self._next_start = 0.0
        self._clock = clock
        self._sleep = sleep

    async def answer(self, question: str, /) -> Reply:
        """Return the target's answer; raise TargetError if every attempt failed."""
        retrying = AsyncRetrying(
            stop=stop_after_attempt(self._retries + 1),
            wait=_wait,
            retry=retry_if_exception_type(TransientError),
            sleep=self._sleep,
            reraise=True,
        )
        async with self._slots:
            try:
                return await retrying(self._try, question)
            except TargetError as error:
                tries = retrying.statistics["attempt_number"]
                again = f"{error.message.rstrip('.')} (after {tries} tries)" if tries > 1 else error.message
                raise TargetError(again, hint=error.hint) from error

    async def _try(self, question: str) -> Reply:
        await self._wait_for_rate()
        try:
            with fail_after(self._timeout):
                began = self._clock()
                reply = await self._target.answer(question)
                elapsed = round((self._clock() - began) * 1000, 3)
                return reply._replace(costs=reply.costs._replace(latency_ms=elapsed))
        except TimeoutError:
            message = f"{self.fingerprint} did not answer within {self._timeout:g} s."
            raise TransientError(message, hint="Raise the timeout, or lower the concurrency.") from None

    async def _wait_for_rate(self) -> None:
        if not self._interval:
            return
        now = self._clock()
        start = max(now, self._next_start)
        self._next_start = start + self._interval
        if start > now:
            await self._sleep(start - now)


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    requested = error.retry_after if isinstance(error, TransientError) else None
    wait = min(requested, MAX_WAIT) if requested is not None else _BACKOFF(state)
    return wait + _JITTER.uniform(0, max(wait, 0.5) / 2)
