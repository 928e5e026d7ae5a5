"""How hard a target is asked: at once, how long, how often again, how many a minute."""

from __future__ import annotations

from secrets import SystemRandom
from typing import TYPE_CHECKING

from anyio import Semaphore, current_time, fail_after
from anyio import sleep as anyio_sleep
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, wait_exponential

from sgi.kernel.errors import TargetError
from sgi.target.errors import TransientError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tenacity import RetryCallState

    from sgi.kernel.protocols import Reply, Target

LONGEST_WAIT = 120.0
"""Seconds: a target that asks for more is asked again after this time."""
_BACKOFF = wait_exponential(multiplier=0.5, max=30)
_JITTER = SystemRandom()  # not the shared generator, which a target may have seeded


class LimitedTarget:
    """A target around a target, which bounds how it is asked.

    A question holds its place among those asked at once until it is answered or given up, also while it waits
    to be asked again, so that a busy target is asked less. It is asked again after a TransientError or when a
    try takes too long: after the time the target asks for (at most 120 s), else after 0.5, 1, 2, … s (at most
    30), and up to a half more. With a rate, every try waits for its turn; that does not count as its time.

    Args:
        target: what is asked.
        concurrency: how many questions at once.
        timeout: seconds a try may take. A sync function that takes longer cannot be stopped and is left to
            itself.
        retries: further tries after the first.
        rate: the most tries a minute, evenly spaced; None for no limit.
        clock: seconds from any beginning; the event loop's if None.
        sleep: waits for so many seconds.

    >>> from types import SimpleNamespace
    >>> LimitedTarget(SimpleNamespace(fingerprint="python:rag:answer"), concurrency=2).fingerprint
    'python:rag:answer'
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
        self._target = target
        self._places = Semaphore(concurrency)
        self._timeout = timeout
        self._retries = retries
        self._interval = 60 / rate if rate else 0.0
        self._turn = 0.0
        self._clock = clock
        self._sleep = sleep

    @property
    def fingerprint(self) -> str:
        """The target's own: limits change no answer."""
        return self._target.fingerprint

    async def answer(self, question: str, /) -> Reply:
        """The target's answer.

        Raises:
            TargetError: there is none; says after how many tries, if there were several.
        """
        retrying = AsyncRetrying(
            stop=stop_after_attempt(self._retries + 1),
            wait=_wait,
            retry=retry_if_exception_type(TransientError),
            sleep=self._sleep,
            reraise=True,
        )
        async with self._places:
            try:
                return await retrying(self._try, question)
            except TargetError as error:
                tries = retrying.statistics["attempt_number"]
                again = f"{error.message.rstrip('.')} (after {tries} tries)" if tries > 1 else error.message
                raise TargetError(again, hint=error.hint) from error

    async def _try(self, question: str) -> Reply:
        await self._wait_for_turn()
        try:
            with fail_after(self._timeout):
                return await self._target.answer(question)
        except TimeoutError:
            message = f"{self.fingerprint} gave no answer within {self._timeout:g} s."
            raise TransientError(message, hint="Raise the timeout, or ask fewer questions at once.") from None

    async def _wait_for_turn(self) -> None:
        if not self._interval:
            return
        now = self._clock()
        turn = max(now, self._turn)
        self._turn = turn + self._interval
        if turn > now:
            await self._sleep(turn - now)


def _wait(state: RetryCallState) -> float:
    """Seconds until the next try."""
    error = state.outcome.exception() if state.outcome else None
    asked = error.retry_after if isinstance(error, TransientError) else None
    wait = min(asked, LONGEST_WAIT) if asked is not None else _BACKOFF(state)
    return wait + _JITTER.uniform(0, max(wait, 0.5) / 2)
