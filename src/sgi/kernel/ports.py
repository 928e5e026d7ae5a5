"""What the engine asks of the outside world, as protocols."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


class Embedded(NamedTuple):
    """Vectors of texts, and which of the texts were longer than the model reads."""

    rows: NDArray[np.float32]
    """Unit rows in the order given, shape (n, d)."""
    truncated: NDArray[np.bool_]
    """True where the text was cut at the model's token limit, shape (n,)."""


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit rows.

    The fingerprint names everything that can change a vector, as ``name@revision,pooling,limit,precision``;
    the part before ``@`` is the embedder's name.
    """

    @property
    def fingerprint(self) -> str:
        """Everything that can change a vector."""

    def embed(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Unit rows in the order given, float32, shape (n, d)."""


@runtime_checkable
class TruncatingEmbedder(Embedder, Protocol):
    """An embedder with a token limit, which says what it cut."""

    def encode(self, texts: Sequence[str], /) -> Embedded:
        """Unit rows, and which texts were cut."""


@runtime_checkable
class Cache(Protocol):
    """Bytes by key; disposable."""

    def get_many(self, keys: Sequence[bytes], /) -> Mapping[bytes, bytes]:
        """The values there are, by key."""

    def put_many(self, items: Mapping[bytes, bytes], /) -> None:
        """Keep these values."""


class Reply(NamedTuple):
    """What the RAG system under test answered."""

    response: str
    contexts: tuple[str, ...] | None = None
    """The passages it answered from; None where it does not say."""


@runtime_checkable
class Target(Protocol):
    """The RAG system under test."""

    @property
    def fingerprint(self) -> str:
        """What was asked, without secrets: ``python:module:function`` or ``http:URL``."""

    async def answer(self, question: str, /) -> Reply:
        """The answer to one question; raises TargetError, with the reason, where there is none."""


def encode(embedder: Embedder, texts: Sequence[str]) -> Embedded:
    """The embedder's rows and what it cut; one that has no limit to tell of has cut nothing."""
    if isinstance(embedder, TruncatingEmbedder):
        return embedder.encode(texts)
    return Embedded(np.asarray(embedder.embed(texts)), np.zeros(len(texts), dtype=np.bool_))


def embedder_name(embedder: Embedder) -> str:
    """The embedder's name: its fingerprint before the ``@``."""
    return embedder.fingerprint.partition("@")[0]
