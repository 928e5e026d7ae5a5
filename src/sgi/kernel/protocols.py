"""What the engine asks of the outside world, as protocols."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.kernel.prompts import Inquiry, ReplyModel
    from sgi.kernel.tokens import TokenTable

T = TypeVar("T", bound="ReplyModel")


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
class TokenCounter(Protocol):
    """An embedder that counts the tokens of a text."""

    @property
    def limit(self) -> int | None:
        """The most tokens of a text that the model reads, special ones included; None without a limit."""

    def token_counts(self, texts: Sequence[str], /) -> list[int]:
        """The tokens of each whole text, special ones included."""


@runtime_checkable
class TokenEncoder(Protocol):
    """Turns texts into unit rows, one for each token in its context.

    The fingerprint names everything that can change a vector, as
    ``tokens:name[layer]@revision,limit,precision``.
    """

    @property
    def fingerprint(self) -> str:
        """Everything that can change a vector."""

    @property
    def dimension(self) -> int:
        """The length of a row."""

    def encode_tokens(self, texts: Sequence[str], /) -> TokenTable:
        """The tokens of these texts, repeats once, with their unit rows; raises EmbedderError."""

    def token_ids(self, texts: Sequence[str], /) -> list[NDArray[np.int64]]:
        """What ``encode_tokens`` takes for the tokens of each text, without computing vectors."""


ENTAILMENT = "entailment:"
"""How the fingerprint of an entailment model begins, and no embedder's."""


class EntailmentScores(NamedTuple):
    """How far premises entail and contradict hypotheses, pair by pair."""

    entailment: NDArray[np.float64]
    """The probability that the hypothesis follows, in [0, 1], shape (n,)."""
    contradiction: NDArray[np.float64]
    """The probability that it is contradicted, in [0, 1], shape (n,); NaN from a model that tells only
    whether a hypothesis follows."""
    windows: NDArray[np.int64]
    """In how many overlapping windows the premise was read, at least 1, shape (n,)."""


@runtime_checkable
class EntailmentModel(Protocol):
    """Reads a premise and a hypothesis together, and says whether the one entails the other.

    The fingerprint names everything that can change a probability, as
    ``entailment:name@revision,limit,outputs,precision``.
    """

    @property
    def fingerprint(self) -> str:
        """Everything that can change a probability."""

    def readable(self, hypotheses: Sequence[str], /) -> NDArray[np.bool_]:
        """Which hypotheses are short enough to be read beside any premise, shape (n,)."""

    def entail(self, pairs: Sequence[tuple[str, str]], /) -> EntailmentScores:
        """The probabilities for (premise, hypothesis) pairs, in the order given; raises EmbedderError."""


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


@dataclass(frozen=True)
class Usage:
    """What was asked of a judge, and what it took.

    Attributes:
        calls: requests that were answered, repairs among them.
        cached: requests that needed no call, since their answer was known.
        retries: calls made once more, after a fault that passes.
        input_tokens: of the calls.
        output_tokens: of the calls.
        cost: of the calls, in US dollars; None where the price is not known.
        unanswered: requests without an answer: in flight, or lost to a timeout, a broken connection or a
            killed process. The provider may bill them; ``cost`` does not include them.

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
        unknown = self.cost is None or other.cost is None
        return Usage(
            self.calls + other.calls,
            self.cached + other.cached,
            self.retries + other.retries,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            None if unknown else (self.cost or 0.0) + (other.cost or 0.0),
            self.unanswered + other.unanswered,
        )

    def since(self, earlier: Usage) -> Usage:
        """What was added after an earlier count.

        >>> Usage(calls=3, cost=0.03).since(Usage(calls=1, cost=0.01)).calls
        2
        """
        unknown = self.cost is None or earlier.cost is None
        return Usage(
            self.calls - earlier.calls,
            self.cached - earlier.cached,
            self.retries - earlier.retries,
            self.input_tokens - earlier.input_tokens,
            self.output_tokens - earlier.output_tokens,
            None if unknown else (self.cost or 0.0) - (earlier.cost or 0.0),
            self.unanswered - earlier.unanswered,
        )


@runtime_checkable
class Judge(Protocol):
    """Reads texts and says what it makes of them; bounds its own concurrency.

    The fingerprint names everything that can change a reply, beside the prompts; it holds no secret.
    """

    @property
    def fingerprint(self) -> str:
        """Everything that can change a reply: ``openai:NAME,temperature=0,…``."""

    @property
    def budget(self) -> int:
        """How many tokens of passages one inquiry may hold; what is longer is asked about in parts."""

    async def ask(self, inquiry: Inquiry, schema: type[T], /) -> T:
        """The reply, as the schema wants it, a verdict for every item; else a JudgeError says why not."""


@runtime_checkable
class CountingJudge(Judge, Protocol):
    """A judge that keeps count of what it was asked."""

    @property
    def usage(self) -> Usage:
        """All so far."""


@runtime_checkable
class DurableJudge(CountingJudge, Protocol):
    """A judge whose usage can be stored as it grows, so that a killed process leaves none uncounted."""

    def store_usage(self, store: Callable[[], None], earlier: Usage) -> None:
        """Call ``store`` before each request is sent and before a reply is used.

        Args:
            store: stores the present ``usage``; its errors end the request.
            earlier: what earlier attempts at the same run took; a limit of the cost counts it.
        """


def usage_of(judge: Judge | None) -> Usage:
    """What was asked of a judge so far; one that does not count was asked nothing we know of."""
    return judge.usage if isinstance(judge, CountingJudge) else Usage()


def encode(embedder: Embedder, texts: Sequence[str]) -> Embedded:
    """The embedder's rows and what it cut; one that has no limit to tell of has cut nothing."""
    if isinstance(embedder, TruncatingEmbedder):
        return embedder.encode(texts)
    return Embedded(np.asarray(embedder.embed(texts)), np.zeros(len(texts), dtype=np.bool_))


def embedder_name(embedder: Embedder) -> str:
    """The embedder's name: its fingerprint before the ``@``."""
    return embedder.fingerprint.partition("@")[0]
