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
"""Replies of a scripted judge: a function of inquiry and schema, or replies by the prompt's name."""

_DIGEST_BYTES = 64


@dataclass(eq=False)
class HashEmbedder:
    """Embedder with vectors from a hash (BLAKE2b) of the text: equal texts have equal vectors.

    Attributes:
        dimension: dimension of the vectors, at least 1.
        name: name in tables and signatures.
        calls: number of calls.
        texts_seen: all texts in order, with repeats, so a test can assert that none is embedded twice.

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
            raise ValueError(f"`dimension` must be at least 1, not {self.dimension}")

    @property
    def fingerprint(self) -> str:
        """Everything that can change a vector."""
        return f"{self.name}@1,{self.dimension}d,unlimited,fp32"

    def embed(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Return vectors of length 1 in the order of the texts, float32, shape (n, dimension)."""
        self.calls += 1
        self.texts_seen += texts
        rows = np.empty((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            rows[row] = unit(self._entries(text))
        return rows

    def _entries(self, text: str) -> NDArray[np.float64]:
        """Return the entries of a vector in (−1, 1), evenly spread and never 0."""
        data = text.encode("utf-8", "surrogatepass")
        blocks = range(-(-4 * self.dimension // _DIGEST_BYTES))
        stream = b"".join(blake2b(data, salt=block.to_bytes(16, "little")).digest() for block in blocks)
        words = np.frombuffer(stream, dtype="<u4", count=self.dimension)
        return (words + 0.5) / 2.0**31 - 1.0


@dataclass(eq=False)
class HashTokenEncoder:
    """Token encoder with words as tokens and vectors from a hash (BLAKE2b) of word and position.

    Equal words have equal vectors at equal positions, and similar vectors at other positions. Each text has
    two special tokens, with the ids 0 and 1.

    Attributes:
        dimension: dimension of the vectors, at least 2.
        name: name in tables and signatures.
        texts_seen: all encoded texts in order, with repeats.

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
        """Return a number for each word, between the special tokens."""
        return [np.array([0, *map(_word_number, text.split()), 1], dtype=np.int64) for text in texts]

    def encode_tokens(self, texts: Sequence[str], /) -> TokenTable:
        """Return a vector of length 1 for every word and special token."""
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
    data = word.encode("utf-8", "surrogatepass")
    return 2 + int.from_bytes(blake2b(data, digest_size=2).digest(), "little")


@dataclass(eq=False)
class HashEntailment:
    """Entailment model with probabilities from a hash (BLAKE2b) of the pair; it ignores meaning.

    Attributes:
        name: name in tables and signatures.
        pairs_seen: all pairs in order, with repeats.

    >>> model = HashEntailment()
    >>> scores = model.entail([("a", "b"), ("b", "a"), ("a", "b")])
    >>> scores.windows.tolist(), bool(scores.entailment[0] == scores.entailment[2] != scores.entailment[1])
    ([1, 1, 1], True)
    """

    name: str = "hash"
    pairs_seen: list[tuple[str, str]] = field(default_factory=list)

    @property
    def fingerprint(self) -> str:
        """Everything that can change a probability."""
        return f"{ENTAILMENT}{self.name}@1,unlimited,fp64"

    def readable(self, hypotheses: Sequence[str], /) -> NDArray[np.bool_]:
        """Return True for every hypothesis, shape (n,)."""
        return np.ones(len(hypotheses), dtype=np.bool_)

    def entail(self, pairs: Sequence[tuple[str, str]], /) -> EntailmentScores:
        """Return probabilities of entailment, in (0, 1), and of contradiction, in (0, 1 − entailment)."""
        self.pairs_seen += pairs
        parts = np.array([_pair_shares(*pair) for pair in pairs], dtype=np.float64).reshape(-1, 2)
        entailment = parts[:, 0]
        return EntailmentScores(entailment, (1 - entailment) * parts[:, 1], np.ones(len(pairs), np.int64))


def _pair_shares(premise: str, hypothesis: str) -> list[float]:
    texts = [text.encode("utf-8", "surrogatepass") for text in (premise, hypothesis)]
    words = np.frombuffer(digest(*texts, size=8), dtype="<u4")
    return [(float(word) + 0.5) / 2.0**32 for word in words]


@dataclass(eq=False)
class ScriptedJudge:
    """Judge with scripted replies, which are validated like the replies of a real judge.

    A reply is a pydantic model or a JSON value; a text is the raw reply. An invalid reply raises
    JudgeMalformedError at once, without a repair request. Errors of the script are raised. Nothing is cached.

    Attributes:
        reply: a function of inquiry and schema, or a mapping from the prompt's name to its reply.
        budget: maximum tokens of passages in one inquiry.
        fingerprint: name in signatures.
        inquiries: all inquiries in order, with repeats.

    >>> import anyio
    >>> from sgi.kernel.sample import Sample
    >>> from sgi.metrics.judged.ratings import AnswerRelevanceRated
    >>> judge = ScriptedJudge({"ratings.answer_relevance": {"reasoning": "It says when.", "rating": 3}})
    >>> anyio.run(AnswerRelevanceRated().ask, Sample(id="1", question="When?", response="In 1950."), judge)
    StoredRating(reasoning='It says when.', rating=3)
    """

    reply: Script
    budget: int = 16_000
    fingerprint: str = "scripted"
    inquiries: list[Inquiry] = field(default_factory=list)

    async def ask(self, inquiry: Inquiry, schema: type[T], /) -> T:
        """Return the scripted reply, validated against the schema."""
        self.inquiries.append(inquiry)
        text = _as_text(self._find_reply(inquiry, schema))
        try:
            return schema.model_validate_json(text, strict=True, context=inquiry.context)
        except ValidationError as errors:
            problems = "; ".join(str(error["msg"]) for error in errors.errors(include_url=False))
            raise JudgeMalformedError(
                f"The judge's reply does not match the schema: {problems}.", text=text
            ) from None

    def _find_reply(self, inquiry: Inquiry, schema: type[ReplyModel]) -> object:
        if not isinstance(self.reply, Mapping):
            return self.reply(inquiry, schema)
        name = inquiry.prompt.name
        if name not in self.reply:
            raise UsageError(
                f"The script has no reply to {name!r}.", hint=f"It has: {', '.join(self.reply)}."
            )
        return self.reply[name]


def _as_text(reply: object) -> str:
    if isinstance(reply, str):
        return reply
    return reply.model_dump_json() if isinstance(reply, BaseModel) else json.dumps(reply)
