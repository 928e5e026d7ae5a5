"""Ask again where the fault may pass."""

from __future__ import annotations

import asyncio
from secrets import SystemRandom
from typing import TYPE_CHECKING

from sgi.kernel.errors import JudgeRejectedError, JudgeUnavailableError
from sgi.kernel.protocols import Usage
from sgi.llm.limits import LONGEST_PAUSE

if TYPE_CHECKING:
    from sgi.llm.calls import Call, Chat, Completion
    from sgi.llm.limits import Limiter
    from sgi.llm.usage import Tally

_FIRST_WAIT = 0.5
_LONGEST_WAIT = 30.0
_REMEMBERED = 30.0
"""Seconds after which a service that took no request is tried once more."""
_BELIEVED = 3
"""Rejections in a row after which a service that has answered before is believed."""
_JITTER = SystemRandom()  # not the shared generator, which someone may have seeded


class Retrying:
    """A model around a model that is asked again when it could not be reached or was too busy.

    Every try has a turn of the limiter, and a later try goes before calls that had none, which is why limits
    stand within this and not around a single try. The wait before it is what the service asks for, else any
    time up to 0.5, 1, 2, … s, at most 30. After a service has said that it takes no request of ours, none is
    sent: every later call fails at once, for the same reason. One call every 30 s is sent all the same, since
    keys and quotas are mended while others wait; once it is answered, all are. A service that has answered is
    believed only when it says so three times in a row: some turn down single requests that way. One that asks
    to wait longer than a call may take has said that it takes none now.

    Args:
        chat: the model.
        limiter: gives turns.
        tally: counts further tries, and requests without an answer.
        retries: further tries after the first.
        timeout: seconds for all tries of a call and the waits between them; waiting for a turn isn't counted.
    """

    def __init__(self, chat: Chat, limiter: Limiter, tally: Tally, *, retries: int, timeout: float) -> None:
        self._chat = chat
        self._limiter = limiter
        self._tally = tally
        self._retries = retries
        self._timeout = timeout
        self._rejected: JudgeRejectedError | None = None
        self._sent_again_at = 0.0
        self._answered = False
        self._rejections = 0

    @property
    def fingerprint(self) -> str:
        """That of the model within."""
        return self._chat.fingerprint

    async def complete(self, call: Call, /) -> Completion:
        """The model's reply.

        Raises:
            JudgeUnavailableError: every try failed, or time ran out; names the number of tries.
            JudgeError: there is none, and asking again would not help.
        """
        clock = asyncio.get_running_loop().time
        rejected = self._outlived(clock())
        left = self._timeout
        for tries in range(1, self._retries + 2):
            began = None
            self._check_taken(rejected)
            try:
                async with self._limiter.turn(call.tokens, again=tries > 1):
                    self._check_taken(rejected)  # it may have been said while this one waited
                    began = clock()
                    completion = await self._try(call, left)
            except JudgeUnavailableError as error:
                left -= 0.0 if began is None else clock() - began
                wait = _wait(error, tries)
                if tries > self._retries or wait >= left:
                    raise _given_up(error, tries) from None
            else:
                if self._rejected is rejected:
                    self._rejected = None
                return completion
            self._tally.add(Usage(retries=1))
            await asyncio.sleep(wait)
            left -= wait
        raise AssertionError("the last try has returned or raised")

    def _outlived(self, now: float) -> JudgeRejectedError | None:
        """Why the service took no request of ours, if it is time to try one again."""
        if self._rejected is None or now < self._sent_again_at:
            return None
        self._sent_again_at = now + _REMEMBERED
        return self._rejected

    def _check_taken(self, outlived: JudgeRejectedError | None) -> None:
        if self._rejected is not None and self._rejected is not outlived:
            raise JudgeRejectedError(self._rejected.message, hint=self._rejected.hint)

    async def _try(self, call: Call, seconds: float) -> Completion:
        try:
            async with self._tally.request(), asyncio.timeout(seconds):
                completion = await self._chat.complete(call)
        except TimeoutError:
            message = f"The judge gave no answer within {self._timeout:g} s."
            raise JudgeUnavailableError(
                message, hint="Raise the judge's timeout, or lower its concurrency."
            ) from None
        except JudgeRejectedError as error:
            self._rejections += 1
            if not self._answered or self._rejections >= _BELIEVED:
                self._send_away(error)
            raise
        except JudgeUnavailableError as error:
            if error.retry_after is None or error.retry_after <= self._timeout:
                raise
            times = f"{error.retry_after:.0f} s, and a call may take {self._timeout:g} s"
            message = f"{error.message} It asks to wait {times}."
            rejected = JudgeRejectedError(message, hint="Go on later, or raise the judge's timeout.")
            self._send_away(rejected)
            raise rejected from error
        self._answered, self._rejections = True, 0
        self._limiter.written(completion.output_tokens)
        return completion

    def _send_away(self, error: JudgeRejectedError) -> None:
        """No call is made for a while."""
        self._rejected = error
        self._limiter.send_away(error)
        self._sent_again_at = asyncio.get_running_loop().time() + _REMEMBERED


def _wait(error: JudgeUnavailableError, tries: int) -> float:
    """Seconds before the next try: as the service asks, else at random up to a bound that doubles."""
    if error.retry_after is not None:
        return min(error.retry_after, LONGEST_PAUSE)
    return _JITTER.uniform(0, min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** (tries - 1)))


def _given_up(error: JudgeUnavailableError, tries: int) -> JudgeUnavailableError:
    """The last fault, with how often it was tried."""
    again = f"{error.message.rstrip('.')} (after {tries} tries)." if tries > 1 else error.message
    return JudgeUnavailableError(
        again, retry_after=error.retry_after, throttled=error.throttled, hint=error.hint
    )
