"""What asking a judge would take, before anything is spent."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from sgi.judge.structured import first_call
from sgi.judge.tally import Tally
from sgi.kernel.judging import ReplyModel, estimated_tokens
from sgi.kernel.ports import Usage

if TYPE_CHECKING:
    from sgi.judge.prices import Price
    from sgi.kernel.judging import Inquiry

T = TypeVar("T", bound=ReplyModel)


class Sketching:
    """A judge that pays nothing: every inquiry gets a reply of usual length, taken from its prompt's example.

    Its usage is an estimate: what each distinct inquiry would take if no reply had to be repaired. Tokens are
    counted as one for every four bytes.

    Args:
        budget: the most tokens of passages one inquiry may hold.
        price: of the model's tokens; None where it isn't known.

    >>> Sketching().usage
    Usage(calls=0, cached=0, retries=0, input_tokens=0, output_tokens=0, cost=None)
    """

    fingerprint = "estimate"

    def __init__(self, *, budget: int = 16000, price: Price | None = None) -> None:
        self._budget = budget
        self._price = price
        self._known: set[bytes] = set()
        self._tally = Tally()
        if price is None:
            self._tally.add(Usage(cost=None))

    @property
    def budget(self) -> int:
        """How many tokens of passages one inquiry may hold."""
        return self._budget

    @property
    def usage(self) -> Usage:
        """What all inquiries so far would take; ``cached`` counts those that were asked before."""
        return self._tally.usage

    async def ask(self, inquiry: Inquiry, schema: type[T], /) -> T:
        """A reply of usual length, which says nothing about the texts."""
        (example,) = [e.reply for e in inquiry.prompt.examples if isinstance(e.reply, schema)][:1]
        reply = schema.typical(example, inquiry.items)
        if not isinstance(reply, schema):
            raise TypeError(f"{schema.__name__}.typical made a {type(reply).__name__}")
        self._count(inquiry, schema, reply)
        return reply

    def _count(self, inquiry: Inquiry, schema: type[ReplyModel], reply: ReplyModel) -> None:
        call = first_call(inquiry, schema)
        key = call.key(self.fingerprint)
        if key in self._known:
            return self._tally.add(Usage(cached=1))
        self._known.add(key)
        sent, written = call.tokens, estimated_tokens(reply.model_dump_json())
        cost = self._price.of(sent, written) if self._price else None
        return self._tally.add(Usage(calls=1, input_tokens=sent, output_tokens=written, cost=cost))
