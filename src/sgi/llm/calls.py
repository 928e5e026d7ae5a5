"""A request to a model and its reply, and the usage and prices of requests."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from pydantic import TypeAdapter

from sgi.kernel.environment import has_usual_address
from sgi.kernel.errors import JudgeError, SgiError
from sgi.kernel.prompts import estimated_tokens
from sgi.kernel.protocols import Usage
from sgi.kernel.signature import digest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from sgi.llm.judge_spec import JudgeSpec

CALL_KEY = "x-sgi-call-key"
"""The header that takes the key of a call to a batch; it is not sent."""
SUCCESS, REDIRECTS = range(200, 300), range(300, 400)  # statuses of HTTP


class Finish(StrEnum):
    """Why a model stopped writing."""

    STOP = "stop"
    LENGTH = "length"
    FILTER = "filter"


@dataclass(frozen=True)
class Message:
    """A message of a conversation; ``role`` is ``system``, ``user`` or ``assistant``."""

    role: str
    text: str


@dataclass(frozen=True)
class Shape:
    """The JSON schema of a reply; its fields are in the order in which the model writes them."""

    name: str
    text: str


@dataclass(frozen=True)
class Call:
    """A request to a model; equal calls get the same cached reply.

    A new ``take`` requests another reply in place of an unusable one. Each ``repeat`` has its own reply.
    """

    messages: tuple[Message, ...]
    shape: Shape
    take: int = 1
    repeat: int = 1

    def key(self, fingerprint: str) -> bytes:
        """Return a digest of the call and the model's fingerprint."""
        turns = [part for message in self.messages for part in (message.role, message.text)]
        take = str(self.take) if self.repeat == 1 else f"{self.take}~{self.repeat}"
        facts = fingerprint, take, self.shape.name, self.shape.text, *turns
        # A text may contain a lone surrogate, as JSON can.
        return digest(b"judge", *[fact.encode("utf-8", "surrogatepass") for fact in facts])

    @property
    def tokens(self) -> int:
        """The estimated number of tokens of the request."""
        return estimated_tokens(self.shape.text) + sum(estimated_tokens(m.text) for m in self.messages)


@dataclass(frozen=True)
class Completion:
    """A model's reply.

    Attributes:
        finish: why the model stopped.
        refusal: a refusal that the service reports apart from the text.
        input_tokens: the number of tokens that the service counts, or an estimate if it reports none.
        output_tokens: the same for the reply.
        cached: whether the reply comes from a cache or a recording, and so costs nothing.
    """

    text: str
    finish: Finish = Finish.STOP
    refusal: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cached: bool = False


@runtime_checkable
class Chat(Protocol):
    """A chat model."""

    @property
    def fingerprint(self) -> str:
        """The model's identity: all settings that can change a reply, without secrets."""

    async def complete(self, call: Call, /) -> Completion:
        """Return the model's reply; raises a JudgeError if there is none."""


_COMPLETION = TypeAdapter(Completion)


def encode_completion(completion: Completion) -> bytes:
    """Encode a completion as JSON for storage."""
    return _COMPLETION.dump_json(completion, exclude={"cached"})


def decode_completion(value: bytes) -> Completion:
    """Decode a stored completion; raise ValueError if it is invalid."""
    return _COMPLETION.validate_json(value, strict=True)


