"""Protocols of embedders, judges, caches and RAG systems."""

from __future__ import annotations

from dataclasses import dataclass
from operator import add, sub
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np

from sgi.kernel.errors import UsageError
from sgi.kernel.sample_parts import NO_COSTS, NO_RANKING, AnswerCosts, Ranking

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.kernel.prompts import Inquiry, ReplyModel
    from sgi.kernel.tokens import TokenTable

T = TypeVar("T", bound="ReplyModel")


class Embeddings(NamedTuple):
    """Unit vectors of texts, and which of the texts exceeded the model's token limit."""

    rows: NDArray[np.float32]
    """One unit vector for each text, in the order of the texts, shape (n, d)."""
    truncated: NDArray[np.bool_]
    """True if the text was truncated at the model's token limit, shape (n,)."""
    windowed: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)
    """True if the text exceeds the limit and was read in windows, shape (n,); empty if none was."""
    unread: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)
    """True if the vocabulary has too few letters of the text, shape (n,); empty if none is known to be so.
    See `sgi.text.read_share.reads_enough`."""


@runtime_checkable
class Embedder(Protocol):
    """A model that computes one unit vector for each text.

    Any object with these two members is an embedder; it needs no base class. `sgi.load_embedder` returns one,
    and `sgi.testing.check_embedder` checks yours.

    >>> from sgi.testing import DummyEmbedder
    >>> isinstance(DummyEmbedder(), Embedder), DummyEmbedder().embed(["Hello.", "Bye."]).shape
    (True, (2, 64))
    """

    @property
    def fingerprint(self) -> str:
        """The model's identity, with all settings that affect vectors: ``name@revision,pooling,…``."""

    def embed(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Compute the vectors of texts.

        Args:
            texts: n texts; none is empty.

        Returns:
            The vectors in the order of the texts, each of length 1, float32, shape (n, d).

        Raises:
            EmbedderError: the vectors cannot be computed; the rows of these texts get the status ``failed``.
        """


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
        """The maximum number of tokens of a text, including special tokens; None if there is no limit."""

    def token_counts(self, texts: Sequence[str], /) -> list[int]:
        """Return the number of tokens of each whole text, special tokens included."""


@runtime_checkable
class TokenEncoder(Protocol):
    """A model that computes a unit vector for each token, which depends on the tokens around it."""

    @property
    def fingerprint(self) -> str:
        """The model's identity, with all settings that affect vectors: ``tokens:name[layer]@revision,…``."""

    @property
    def dimension(self) -> int:
        """The length of a vector."""

    def encode_tokens(self, texts: Sequence[str], /) -> TokenTable:
        """Return the tokens of the distinct texts, with their unit vectors; may raise EmbedderError."""

    def token_ids(self, texts: Sequence[str], /) -> list[NDArray[np.int64]]:
        """Return the token ids of each text that ``encode_tokens`` would use, without computing vectors."""


ENTAILMENT = "entailment:"
"""The prefix of the fingerprint of an entailment model."""


class EntailmentScores(NamedTuple):
    """Probabilities of entailment and contradiction for each (premise, hypothesis) pair."""

    entailment: NDArray[np.float64]
    """The probability that the hypothesis follows from the premise, in [0, 1], shape (n,)."""
    contradiction: NDArray[np.float64]
    """The probability that the premise contradicts the hypothesis, in [0, 1], shape (n,); NaN if the model
    does not return it."""
    windows: NDArray[np.int64]
    """The number of overlapping parts (windows) into which the premise was split, at least 1, shape (n,)."""


@runtime_checkable
class EntailmentModel(Protocol):
    """A model that computes the probability that a premise entails a hypothesis."""

    @property
    def fingerprint(self) -> str:
        """The model's identity, with all settings that affect results: ``entailment:name@revision,…``."""

    def readable(self, hypotheses: Sequence[str], /) -> NDArray[np.bool_]:
        """Return which hypotheses leave enough of the model's token limit for a premise, shape (n,)."""

    def entail(self, pairs: Sequence[tuple[str, str]], /) -> EntailmentScores:
        """Return the probabilities of (premise, hypothesis) pairs, in order; may raise EmbedderError."""


@runtime_checkable
class Cache(Protocol):
    """A key-value store of bytes that may be deleted at any time."""

    def get_many(self, keys: Sequence[bytes], /) -> Mapping[bytes, bytes]:
        """Return the stored values by key; the result does not contain missing keys."""

    def put_many(self, items: Mapping[bytes, bytes], /) -> None:
        """Store these values."""


class Reply(NamedTuple):
    """The response of the RAG system under test to a question."""

    response: str
    contexts: tuple[str, ...] | None = None
    """The passages that the system used; None if it does not return them."""
    costs: AnswerCosts = NO_COSTS
    ranking: Ranking = NO_RANKING


@runtime_checkable
class Target(Protocol):
    """A RAG system under test."""

    @property
    def fingerprint(self) -> str:
        """The target's identity, without secrets: ``python:module:function`` or ``http:URL``."""

    async def answer(self, question: str, /) -> Reply:
        """Answer one question; raise TargetError if there is no answer."""


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
        """Return the usage since an earlier reading, as a difference."""
        return self._combine(earlier, sub)

    def _combine(self, other: Usage, operation: Callable[[Any, Any], Any]) -> Usage:
        pairs = {name: (value, getattr(other, name)) for name, value in vars(self).items()}
        values: dict[str, Any] = {
            name: None if None in pair else operation(*pair) for name, pair in pairs.items()
        }
        return Usage(**values)


@runtime_checkable
class Judge(Protocol):
    """A language model that answers questions about texts, such as: which claims does this passage support?

    Any object with these three members is a judge; it needs no base class. ``judge="openai:NAME"`` opens one
    by its name, and `sgi.testing.check_judge` checks yours. SGI calls ``ask`` for many rows at the same time:
    the judge limits the number of concurrent requests.

    >>> from sgi.testing import ScriptedJudge
    >>> isinstance(ScriptedJudge(lambda *_: {}), Judge)
    True
    """

    @property
    def fingerprint(self) -> str:
        """The judge's identity, with all settings that affect replies: ``openai:NAME,temperature=0,…``."""

    @property
    def budget(self) -> int:
        """Maximum tokens of passages in one inquiry; longer passages are split over several."""

    async def ask(self, inquiry: Inquiry, schema: type[T], /) -> T:
        """Answer one inquiry.

        Args:
            inquiry: the question with its texts and the items to decide on.
            schema: the pydantic model of the reply.

        Returns:
            A valid instance of ``schema``, with a verdict for every item of the inquiry.

        Raises:
            JudgeError: there is no usable reply; the row gets the status ``failed``.
        """


@runtime_checkable
class CountingJudge(Judge, Protocol):
    """A judge that counts its requests."""

    @property
    def usage(self) -> Usage:
        """The requests, tokens and cost so far."""


@runtime_checkable
class DurableJudge(CountingJudge, Protocol):
    """A judge that stores its usage before each request, so that a killed process loses no count."""

    def store_usage(self, store: Callable[[], None], earlier: Usage) -> None:
        """Call ``store`` before each request is sent and before a reply is used.

        Args:
            store: stores the current ``usage``; its errors abort the request.
            earlier: the usage before the run was resumed; it counts for the cost limit.
        """


def usage_of(judge: Judge | None) -> Usage:
    """Return the judge's usage; zero for a judge that does not count its requests."""
    return judge.usage if isinstance(judge, CountingJudge) else Usage()


def encode(embedder: Embedder, texts: Sequence[str]) -> Embeddings:
    """Return the vectors of texts; for an embedder without `encode`, no text counts as truncated or unread.

    ``windowed`` and ``unread`` have a value for each text.
    """
    compute: Callable[[Sequence[str]], Embeddings] | None = getattr(embedder, "encode", None)
    none = np.zeros(len(texts), dtype=np.bool_)
    if compute is None:  # isinstance with a protocol takes 20 µs
        return Embeddings(np.asarray(embedder.embed(texts)), none, none, none)
    rows, truncated, *flags = compute(texts)
    windowed, unread = (own if len(own) == len(texts) else none for own in [*flags, none, none][:2])
    return Embeddings(rows, truncated, windowed, unread)


def not_an_embedder(value: object) -> UsageError:
    """Build the error for an object that is used as an embedder but is not one."""
    hint = "An embedder has a `fingerprint` and `embed(texts)`; check it with sgi.testing.check_embedder."
    return UsageError(f"{type(value).__name__} is not an embedder.", hint=hint)


def embedder_name(embedder: Embedder) -> str:
    """Return the embedder's name, the part of its fingerprint before the ``@``."""
    return embedder.fingerprint.partition("@")[0]
