"""What asking a judge would take, before anything is spent."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, Self, TypeVar

from sgi.kernel.errors import UsageError
from sgi.kernel.prompts import ReplyModel, estimated_tokens
from sgi.kernel.protocols import Usage
from sgi.llm.judge import ChatJudge
from sgi.llm.prices import price_of
from sgi.llm.reply_cache import CachedChat
from sgi.llm.service import fingerprint_of
from sgi.llm.usage import UsageCounter

if TYPE_CHECKING:
    from sgi.kernel.prompts import Inquiry
    from sgi.kernel.protocols import Cache
    from sgi.llm.calls import Call, Chat
    from sgi.llm.prices import Price
    from sgi.llm.spec import JudgeSpec

T = TypeVar("T", bound=ReplyModel)


class EstimatingJudge:
    """A judge that pays nothing: what no cache knows gets a reply of usual length, from its prompt's example.

    Its usage is an estimate: what each distinct inquiry would take if no reply had to be repaired. Tokens are
    counted as one for every four bytes. What the cache knows is read from it, and counts as ``cached``; so do
    the inquiries that follow from such a reply, if they are known as well.

    Args:
        budget: the most tokens of passages one inquiry may hold.
        price: of the model's tokens; None where it isn't known.
        cache: what was answered before; None where nothing is to be taken from it.
        known_of: the fingerprint of the model whose answers the cache holds.
        again: ask anew where all that is kept of an inquiry is that its replies were unfit.

    >>> EstimatingJudge().usage
    Usage(calls=0, cached=0, retries=0, input_tokens=0, output_tokens=0, cost=None, unanswered=0)
    """

    fingerprint = "estimate"

    def __init__(
        self,
        *,
        budget: int = 16000,
        price: Price | None = None,
        cache: Cache | None = None,
        known_of: str = fingerprint,
        again: bool = False,
    ) -> None:
        self._price = price
        self._counter = UsageCounter()
        self._sketched: set[bytes] = set()
        nobody: Chat = _Nobody(known_of)
        chat = nobody if cache is None else CachedChat(nobody, cache, self._counter)
        self._judge = ChatJudge(chat, budget=budget, again=again, counter=self._counter)
        if price is None:
            self._counter.add(Usage(cost=None))

    @classmethod
    def of(cls, spec: JudgeSpec, cache: Cache | None = None, *, again: bool = False) -> Self:
        """An estimate for the judge a spec names; it needs no key.

        Args:
            spec: the judge.
            cache: where its answers are kept; not used where nothing says yet where the judge is.
            again: as for `open_judge`.
        """
        try:
            known_of = fingerprint_of(spec)
        except UsageError:
            return cls(budget=spec.budget, price=price_of(spec))
        return cls(budget=spec.budget, price=price_of(spec), cache=cache, known_of=known_of, again=again)

    @property
    def budget(self) -> int:
        """How many tokens of passages one inquiry may hold."""
        return self._judge.budget

    @property
    def usage(self) -> Usage:
        """What all inquiries so far would take; ``cached`` counts requests known or asked before."""
        return self._counter.usage

    async def ask(self, inquiry: Inquiry, schema: type[T], /) -> T:
        """The reply that is known, else one of usual length, which says nothing about the texts.

        Raises:
            JudgeError: all that is known is that there is no usable reply.
            StoreError: the cache could not be read.
        """
        try:
            return await self._judge.ask(inquiry, schema)
        except _UnknownCallError as unknown:
            reply = _typical(inquiry, schema)
            self._count(unknown.call, reply)
            return _told_apart(reply, unknown.call.key(self.fingerprint))

    def _count(self, call: Call, reply: ReplyModel) -> None:
        key = call.key(self.fingerprint)
        if key in self._sketched:
            return self._counter.add(Usage(cached=1))
        self._sketched.add(key)
        sent, written = call.tokens, estimated_tokens(reply.model_dump_json())
        cost = self._price.of(sent, written) if self._price else None
        return self._counter.add(Usage(calls=1, input_tokens=sent, output_tokens=written, cost=cost))


def _typical(inquiry: Inquiry, schema: type[T]) -> T:
    (example,) = [e.reply for e in inquiry.prompt.examples if isinstance(e.reply, schema)][:1]
    reply = schema.typical(example, inquiry.items)
    if not isinstance(reply, schema):
        raise TypeError(f"{schema.__name__}.typical made a {type(reply).__name__}")
    return reply


def _told_apart(reply: T, key: bytes) -> T:
    """The reply with its lists of texts made its call's own, so that what follows from it is no other's."""
    lists = {
        name: tuple(f"{text} {key.hex()[:6]}" for text in value)
        for name, value in reply
        if isinstance(value, tuple) and all(isinstance(text, str) for text in value)
    }
    return reply.model_copy(update=lists)


class _UnknownCallError(Exception):
    """A call that nobody has answered yet."""

    def __init__(self, call: Call) -> None:
        super().__init__("nobody has answered this call yet")
        self.call = call


class _Nobody:
    """A model that answers nothing.

    Args:
        fingerprint: that of the model it stands for.
    """

    def __init__(self, fingerprint: str) -> None:
        self.fingerprint = fingerprint

    async def complete(self, call: Call, /) -> NoReturn:
        """Say that the call would have to be made."""
        raise _UnknownCallError(call)
