"""Count what was paid, and stop before more is paid than may be."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from sgi.kernel.errors import BudgetSpent, UsageError
from sgi.kernel.ports import Usage

if TYPE_CHECKING:
    from sgi.judge.calls import Call, Chat, Completion
    from sgi.judge.prices import Price
    from sgi.judge.tally import Tally


class Metered:
    """A model around a model that counts calls, tokens and cost.

    With ``max_cost``, a call is made only if what was paid, and the mean cost for each call in flight and for
    this one, stay within it. Before anything is known of the mean, calls go one by one, the first of them if
    what it sends can be paid for.

    Args:
        chat: the model.
        tally: what is added to.
        price: of its tokens; None where it isn't known: then the cost isn't, either.
        max_cost: US dollars; None for no limit.

    Raises:
        UsageError: there is a limit, and no price.
    """

    def __init__(
        self, chat: Chat, tally: Tally, *, price: Price | None = None, max_cost: float | None = None
    ) -> None:
        if max_cost is not None and price is None:
            message = "max_cost is set, but what this judge costs is not known."
            raise UsageError(
                message, hint="Give input_price and output_price, in US dollars a million tokens."
            )
        self._chat = chat
        self._tally = tally
        self._price = price
        self._max_cost = max_cost
        self._paid = 0.0
        self._answered = 0
        self._in_flight = 0
        self._first = asyncio.Lock()

    @property
    def fingerprint(self) -> str:
        """That of the model within."""
        return self._chat.fingerprint

    async def complete(self, call: Call, /) -> Completion:
        """The model's reply, counted.

        Raises:
            BudgetSpent: the call could cost more than may be spent.
            JudgeError: there is no reply.
        """
        if self._max_cost is not None and not self._answered:
            async with self._first:
                if self._nothing_known():
                    return await self._pay(call)
        return await self._pay(call)

    def _nothing_known(self) -> bool:
        """Whether no call was answered yet, also while this one waited."""
        return not self._answered

    async def _pay(self, call: Call) -> Completion:
        self._check_affordable(call)
        self._in_flight += 1
        try:
            completion = await self._chat.complete(call)
        finally:
            self._in_flight -= 1
        sent, written = completion.input_tokens, completion.output_tokens
        cost = self._price.of(sent, written) if self._price else None
        self._paid += cost or 0.0
        self._answered += 1
        self._tally.add(Usage(calls=1, input_tokens=sent, output_tokens=written, cost=cost))
        return completion

    def _check_affordable(self, call: Call) -> None:
        if self._max_cost is None or self._price is None:
            return
        mean = self._paid / self._answered if self._answered else self._price.of(call.tokens, 0)
        if self._paid + (self._in_flight + 1) * mean > self._max_cost:
            message = (
                f"The judge has cost ${self._paid:.4f}, and one more call could pass ${self._max_cost:g}."
            )
            raise BudgetSpent(message, hint="Go on with a greater max_cost; what was answered is kept.")
