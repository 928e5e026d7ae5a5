"""Finds the gold passages among the retrieved passages of each row: by id, or by text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NotRequired, cast

import numpy as np
from typing_extensions import TypedDict

from sgi.kernel.details import closed
from sgi.kernel.metric import Scores, Status
from sgi.kernel.sample import Field
from sgi.stats.trec_measures import RankedHits
from sgi.text.overlap import contained, normalised, word_sequences

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray
    from pydantic import JsonValue

    from sgi.kernel.sample import Batch, Sample

_NO_GOLD = "no passage is relevant to the question"


@closed
class Hit(TypedDict):
    """A retrieved passage that is relevant.

    Attributes:
        rank: its position among the retrieved passages, from 1.
        grade: its relevance.
        match: how the gold passage was found: ``id``, ``text`` or ``similarity``.
        id: the id of the passage, if it was found by id.
        gold: the position of the gold passage, from 1, if it was found by its text.
        similarity: the share of the word sequences of the gold passage that the passage has.
    """

    rank: int
    grade: int
    match: Literal["id", "text", "similarity"]
    id: NotRequired[str]
    gold: NotRequired[int]
    similarity: NotRequired[float]


@closed
class RetrievalDetails(TypedDict, total=False):
    """The relevant passages that were retrieved, at any rank.

    Attributes:
        relevant: the number of relevant passages.
        retrieved: the number of retrieved passages.
        hits: the relevant passages that were retrieved, by rank.
    """

    relevant: int
    retrieved: int
    hits: list[Hit]


@dataclass(frozen=True, eq=False)
class RetrievedGold:
    """The hits of the rows of a batch that have gold and retrieved passages of the same kind.

    Attributes:
        rows: the numbers of these rows, shape (m,).
        details: the hits of each of these rows, as JSON.
        missing: the reason for each other row, by its number.
        n: the number of all rows.
    """

    hits: RankedHits
    rows: NDArray[np.int64]
    details: Sequence[RetrievalDetails]
    missing: dict[int, str]
    n: int

    @classmethod
    def of(cls, batch: Batch, threshold: float) -> RetrievedGold:
        """Find the hits of a batch; the metrics of a batch share the result."""
        return batch.compute_once(cls._of, threshold)

    @classmethod
    def _of(cls, batch: Batch, threshold: float) -> RetrievedGold:
        found: dict[int, tuple[list[Hit], list[int], int]] = {}
        missing: dict[int, str] = {}
        for row, sample in enumerate(batch.samples):
            has_ids = sample.has(Field.CONTEXT_IDS) or (sample.has(Field.CONTEXTS) and not sample.contexts)
            if sample.has(Field.RELEVANCE) and has_ids:
                found[row] = _hits_by_id(sample), [*sample.relevance.values()], len(sample.context_ids)
            elif sample.has(Field.GOLD_PASSAGES) and sample.has(Field.CONTEXTS):
                gold = [*dict.fromkeys(filter(None, map(normalised, sample.gold_passages)))]
                found[row] = _hits_by_text(sample, gold, threshold), [1] * len(gold), len(sample.contexts)
            elif sample.has(Field.RELEVANCE):
                missing[row] = "the sample has relevance but no context_ids"
            else:
                missing[row] = "the sample has gold_passages but no contexts"
        pairs = [[(hit["rank"], hit["grade"]) for hit in hits] for hits, _, _ in found.values()]
        retrieved = [number for _, _, number in found.values()]
        details: list[RetrievalDetails] = [
            {"relevant": sum(grade > 0 for grade in gold), "retrieved": number, "hits": hits}
            for hits, gold, number in found.values()
        ]
        ranked = RankedHits.of(pairs, retrieved, [gold for _, gold, _ in found.values()])
        return cls(ranked, np.array([*found], dtype=np.int64), details, missing, len(batch))

    def scores(self, values: NDArray[np.float64]) -> Scores:
        """Return the scores of all rows, given the values of the rows in ``rows``."""
        lacking = np.array([*self.missing], dtype=np.int64)
        details = cast("Sequence[Mapping[str, JsonValue]]", self.details)
        known = Scores.of(values, undefined={_NO_GOLD: self.hits.relevant == 0}, details=details)
        unknown = Scores.without_value(Status.MISSING, [*self.missing.values()])
        return Scores.assemble(self.n, [(self.rows, known), (lacking, unknown)])


def _hits_by_id(sample: Sample) -> list[Hit]:
    relevant = {name: grade for name, grade in sample.relevance.items() if grade > 0}
    return [
        {"rank": rank, "grade": relevant[name], "match": "id", "id": name}
        for rank, name in enumerate(sample.context_ids, 1)
        if name in relevant
    ]


def _hits_by_text(sample: Sample, gold: Sequence[str], threshold: float) -> list[Hit]:
    """Pair passages with gold passages: first equal texts, then by rank the most similar gold passage left.

    Each gold passage is found once, so a repeated passage is not relevant again.
    """
    texts = [normalised(text) for text in sample.contexts]
    open_gold = {text: number for number, text in enumerate(gold, 1)}
    hits: dict[int, Hit] = {}
    for rank, text in enumerate(texts, 1):
        if (number := open_gold.pop(text, None)) is not None:
            hits[rank] = {"rank": rank, "grade": 1, "match": "text", "gold": number}
    sequences = {number: word_sequences(text) for text, number in open_gold.items()}
    for rank, text in enumerate(texts, 1):
        if rank in hits or not sequences:
            continue
        whole = word_sequences(text)
        similarity, number = max((contained(part, whole), -number) for number, part in sequences.items())
        if similarity >= threshold:
            del sequences[-number]
            hits[rank] = {"rank": rank, "grade": 1, "match": "similarity", "gold": -number}
            hits[rank]["similarity"] = similarity
    return [hits[rank] for rank in sorted(hits)]
