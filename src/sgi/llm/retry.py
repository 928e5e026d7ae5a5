"""Limits concurrent requests, requests and tokens per minute, and retries calls after transient errors."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import asynccontextmanager, suppress
from secrets import SystemRandom
from typing import TYPE_CHECKING

from tenacity import AsyncRetrying, retry_if_exception_type, wait_exponential

from sgi.kernel.errors import JudgeRejectedError, JudgeUnavailableError
from sgi.kernel.protocols import Usage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tenacity import RetryCallState

    from sgi.llm.calls import Call, Chat, Completion, UsageCounter

_BACKOFF = wait_exponential(multiplier=0.5, max=30)
_PROBE_INTERVAL = 30.0
"""The interval in seconds at which one request is sent to a service that rejects all requests."""
_MAX_REJECTIONS = 3
"""The number of consecutive rejections from which on a service counts as rejecting all requests."""
_JITTER = SystemRandom()  # the shared generator may be seeded


class RetryingChat:
    """Chat model that repeats calls to another chat model if the service is unreachable or busy.

    Each attempt waits for a slot of the limiter; retries precede new calls. The wait before a retry is what
    the service requests; if it requests none, a random time up to 0.5, 1, 2, … s, at most 30 s.

    If the service rejects all requests (because of the key or the quota), further calls fail at once with the
    same error. One call every 30 s is still sent, since the user can correct keys and quotas. A service that
    has answered before must reject three calls in a row, since some services reject single requests with the
    same error. A requested wait longer than the timeout also means that the service rejects all requests.

    Args:
        chat: the wrapped chat model.
        limiter: limits concurrent requests with slots.
        counter: counts retries, and requests without an answer.
        retries: the number of further attempts after the first.
        timeout: seconds for all attempts of a call and the waits between them, without the wait for a slot.
    """

    def __init__(
        self, chat: Chat, limiter: Limiter, counter: UsageCounter, *, retries: int, timeout: float
    ) -> None:
        self.fingerprint = chat.fingerprint
        self._chat = chat
        self._limiter = limiter
        self._counter = counter
        self._retries = retries
        self._timeout = timeout
        self._rejected: JudgeRejectedError | None = None
        self._next_probe = 0.0
        self._answered = False
        self._rejections = 0

    async def complete(self, call: Call, /) -> Completion:
        """Return the model's reply.

        Raises:
            JudgeUnavailableError: every attempt failed, or the timeout has passed.
            JudgeError: the model returned no reply, and a retry would not help.
        """
        clock = asyncio.get_running_loop().time
        probed, deadline = None, clock() + self._timeout
        if self._rejected is not None and clock() >= self._next_probe:
            probed, self._next_probe = self._rejected, clock() + _PROBE_INTERVAL

        async def attempt() -> Completion:
            nonlocal deadline
            self._require_accepting(probed)
            came = clock()
            async with self._limiter.slot(call.tokens, retry=retrying.statistics["attempt_number"] > 1):
                self._require_accepting(probed)  # the state may change during the wait
                deadline += clock() - came
                return await self._try(call, deadline)

        retrying = AsyncRetrying(
            stop=lambda state: (
                state.attempt_number > self._retries or clock() + state.upcoming_sleep >= deadline
            ),
            wait=_wait,
            retry=retry_if_exception_type(JudgeUnavailableError),
            before_sleep=lambda _: self._counter.add(Usage(retries=1)),
            reraise=True,
        )
        try:
            completion: Completion = await retrying(attempt)
        except JudgeUnavailableError as error:
            if (tries := retrying.statistics["attempt_number"]) > 1:
                error.message = f"{error.message.rstrip('.')} (after {tries} tries)."
            raise
        if self._rejected is probed:
            self._rejected = None
        return completion

    def _require_accepting(self, probed: JudgeRejectedError | None) -> None:
        if self._rejected is not None and self._rejected is not probed:
            raise JudgeRejectedError(self._rejected.message, hint=self._rejected.hint)

    async def _try(self, call: Call, deadline: float) -> Completion:
        try:
            async with self._counter.request(), asyncio.timeout_at(deadline):
                completion = await self._chat.complete(call)
        except TimeoutError:
            message = f"The judge did not answer within {self._timeout:g} s."
            raise JudgeUnavailableError(
                message, hint="Raise the judge's timeout, or lower its concurrency."
            ) from None
        except JudgeRejectedError as error:
            self._rejections += 1
            if not self._answered or self._rejections >= _MAX_REJECTIONS:
                self._reject_all(error)
            raise
        except JudgeUnavailableError as error:
            if error.retry_after is None or error.retry_after <= self._timeout:
                raise
            times = f"{error.retry_after:.0f} s, longer than the timeout of {self._timeout:g} s"
            message = f"{error.message} It requests a wait of {times}."
            rejected = JudgeRejectedError(message, hint="Resume later, or raise the judge's timeout.")
            self._reject_all(rejected)
            raise rejected from error
        self._answered, self._rejections = True, 0
        self._limiter.count_output(completion.output_tokens)
        return completion

    def _reject_all(self, error: JudgeRejectedError) -> None:
        self._rejected = error
        self._limiter.reject_waiting(error)
        self._next_probe = asyncio.get_running_loop().time() + _PROBE_INTERVAL


def _wait(state: RetryCallState) -> float:
    """Return the wait before the next attempt in seconds: requested by the service, or a random time."""
    error = state.outcome.exception() if state.outcome else None
    requested = error.retry_after if isinstance(error, JudgeUnavailableError) else None
    return _JITTER.uniform(0, _BACKOFF(state)) if requested is None else min(requested, MAX_PAUSE)


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
