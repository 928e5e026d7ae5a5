"""Protocols of embedders, judges, caches and RAG systems."""

from __future__ import annotations

from dataclasses import dataclass
from operator import add, sub
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.kernel.prompts import Inquiry, ReplyModel
    from sgi.kernel.tokens import TokenTable

T = TypeVar("T", bound="ReplyModel")


class Embeddings(NamedTuple):
    """Vectors of texts, and which of the texts were longer than the model reads."""

    rows: NDArray[np.float32]
    """Unit rows in the order given, shape (n, d)."""
    truncated: NDArray[np.bool_]
    """True where the text was cut at the model's token limit, shape (n,)."""


@runtime_checkable
class Embedder(Protocol):
    """Computes one unit vector per text."""

    @property
    def fingerprint(self) -> str:
        """Everything that can change a vector: ``name@revision,pooling,limit,precision``."""

    def embed(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Return the unit vectors of the texts, in their order, float32, shape (n, d)."""


@runtime_checkable
class TruncatingEmbedder(Embedder, Protocol):
    """An embedder with a token limit that reports which texts it truncated."""

    def encode(self, texts: Sequence[str], /) -> Embeddings:
        """Return the unit vectors of the texts, and which texts were truncated."""


@runtime_checkable
class TokenCounter(Protocol):
    """An embedder that counts the tokens of a text."""

    @property
    def limit(self) -> int | None:
        """The most tokens of a text, special tokens included; None without a limit."""

    def token_counts(self, texts: Sequence[str], /) -> list[int]:
        """Return the number of tokens of each whole text, special tokens included."""


@runtime_checkable
class TokenEncoder(Protocol):
    """Computes one contextual unit vector per token."""

    @property
    def fingerprint(self) -> str:
        """Everything that can change a vector: ``tokens:name[layer]@revision,limit,precision``."""

    @property
    def dimension(self) -> int:
        """The length of a row."""

    def encode_tokens(self, texts: Sequence[str], /) -> TokenTable:
        """Return the tokens of these texts, repeats once, with their unit rows; raises EmbedderError."""

    def token_ids(self, texts: Sequence[str], /) -> list[NDArray[np.int64]]:
        """Return the token ids of each text, as in ``encode_tokens``, without computing vectors."""


ENTAILMENT = "entailment:"
"""Prefix of the fingerprint of an entailment model."""


class EntailmentScores(NamedTuple):
    """Probabilities of entailment and contradiction for each pair."""

    entailment: NDArray[np.float64]
    """The probability that the hypothesis follows, in [0, 1], shape (n,)."""
    contradiction: NDArray[np.float64]
    """The probability that it is contradicted, in [0, 1], shape (n,); NaN from a model without
    that output."""
    windows: NDArray[np.int64]
    """In how many overlapping windows the premise was read, at least 1, shape (n,)."""


@runtime_checkable
class EntailmentModel(Protocol):
    """Computes the probability that a premise entails a hypothesis."""

    @property
    def fingerprint(self) -> str:
        """Everything that can change a probability: ``entailment:name@revision,limit,outputs,precision``."""

    def readable(self, hypotheses: Sequence[str], /) -> NDArray[np.bool_]:
        """Return which hypotheses leave enough of the model's window for a premise, shape (n,)."""

    def entail(self, pairs: Sequence[tuple[str, str]], /) -> EntailmentScores:
        """Return the probabilities for (premise, hypothesis) pairs, in the order given; raises EmbedderError."""


@runtime_checkable
class Cache(Protocol):
    """A key-value store of bytes that may be deleted at any time."""

    def get_many(self, keys: Sequence[bytes], /) -> Mapping[bytes, bytes]:
        """Return the stored values by key; missing keys are left out."""

    def put_many(self, items: Mapping[bytes, bytes], /) -> None:
        """Store these values."""


class Reply(NamedTuple):
    """Response of the RAG system under test."""

    response: str
    contexts: tuple[str, ...] | None = None
    """The passages that it used; None if it does not return them."""


@runtime_checkable
class Target(Protocol):
    """The RAG system under test."""

    @property
    def fingerprint(self) -> str:
        """The address without secrets: ``python:module:function`` or ``http:URL``."""

    async def answer(self, question: str, /) -> Reply:
        """Answer one question; raises TargetError if there is no answer."""


@dataclass(frozen=True)
class Usage:
    """Requests, tokens and cost of a judge.

    Attributes:
        calls: answered requests, including repair requests.
        cached: requests answered from the cache.
        retries: repeated calls after a temporary failure.
        cost: in US dollars; None if the price is unknown.
        unanswered: requests without an answer, such as timeouts. The provider may bill them; ``cost`` does
            not include them.

    >>> Usage(calls=1, input_tokens=300, cost=0.01) + Usage(calls=2, cached=1, cost=0.02)
    Usage(calls=3, cached=1, retries=0, input_tokens=300, output_tokens=0, cost=0.03, unanswered=0)
    """

    calls: int = 0
    cached: int = 0
    retries: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0
    unanswered: int = 0

    def __add__(self, other: Usage) -> Usage:
        return self._combine(other, add)

    def since(self, earlier: Usage) -> Usage:
        """Return the difference to an earlier count."""
        return self._combine(earlier, sub)

    def _combine(self, other: Usage, operation: Callable[[Any, Any], Any]) -> Usage:
        pairs = {name: (value, getattr(other, name)) for name, value in vars(self).items()}
        values: dict[str, Any] = {
            name: None if None in pair else operation(*pair) for name, pair in pairs.items()
        }
        return Usage(**values)


@runtime_checkable
class Judge(Protocol):
    """Answers inquiries about texts; limits its own concurrency."""

    @property
    def fingerprint(self) -> str:
        """Everything that can change a reply, without secrets: ``openai:NAME,temperature=0,…``."""

    @property
    def budget(self) -> int:
        """Maximum tokens of passages in one inquiry; longer passages are split over several."""

    async def ask(self, inquiry: Inquiry, schema: type[T], /) -> T:
        """Return a reply that is valid for the schema, with a verdict for every item; raises JudgeError."""


@runtime_checkable
class CountingJudge(Judge, Protocol):
    """A judge that counts its requests."""

    @property
    def usage(self) -> Usage:
        """The usage so far."""


@runtime_checkable
class DurableJudge(CountingJudge, Protocol):
    """A judge whose usage is stored while it grows, so that a killed process loses no count."""

    def store_usage(self, store: Callable[[], None], earlier: Usage) -> None:
        """Call ``store`` before each request is sent and before a reply is used.

        Args:
            store: stores the current ``usage``; its errors abort the request.
            earlier: usage of earlier attempts at the same run; it counts for the cost limit.
        """


def usage_of(judge: Judge | None) -> Usage:
    """Return the judge's usage; zero for a judge that does not count."""
    return judge.usage if isinstance(judge, CountingJudge) else Usage()


def encode(embedder: Embedder, texts: Sequence[str]) -> Embeddings:
    """Embed texts; an embedder without a token limit truncates nothing."""
    if isinstance(embedder, TruncatingEmbedder):
        return embedder.encode(texts)
    return Embeddings(np.asarray(embedder.embed(texts)), np.zeros(len(texts), dtype=np.bool_))


def embedder_name(embedder: Embedder) -> str:
    """Return the embedder's name: its fingerprint before the ``@``."""
    return embedder.fingerprint.partition("@")[0]
