"""Counts the cost of calls, and stops before it exceeds a limit."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sgi.kernel.errors import BudgetExceededError, UsageError
from sgi.kernel.protocols import Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.llm.calls import Call, Chat, Completion, Price, UsageCounter

_EXPECTED_SHARE = 8
"""Before the first reply, the expected number of tokens of a reply is 1/8 of the maximum."""
_MAX_TOKENS_PER_ESTIMATE = 4
"""The maximum number of real tokens for each estimated token: the estimate is 4 bytes, the minimum 1 byte."""


class BudgetedChat:
    """Chat model that counts the calls, tokens and cost of another chat model, and enforces a cost limit.

    Args:
        chat: the wrapped chat model.
        counter: the usage counter.
        price: the price of the model's tokens; None if unknown, which makes the cost unknown.
        max_cost: the cost limit in US dollars; None means no limit. A limit without a price raises a
            UsageError.
        max_tokens: the maximum number of tokens of a reply.
    """

    def __init__(
        self,
        chat: Chat,
        counter: UsageCounter,
        *,
        price: Price | None = None,
        max_cost: float | None = None,
        max_tokens: int,
    ) -> None:
        if max_cost is not None and price is None:
            hint = (
                "Give input_price and output_price, in US dollars per million tokens (on the command line: "
                "--judge-set input_price=0.15 --judge-set output_price=0.6; 0 for a model of your own)."
            )
            raise UsageError("max_cost requires a price, and the price of this judge is unknown.", hint=hint)
        self.fingerprint = chat.fingerprint
        self._chat = chat
        self._counter = counter
        self._price = price
        self._budget = (
            _Budget(price, max_cost, max_tokens, counter) if price and max_cost is not None else None
        )

    async def complete(self, call: Call, /) -> Completion:
        """Return the model's reply, and count it.

        Raises:
            BudgetExceededError: the call could exceed the limit, and no other call is in flight.
            JudgeError: the model returned no reply.
        """
        if self._budget is None:
            completion = await self._chat.complete(call)
        else:
            reserved = await self._budget.reserve(call)
            with self._budget.in_flight(reserved):
                completion = await self._chat.complete(call)
                self._budget.pay(call, completion)
        sizes = {"input_tokens": completion.input_tokens, "output_tokens": completion.output_tokens}
        cost = self._price.of(**sizes) if self._price else None
        self._counter.add(Usage(calls=1, **sizes, cost=cost))
        return completion


class _Budget:
    """Reserves the maximum cost of each call before it is sent, so calls in flight stay within the limit.

    If the maximum cost of a call exceeds what is left, the call waits until no other call is in flight; then
    it is sent if its expected cost fits. So at most one call exceeds the limit, and all calls in flight
    finish before the error. The first call runs alone, since the service's token counts are unknown before.
    """

    def __init__(self, price: Price, limit: float, max_tokens: int, counter: UsageCounter) -> None:
        self._counter = counter
        self._price = price
        self._limit = limit
        self._max_tokens = max_tokens
        self._order = asyncio.Lock()  # callers reserve one after the other
        self._ended = asyncio.Event()
        self._calls_in_flight = 0
        self._reserved = 0.0
        self._answered = 0
        self._estimated = 0
        self._input_tokens = 0
        self._output_tokens = 0
        self._max_ratio = 0.0  # of input tokens to estimated tokens
        self._any_ended = False
        self._exhausted = False

    async def reserve(self, call: Call) -> float:
        async with self._order:
            while self._calls_in_flight and not self._fits(call):
                self._ended.clear()
                await self._ended.wait()
            if not self._calls_in_flight:
                self._check_affordable(call)
            cost = self._max_cost(call)
            self._calls_in_flight += 1
            self._reserved += cost
            return cost

    @contextmanager
    def in_flight(self, reserved: float) -> Iterator[None]:
        try:
            yield
        finally:
            self._calls_in_flight -= 1
            self._reserved = self._reserved - reserved if self._calls_in_flight else 0.0
            self._any_ended = True
            self._ended.set()

    def pay(self, call: Call, completion: Completion) -> None:
        self._answered += 1
        self._estimated += call.tokens
        self._input_tokens += completion.input_tokens
        self._output_tokens += completion.output_tokens
        self._max_ratio = max(self._max_ratio, completion.input_tokens / max(1, call.tokens))

    @property
    def _total_cost(self) -> float:
        """The cost so far in US dollars, with earlier attempts, and unanswered requests at the mean cost."""
        earlier = self._counter.earlier
        cost = self._price.of(self._input_tokens, self._output_tokens) + _cost(earlier, self._price)
        return cost + self._unanswered_count * cost / max(1, self._answered + earlier.calls)

    @property
    def _unanswered_count(self) -> int:
        """The number of requests that ended without an answer."""
        return (
            max(0, self._counter.usage.unanswered - self._calls_in_flight) + self._counter.earlier.unanswered
        )

    def _fits(self, call: Call) -> bool:
        return self._any_ended and self._total_cost + self._reserved + self._max_cost(call) <= self._limit

    def _max_cost(self, call: Call) -> float:
        return self._price.of(call.tokens * (self._max_ratio or _MAX_TOKENS_PER_ESTIMATE), self._max_tokens)

    def _expected_cost(self, call: Call) -> float:
        if not self._answered:
            return self._price.of(call.tokens, self._max_tokens / _EXPECTED_SHARE)
        input_tokens = call.tokens * self._input_tokens / max(1, self._estimated)
        return self._price.of(input_tokens, self._output_tokens / self._answered)

    def _check_affordable(self, call: Call) -> None:
        self._exhausted = self._exhausted or self._total_cost + self._expected_cost(call) > self._limit
        if self._exhausted:
            hint = "Resume with a higher max_cost; the replies so far are stored."
            raise BudgetExceededError(
                f"{self._describe_cost()}, and one more call could exceed the limit ${self._limit:g}.",
                hint=hint,
            )

    def _describe_cost(self) -> str:
        """Describe the cost so far, with the parts that are from earlier attempts or estimated."""
        earlier = _cost(self._counter.earlier, self._price)
        parts = [f"${earlier:.4f} of it in earlier attempts"] if earlier else []
        if self._unanswered_count:
            parts.append(f"{self._unanswered_count:,} requests without an answer estimated")
        return f"The judge has cost ${self._total_cost:.4f}" + (f" ({'; '.join(parts)})" if parts else "")


def _cost(usage: Usage, price: Price) -> float:
    """Return the cost of a usage in US dollars, computed from the price if the usage has no cost."""
    return price.of(usage.input_tokens, usage.output_tokens) if usage.cost is None else usage.cost
