"""Count what was paid, and stop before more is paid than may be."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sgi.kernel.errors import BudgetExceededError, UsageError
from sgi.kernel.protocols import Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.llm.calls import Call, Chat, Completion
    from sgi.llm.prices import Price
    from sgi.llm.usage import Tally

_USUAL_SHARE = 8
"""A reply is taken to have this part of the most tokens it may have, until one has come."""
_BYTES_A_TOKEN = 4
"""Tokens are estimated as one for so many bytes, and none is shorter than a byte."""


class Metered:
    """A model around a model that counts calls, tokens and cost.

    Args:
        chat: the model.
        tally: what is added to.
        price: of its tokens; None where it isn't known: then the cost isn't, either.
        max_cost: US dollars; None for no limit.
        max_tokens: the most tokens of a reply.

    Raises:
        UsageError: there is a limit, and no price.
    """

    def __init__(
        self,
        chat: Chat,
        tally: Tally,
        *,
        price: Price | None = None,
        max_cost: float | None = None,
        max_tokens: int,
    ) -> None:
        if max_cost is not None and price is None:
            message = "max_cost is set, but what this judge costs is not known."
            raise UsageError(
                message, hint="Give input_price and output_price, in US dollars a million tokens."
            )
        self._chat = chat
        self._tally = tally
        self._price = price
        self._budget = _Budget(price, max_cost, max_tokens, tally) if price and max_cost is not None else None

    @property
    def fingerprint(self) -> str:
        """That of the model within."""
        return self._chat.fingerprint

    async def complete(self, call: Call, /) -> Completion:
        """The model's reply, counted.

        Raises:
            BudgetExceededError: the call could cost more than may be spent; then no other is in flight.
            JudgeError: there is no reply.
        """
        if self._budget is None:
            completion = await self._chat.complete(call)
        else:
            most = await self._budget.reserved(call)
            with self._budget.held(most):
                completion = await self._chat.complete(call)
                self._budget.pay(call, completion)
        sent, written = completion.input_tokens, completion.output_tokens
        cost = self._price.of(sent, written) if self._price else None
        self._tally.add(Usage(calls=1, input_tokens=sent, output_tokens=written, cost=cost))
        return completion


class _Budget:
    """Money for calls, which is set aside before a call is made.

    For each call that is in flight with others, the most it may cost is set aside, so that all of them
    together stay within the limit. One that doesn't fit beside them waits until they have ended; alone it
    is made if its likely cost fits, by what was sent and written so far. So the limit is passed by one call
    at most, and all that was sent is finished before anyone hears that the money is spent. The first call
    goes alone: nothing is known before it of how the service counts.
    """

    def __init__(self, price: Price, limit: float, max_tokens: int, tally: Tally) -> None:
        self._tally = tally
        self._price = price
        self._limit = limit
        self._max_tokens = max_tokens
        self._entrance = asyncio.Lock()  # lets in one after the other, in their order
        self._ended = asyncio.Event()
        self._in_flight = 0
        self._set_aside = 0.0
        self._answered = 0
        self._estimated = 0
        self._sent = 0
        self._written = 0
        self._longest = 0.0  # tokens sent, in those that were estimated
        self._tried = False
        self._spent = False

    async def reserved(self, call: Call) -> float:
        """The most the call may cost, set aside for it as soon as that can be done."""
        async with self._entrance:
            while self._in_flight and not self._fits(call):
                self._ended.clear()
                await self._ended.wait()
            if not self._in_flight:
                self._check_affordable(call)
            most = self._most(call)
            self._in_flight += 1
            self._set_aside += most
            return most

    @contextmanager
    def held(self, most: float) -> Iterator[None]:
        """The call is in flight."""
        try:
            yield
        finally:
            self._in_flight -= 1
            self._set_aside = self._set_aside - most if self._in_flight else 0.0
            self._tried = True
            self._ended.set()

    def pay(self, call: Call, completion: Completion) -> None:
        """Count what a call took."""
        self._answered += 1
        self._estimated += call.tokens
        self._sent += completion.input_tokens
        self._written += completion.output_tokens
        self._longest = max(self._longest, completion.input_tokens / max(1, call.tokens))

    @property
    def _paid(self) -> float:
        """US dollars so far, with those of earlier attempts and, at the mean cost, of unanswered requests."""
        earlier = self._tally.earlier
        paid = self._price.of(self._sent, self._written) + _cost(earlier, self._price)
        return paid + self._lost * paid / max(1, self._answered + earlier.calls)

    @property
    def _lost(self) -> int:
        """Requests that ended without an answer; for those in flight, money is set aside."""
        return max(0, self._tally.usage.unanswered - self._in_flight) + self._tally.earlier.unanswered

    def _fits(self, call: Call) -> bool:
        """Whether the call can be paid for beside those in flight, whatever they cost."""
        return self._tried and self._paid + self._set_aside + self._most(call) <= self._limit

    def _most(self, call: Call) -> float:
        return self._price.of(call.tokens * (self._longest or _BYTES_A_TOKEN), self._max_tokens)

    def _likely(self, call: Call) -> float:
        if not self._answered:
            return self._price.of(call.tokens, self._max_tokens / _USUAL_SHARE)
        sent = call.tokens * self._sent / max(1, self._estimated)
        return self._price.of(sent, self._written / self._answered)

    def _check_affordable(self, call: Call) -> None:
        self._spent = self._spent or self._paid + self._likely(call) > self._limit
        if self._spent:
            hint = "Resume with a greater max_cost; the replies so far are stored."
            raise BudgetExceededError(
                f"{self._spending()}, and one more call could pass ${self._limit:g}.", hint=hint
            )

    def _spending(self) -> str:
        """What was paid, and what of it is not this attempt's, or is an estimate."""
        earlier = _cost(self._tally.earlier, self._price)
        parts = [f"${earlier:.4f} of it in earlier attempts"] if earlier else []
        parts += [f"{self._lost:,} requests without an answer estimated"] if self._lost else []
        return f"The judge has cost ${self._paid:.4f}" + (f" ({'; '.join(parts)})" if parts else "")


def _cost(usage: Usage, price: Price) -> float:
    """What a usage cost in US dollars, by the price where it was not known then."""
    return price.of(usage.input_tokens, usage.output_tokens) if usage.cost is None else usage.cost
