"""A request to a model, and its reply."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

from pydantic import TypeAdapter

from sgi.kernel.prompts import estimated_tokens
from sgi.kernel.signature import digest

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
