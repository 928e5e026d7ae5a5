"""Retries calls after transient errors."""

from __future__ import annotations

import asyncio
from secrets import SystemRandom
from typing import TYPE_CHECKING

from tenacity import AsyncRetrying, retry_if_exception_type, wait_exponential

from sgi.kernel.errors import JudgeRejectedError, JudgeUnavailableError
from sgi.kernel.protocols import Usage
from sgi.llm.request_limiter import MAX_PAUSE

if TYPE_CHECKING:
    from tenacity import RetryCallState

    from sgi.llm.calls import Call, Chat, Completion
    from sgi.llm.request_limiter import Limiter
    from sgi.llm.usage import UsageCounter

_BACKOFF = wait_exponential(multiplier=0.5, max=30)
_PROBE_INTERVAL = 30.0
"""The interval in seconds at which one request is sent to a service that rejects all requests."""
_MAX_REJECTIONS = 3
"""The number of consecutive rejections from which on a service counts as rejecting all requests."""
_JITTER = SystemRandom()  # the shared generator may be seeded


class RetryingChat:
    """Chat model that repeats calls to another one if the service is unreachable or busy.

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
