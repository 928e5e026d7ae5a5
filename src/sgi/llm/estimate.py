"""Estimates the requests, tokens and cost of a judge before a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, Self, TypeVar

from sgi.kernel.errors import UsageError
from sgi.kernel.prompts import ReplyModel, estimated_tokens
from sgi.kernel.protocols import Usage
from sgi.llm.calls import UsageCounter, price_of
from sgi.llm.judge import CachedChat, ChatJudge

if TYPE_CHECKING:
    from sgi.kernel.prompts import Inquiry
    from sgi.kernel.protocols import Cache
    from sgi.llm.calls import Call, Chat, Price
    from sgi.llm.judge_spec import JudgeSpec

T = TypeVar("T", bound=ReplyModel)


class EstimatingJudge:
    """Judge that sends nothing: its replies are from the cache or similar to the example in the prompt.

    Its usage is an estimate for all distinct inquiries (requests to a judge), with one token for four bytes
    and without repair requests. Inquiries with a cached reply count as ``cached``.

    Args:
        budget: the maximum number of tokens of passages in one inquiry.
        price: the price of tokens; None if unknown.
        cache: the cache of replies; None means no cache.
        cached_model: the fingerprint of the model whose replies are cached.
        again: whether an inquiry counts as a new request if all its cached replies are invalid.
    """

    fingerprint = "estimate"

    def __init__(
        self,
        *,
        budget: int = 16000,
        price: Price | None = None,
        cache: Cache | None = None,
        cached_model: str = fingerprint,
        again: bool = False,
    ) -> None:
        self.budget = budget
        self._price = price
        self._counter = UsageCounter()
        self._counted: set[bytes] = set()
        silent: Chat = _SilentChat(cached_model)
        chat = silent if cache is None else CachedChat(silent, cache, self._counter)
        self._judge = ChatJudge(chat, budget=budget, again=again, counter=self._counter)
        if price is None:
            self._counter.add(Usage(cost=None))

    @classmethod
    def of(cls, spec: JudgeSpec, cache: Cache | None = None, *, again: bool = False) -> Self:
        """Return a judge that estimates the usage of the judge of a spec; no key is required."""
        try:
            cached_model = spec.fingerprint()
        except UsageError:
            return cls(budget=spec.budget, price=price_of(spec))
        return cls(
            budget=spec.budget, price=price_of(spec), cache=cache, cached_model=cached_model, again=again
        )

    @property
    def usage(self) -> Usage:
        """The estimated usage so far; ``cached`` counts cached and repeated requests."""
        return self._counter.usage

    async def ask(self, inquiry: Inquiry, schema: type[T], /) -> T:
        """Return the cached reply, or a reply of typical length that ignores the texts."""
        try:
            return await self._judge.ask(inquiry, schema)
        except _UnknownCallError as unknown:
            reply = _typical(inquiry, schema)
            self._count(unknown.call, reply)
            return _with_unique_texts(reply, unknown.call.key(self.fingerprint))

    def _count(self, call: Call, reply: ReplyModel) -> None:
        key = call.key(self.fingerprint)
        if key in self._counted:
            return self._counter.add(Usage(cached=1))
        self._counted.add(key)
        output_tokens = estimated_tokens(reply.model_dump_json())
        cost = self._price.of(call.tokens, output_tokens) if self._price else None
        usage = Usage(calls=1, input_tokens=call.tokens, output_tokens=output_tokens, cost=cost)
        return self._counter.add(usage)


def _typical(inquiry: Inquiry, schema: type[T]) -> T:
    (example,) = [e.reply for e in inquiry.prompt.examples if isinstance(e.reply, schema)][:1]
    reply = schema.typical(example, inquiry.items)
    if not isinstance(reply, schema):
        raise TypeError(f"{schema.__name__}.typical returned a {type(reply).__name__}")
    return reply


def _with_unique_texts(reply: T, key: bytes) -> T:
    """Add a suffix to the texts of a reply, so that later inquiries about these texts are distinct."""
    lists = {
        name: tuple(f"{text} {key.hex()[:6]}" for text in value)
        for name, value in reply
        if isinstance(value, tuple) and all(isinstance(text, str) for text in value)
    }
    return reply.model_copy(update=lists)


class _UnknownCallError(Exception):
    def __init__(self, call: Call) -> None:
        super().__init__("this call has no cached reply")
        self.call = call


class _SilentChat:
    def __init__(self, fingerprint: str) -> None:
        self.fingerprint = fingerprint

    async def complete(self, call: Call, /) -> NoReturn:
        """Raise an error, because no reply to the call is known and nothing is sent."""
        raise _UnknownCallError(call)
