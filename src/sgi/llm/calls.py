"""One request to a model, and what comes back."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

from pydantic import TypeAdapter

from sgi.kernel.prompts import estimated_tokens
from sgi.kernel.signature import digest


class Finish(StrEnum):
    """Why a model stopped writing."""

    STOP = "stop"
    LENGTH = "length"
    FILTER = "filter"


@dataclass(frozen=True)
class Message:
    """A turn of a conversation.

    Attributes:
        role: ``system``, ``user`` or ``assistant``.
        text: what was said.
    """

    role: str
    text: str


@dataclass(frozen=True)
class Shape:
    """The JSON schema a reply is held to.

    Attributes:
        name: what the schema describes.
        text: the schema as JSON, its fields in the order in which they are to be written.
    """

    name: str
    text: str


@dataclass(frozen=True)
class Call:
    """One request to a model: equal calls want equal answers.

    Attributes:
        messages: the conversation so far.
        shape: the schema of the reply.
        take: which sample of the same question; another take is asked anew.

    >>> call = Call((Message("user", "How many?"),), Shape("Count", "{}"))
    >>> call.key("openai:m") == call.key("openai:m"), call.key("openai:m") == call.key("openai:n")
    (True, False)
    """

    messages: tuple[Message, ...]
    shape: Shape
    take: int = 1

    def key(self, fingerprint: str) -> bytes:
        """A digest of the call and of the model that answers it."""
        turns = [part for message in self.messages for part in (message.role, message.text)]
        facts = fingerprint, str(self.take), self.shape.name, self.shape.text, *turns
        # A text may hold half a pair of UTF-16, as JSON can.
        return digest(b"judge", *[fact.encode("utf-8", "surrogatepass") for fact in facts])

    @property
    def tokens(self) -> int:
        """About how many tokens the request has."""
        return estimated_tokens(self.shape.text) + sum(estimated_tokens(m.text) for m in self.messages)


@dataclass(frozen=True)
class Completion:
    """What a model answered.

    Attributes:
        text: the reply; JSON where the model kept to the schema.
        finish: why it ends where it does.
        refusal: the model's words where it says, apart from its text, that it declines.
        input_tokens: as the service counted them, or an estimate where it didn't.
        output_tokens: the same.
        cached: whether it was known before, so that nothing was paid for it.
    """

    text: str
    finish: Finish = Finish.STOP
    refusal: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cached: bool = False


@runtime_checkable
class Chat(Protocol):
    """A model that completes conversations."""

    @property
    def fingerprint(self) -> str:
        """Everything that can change a reply, without secrets."""

    async def complete(self, call: Call, /) -> Completion:
        """The model's reply; a JudgeError says why there is none."""


_KEPT = TypeAdapter(Completion)


def kept(completion: Completion) -> bytes:
    """A completion as it is kept: JSON."""
    return _KEPT.dump_json(completion, exclude={"cached"})


def completion_of(value: bytes) -> Completion:
    """What was kept; ValueError if it cannot be read as a completion.

    >>> completion_of(kept(Completion("{}", cached=True))) == Completion("{}")
    True
    """
    return _KEPT.validate_json(value, strict=True)