class UsageCounter:
    """Counter of a judge's usage, to which the wrappers around its chat model add.

    Attributes:
        usage: the total since the run was started or resumed.
        earlier: the usage before the run was resumed; the total does not include it.
    """

    def __init__(self) -> None:
        self.usage = Usage()
        self.earlier = Usage()
        self._store: Callable[[], None] | None = None
        self._stored = self.usage
        self._group = GroupCommit(self.save)

    def add(self, usage: Usage) -> None:
        """Add a usage to the total."""
        self.usage += usage

    def store_with(self, store: Callable[[], None], earlier: Usage) -> None:
        """Set the function that `save` calls, and the usage before the run was resumed."""
        self._store, self.earlier = store, earlier

    def save(self) -> None:
        """Store the total if it has changed."""
        if self._store is not None and self.usage != self._stored:
            usage = self.usage
            self._store()
            self._stored = usage

    @asynccontextmanager
    async def request(self) -> AsyncIterator[None]:
        """Context manager that counts the request sent in its block as unanswered until an answer arrives.

        The count is stored before the block begins, so it survives a killed process. A request without an
        answer stays counted, since the provider may bill it.
        """
        self.add(Usage(unanswered=1))
        try:
            if self._store is not None:
                await self._group.commit()
        except BaseException:
            self.add(Usage(unanswered=-1))  # nothing was sent
            raise
        try:
            yield
        except JudgeError as error:
            if error.answered:
                self.add(Usage(unanswered=-1))
            raise
        self.add(Usage(unanswered=-1))


class GroupCommit:
    """Runs a blocking write once for all callers of one iteration of the event loop.

    Calls during a write share the next write, so groups are larger on a slow disk. ``write`` runs even if all
    callers are cancelled.

    >>> writes = []
    >>> async def ask():
    ...     group = GroupCommit(lambda: writes.append("written"))
    ...     await asyncio.gather(*[group.commit() for _ in range(3)])
    >>> asyncio.run(ask())
    >>> writes
    ['written']
    """

    def __init__(self, write: Callable[[], None]) -> None:
        self._write = write
        self._next: asyncio.Future[Exception | None] | None = None

    async def commit(self) -> None:
        """Wait for the end of a write that begins after this call; raise the error of the write."""
        loop = asyncio.get_running_loop()
        if self._next is None:
            self._next = loop.create_future()
            loop.call_soon(self._run)
        error = await asyncio.shield(self._next)
        if error is not None:
            raise copy(error) if isinstance(error, SgiError) else error

    def _run(self) -> None:
        done, self._next = self._next, None
        outcome: Exception | None = None
        try:
            self._write()
        except Exception as error:  # noqa: BLE001 - whatever it is, the callers raise it
            outcome = error
        if done is not None:
            done.set_result(outcome)


_MILLION = 1_000_000
_PROVIDERS = {"bedrock": "aws"}
"""The names that ``genai-prices`` has for services with another name here."""
_LOOKUP_TOKENS = 1000
"""The size in tokens of the request whose price is looked up; higher price tiers begin far above."""


@dataclass(frozen=True)
class Price:
    """US dollars per million tokens.

    >>> Price(2.5, 10.0).of(1000, 100)
    0.0035
    """

    input_price: float
    output_price: float

    def of(self, input_tokens: float, output_tokens: float) -> float:
        """Return the cost of these tokens in US dollars."""
        return (input_tokens * self.input_price + output_tokens * self.output_price) / _MILLION


def price_of(spec: JudgeSpec) -> Price | None:
    """Return the prices in the spec, or the published prices of the service; None if both are unknown.

    The published price of a request in a batch is half the price of another request
    (https://platform.openai.com/docs/guides/batch).
    Published prices are from the package ``genai-prices``; nothing is downloaded. For a user's own server
    there are none.
    """
    if spec.input_price is not None and spec.output_price is not None:
        return Price(spec.input_price, spec.output_price)
    kind, name, url = spec.name_parts
    if url or not (kind == "azure" or has_usual_address(kind)):
        return None
    try:
        from genai_prices import Usage, calc_price
    except ImportError:
        return None
    try:
        usage = Usage(input_tokens=_LOOKUP_TOKENS, output_tokens=_LOOKUP_TOKENS)
        price = calc_price(usage, name, provider_id=_PROVIDERS.get(kind, kind))
    except LookupError:
        return None
    scale = _MILLION / _LOOKUP_TOKENS / (2 if spec.batch else 1)
    return Price(float(price.input_price) * scale, float(price.output_price) * scale)
