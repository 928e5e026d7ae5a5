"""Fake embedders, entailment models and judges without model and network."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from pydantic import BaseModel, ValidationError

from sgi.geometry.angles import unit
from sgi.kernel.errors import JudgeMalformedError, UsageError
from sgi.kernel.protocols import ENTAILMENT, EntailmentScores
from sgi.kernel.signature import digest
from sgi.kernel.tokens import TokenModel, TokenTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sgi.kernel.prompts import Inquiry, ReplyModel

T = TypeVar("T", bound="ReplyModel")

Script = Callable[["Inquiry", type[Any]], object] | Mapping[str, object]
"""What a scripted judge replies: a function of inquiry and schema, or replies by the prompt's name."""

_DIGEST_BYTES = 64


@dataclass(eq=False)
class HashEmbedder:
    """An embedder with vectors from a hash of the text: equal texts have equal vectors, others are unrelated.

    It counts its calls, so a test can assert that no text is embedded twice.

    Attributes:
        dimension: of the vectors, at least 1.
        name: its name in tables and signatures.
        calls: the number of calls.
        texts_seen: every text so far, in order, with repeats.

    Source: BLAKE2b (RFC 7693) of the text.

    >>> embedder = HashEmbedder(dimension=8)
    >>> rows = embedder.embed(["a", "b", "a"])
    >>> rows.shape, bool((rows[0] == rows[2]).all()), embedder.calls, embedder.texts_seen
    ((3, 8), True, 1, ['a', 'b', 'a'])
    """

    dimension: int = 64
    name: str = "hash"
    calls: int = 0
    texts_seen: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.dimension < 1:
            raise ValueError(f"dimension must be at least 1, not {self.dimension}")

    @property
    def fingerprint(self) -> str:
        """Everything that can change a vector."""
        return f"{self.name}@1,{self.dimension}d,unlimited,fp32"

    def embed(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Unit rows in the order of the texts, float32, shape (n, dimension)."""
        self.calls += 1
        self.texts_seen += texts
        rows = np.empty((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            rows[row] = unit(self._entries(text))
        return rows

    def _entries(self, text: str) -> NDArray[np.float64]:
        """Entries in (−1, 1), evenly spread and never 0."""
        data = text.encode("utf-8", "surrogatepass")
        blocks = range(-(-4 * self.dimension // _DIGEST_BYTES))
        stream = b"".join(blake2b(data, salt=block.to_bytes(16, "little")).digest() for block in blocks)
        words = np.frombuffer(stream, dtype="<u4", count=self.dimension)
        return (words + 0.5) / 2.0**31 - 1.0


@dataclass(eq=False)
class HashTokenEncoder:
    """A token encoder with words as tokens and vectors from a hash of word and position.

    Equal words at equal positions have equal vectors, at other positions similar ones; other words are
    unrelated. Each text has two special tokens, with the ids 0 and 1. It counts its calls.

    Attributes:
        dimension: of the vectors, at least 2.
        name: what tables and signatures call it.
        texts_seen: every text whose vectors it was asked for, in order, repeats included.

    Source: BLAKE2b (RFC 7693) of the word.

    >>> found = HashTokenEncoder().encode_tokens(["a b", "b"])
    >>> found.of("a b").rows.shape, found.of("b").special.tolist()
    ((4, 64), [True, False, True])
    """

    dimension: int = 64
    name: str = "hash"
    texts_seen: list[str] = field(default_factory=list)

    @property
    def fingerprint(self) -> str:
        """Everything that can change a vector."""
        return f"{TokenModel(self.name).label}@1,{self.dimension}d,unlimited,fp32"

    def token_ids(self, texts: Sequence[str], /) -> list[NDArray[np.int64]]:
        """A number for each word, between the special tokens."""
        return [np.array([0, *map(_word_number, text.split()), 1], dtype=np.int64) for text in texts]

    def encode_tokens(self, texts: Sequence[str], /) -> TokenTable:
        """Unit rows for every word and special token."""
        self.texts_seen += texts
        unique = list(dict.fromkeys(texts))
        words = [word for text in unique for word in ("<", *text.split(), ">")]
        places = np.concatenate(
            [np.zeros(0, np.int64), *(np.arange(len(text.split()) + 2) for text in unique)]
        )
        rows = HashEmbedder(self.dimension).embed(words)
        rows[np.arange(len(rows)), places % self.dimension] += 0.1
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        return TokenTable.build(self.name, unique, self.token_ids(unique), rows / norms, special=(0, 1))


def _word_number(word: str) -> int:
    """A number from 2 on."""
    data = word.encode("utf-8", "surrogatepass")
    return 2 + int.from_bytes(blake2b(data, digest_size=2).digest(), "little")


@dataclass(eq=False)
class HashEntailment:
    """An entailment model with probabilities from a hash of the pair; the rest is neutral.

    It knows nothing of meaning, reads hypotheses of any length, and counts its work.

    Attributes:
        name: what tables and signatures call it.
        pairs_seen: every pair it was asked about, in order, repeats included.

    Source: BLAKE2b (RFC 7693) of the pair.

    >>> model = HashEntailment()
    >>> made = model.entail([("a", "b"), ("b", "a"), ("a", "b")])
    >>> made.windows.tolist(), bool(made.entailment[0] == made.entailment[2] != made.entailment[1])
    ([1, 1, 1], True)
    """

    name: str = "hash"
    pairs_seen: list[tuple[str, str]] = field(default_factory=list)

    @property
    def fingerprint(self) -> str:
        """Everything that can change a probability."""
        return f"{ENTAILMENT}{self.name}@1,unlimited,fp64"

    def readable(self, hypotheses: Sequence[str], /) -> NDArray[np.bool_]:
        """All hypotheses are readable."""
        return np.ones(len(hypotheses), dtype=np.bool_)

    def entail(self, pairs: Sequence[tuple[str, str]], /) -> EntailmentScores:
        """Entailment in (0, 1), and contradiction a part of what that leaves."""
        self.pairs_seen += pairs
        parts = np.array([_pair_shares(*pair) for pair in pairs], dtype=np.float64).reshape(-1, 2)
        entailment = parts[:, 0]
        return EntailmentScores(entailment, (1 - entailment) * parts[:, 1], np.ones(len(pairs), np.int64))


def _pair_shares(premise: str, hypothesis: str) -> list[float]:
    """Two numbers in (0, 1)."""
    texts = [text.encode("utf-8", "surrogatepass") for text in (premise, hypothesis)]
    words = np.frombuffer(digest(*texts, size=8), dtype="<u4")
    return [(float(word) + 0.5) / 2.0**32 for word in words]


@dataclass(eq=False)
class ScriptedJudge:
    """A judge with scripted replies, which are validated like those of a real judge.

    A reply is a model or a JSON value; a text is the raw reply. It is parsed with the schema and must have as
    many verdicts as were requested; an invalid reply raises JudgeMalformedError at once, without a repair
    request. An error in the script is raised. Nothing is joined or cached.

    Attributes:
        reply: a function of inquiry and schema, or a mapping from the prompt's name.
        budget: tokens of passages that one inquiry may hold.
        fingerprint: what signatures call it.
        inquiries: every inquiry, in order, repeats included.

    Source: the promises of `sgi.kernel.protocols.Judge`.

    >>> import anyio
    >>> from sgi.kernel.sample import Sample
    >>> from sgi.metrics.judged.ratings import AnswerRelevanceRated
    >>> judge = ScriptedJudge({"ratings.answer_relevance": {"reasoning": "It tells when.", "rating": 3}})
    >>> anyio.run(AnswerRelevanceRated().ask, Sample(id="1", question="When?", response="In 1950."), judge)
    StoredRating(reasoning='It tells when.', rating=3)
    """

    reply: Script
    budget: int = 16_000
    fingerprint: str = "scripted"
    inquiries: list[Inquiry] = field(default_factory=list)

    async def ask(self, inquiry: Inquiry, schema: type[T], /) -> T:
        """The scripted reply, validated against the schema."""
        self.inquiries.append(inquiry)
        text = _as_text(self._scripted(inquiry, schema))
        try:
            return schema.model_validate_json(text, strict=True, context=inquiry.context)
        except ValidationError as errors:
            problems = "; ".join(str(error["msg"]) for error in errors.errors(include_url=False))
            raise JudgeMalformedError(
                f"The judge's reply is not what was asked: {problems}.", text=text
            ) from None

    def _scripted(self, inquiry: Inquiry, schema: type[ReplyModel]) -> object:
        if not isinstance(self.reply, Mapping):
            return self.reply(inquiry, schema)
        name = inquiry.prompt.name
        if name not in self.reply:
            raise UsageError(
                f"The script has no reply to {name!r}.", hint=f"It has: {', '.join(self.reply)}."
            )
        return self.reply[name]


def _as_text(reply: object) -> str:
    """The reply as a service would send it."""
    if isinstance(reply, str):
        return reply
    return reply.model_dump_json() if isinstance(reply, BaseModel) else json.dumps(reply)
