"""Retrieval metrics with the definitions of trec_eval: recall@k, precision@k, ndcg@k and others."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, NotRequired, cast

import numpy as np
from typing_extensions import TypedDict

from sgi.kernel.details import closed
from sgi.kernel.metric import Metric, MetricHelp, MetricSpec, Question, Scores, Status
from sgi.kernel.sample import GOLD, RETRIEVED, Field
from sgi.metrics.parameters import check_share
from sgi.stats.trec_measures import RankedHits
from sgi.text.overlap import contained, normalised, word_sequences

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray
    from pydantic import JsonValue

    from sgi.kernel.sample import Batch, Sample
    from sgi.kernel.vectors import Features

    Floats = NDArray[np.float64]


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


_TREC_EVAL = "trec_eval 9.0"
MAX_K = 1_000_000
"""The largest number of ranks that a metric reads."""

_LIMITS = (
    "A row has no value if none of its passages is marked as relevant. A relevant passage that is not marked "
    "counts as irrelevant."
)


def _spec(name: str, reading: str, citation: str = _TREC_EVAL) -> MetricSpec:
    guide = MetricHelp(Question.FOUND, reading, _LIMITS)
    return MetricSpec(
        name, 1, needs=RETRIEVED | GOLD, citation=citation, details=RetrievalDetails, guide=guide
    )


@dataclass(frozen=True)
class _RetrievalMetric(Metric[RetrievedGold]):
    """Base of the retrieval metrics."""

    threshold: float = 0.7

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", check_share("threshold", self.threshold))

    def prepare(self, rows: Batch, /) -> RetrievedGold:
        """Find the gold passages among the retrieved passages."""
        return RetrievedGold.of(rows, self.threshold)

    def score(self, found: RetrievedGold, _features: Features, /) -> Scores:
        """Return the score of each row."""
        return found.scores(self.values(found.hits))

    @abstractmethod
    def values(self, hits: RankedHits, /) -> Floats:
        """Return the value of each query, NaN if no passage is relevant."""


@dataclass(frozen=True)
class _CutMetric(_RetrievalMetric):
    """Base of the metrics that read the first k passages."""

    k: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k is not None and not (type(self.k) is int and 1 <= self.k <= MAX_K):
            raise ValueError(f"k must be a whole number from 1 to {MAX_K:,}, not {self.k!r}")


@dataclass(frozen=True)
class Recall(_CutMetric):
    r"""Share of the relevant passages that are among the first k retrieved passages.

    .. math:: \frac{|\text{relevant} \cap \text{first } k|}{|\text{relevant}|}

    In [0, 1]; trec_eval ``recall.k``. Without k, all retrieved passages count. A passage is relevant if its
    grade is above 0. The order of the passages in the row is their rank; retrieval scores are not read.

    If the row has relevance and context_ids, passages match by id. Otherwise the texts of gold_passages are
    searched in contexts: first texts that are equal except for case, space and punctuation, then texts that
    have at least ``threshold`` of the sequences of three words of the gold passage. The details name the
    match and its rank. The score is undefined if no passage is relevant.

    Attributes:
        k: the number of passages to read; None for all.
        threshold: the least share of the word sequences of a gold passage, in [0, 1].

    References: `trec_eval <https://github.com/usnistgov/trec_eval>`_.

    >>> from sgi.kernel.vectors import Features
    >>> from sgi.kernel.sample import Batch, Sample
    >>> row = Sample(id="1", context_ids=("a", "b", "c"), relevance={"a": 1, "c": 2, "d": 1, "e": 1})
    >>> metric = Recall(k=2)
    >>> metric.canonical, metric.score(metric.prepare(Batch.of([row])), Features.of()).values.tolist()
    ('recall@2', [0.25])
    """

    spec: ClassVar = _spec("recall", "1: all relevant passages were retrieved. 0.5: half of them. 0: none.")

    def values(self, hits: RankedHits, /) -> Floats:
        """Return the recall of each query."""
        return hits.recall(self.k)


@dataclass(frozen=True)
class Precision(_CutMetric):
    r"""Share of the first k retrieved passages that are relevant.

    .. math:: \frac{|\text{relevant} \cap \text{first } k|}{k}

    In [0, 1]; trec_eval ``P.k``. The divisor is k even if fewer passages were retrieved. Without k, it is the
    number of retrieved passages (``set_P``), and the score is 0 if nothing was retrieved. Matching, grades
    and undefined scores are as in `recall`.

    Attributes:
        k: the number of passages to read; None for all.
        threshold: as in `recall`.

    References: `trec_eval <https://github.com/usnistgov/trec_eval>`_.
    """

    spec: ClassVar = _spec(
        "precision",
        "1: all retrieved passages are relevant. 0: none is. It falls if you retrieve more passages than "
        "are relevant.",
    )

    def values(self, hits: RankedHits, /) -> Floats:
        """Return the precision of each query."""
        return hits.precision(self.k)


@dataclass(frozen=True)
class HitRate(_CutMetric):
    """1 if at least one of the first k retrieved passages is relevant, otherwise 0.

    0 or 1; trec_eval ``success.k``. Matching, grades and undefined scores are as in `recall`.

    Attributes:
        k: the number of passages to read; None for all.
        threshold: as in `recall`.

    References: `trec_eval <https://github.com/usnistgov/trec_eval>`_.
    """

    spec: ClassVar = _spec(
        "hit_rate",
        "1: at least one relevant passage was retrieved. 0: none. The mean is the share of questions with a "
        "hit.",
    )

    def values(self, hits: RankedHits, /) -> Floats:
        """Return 1 or 0 for each query."""
        return hits.hit_rate(self.k)


@dataclass(frozen=True)
class MeanReciprocalRank(_CutMetric):
    r"""Reciprocal rank of the first relevant passage; 0 if none of the first k is relevant.

    .. math:: 1 / \text{rank of the first relevant passage}

    In [0, 1]; trec_eval ``recip_rank``, with k as in the MRR@10 of MS MARCO. The mean over the rows is the
    mean reciprocal rank. Matching, grades and undefined scores are as in `recall`.

    Attributes:
        k: the number of passages to read; None for all.
        threshold: as in `recall`.

    References: `trec_eval <https://github.com/usnistgov/trec_eval>`_.
    """

    spec: ClassVar = _spec(
        "mrr", "1: the first passage is relevant. 0.5: only the second is. 0: no passage is."
    )

    def values(self, hits: RankedHits, /) -> Floats:
        """Return the reciprocal rank of each query."""
        return hits.reciprocal_rank(self.k)


@dataclass(frozen=True)
class Ndcg(_CutMetric):
    r"""Normalised discounted cumulative gain of the first k retrieved passages.

    .. math:: \sum_{i \le k} \frac{g_i}{\log_2(i + 1)} \Big/ \sum_{i \le k} \frac{g^*_i}{\log_2(i + 1)}

    The gain g of a passage is its grade (0 if it is negative); g* are the grades of all judged passages, in
    decreasing order, whether they were retrieved or not. In [0, 1]; trec_eval ``ndcg_cut.k``. Matching,
    grades and undefined scores are as in `recall`.

    Attributes:
        k: the number of passages to read; None for all.
        threshold: as in `recall`.

    References: Järvelin and Kekäläinen (2002), "Cumulated gain-based evaluation of IR techniques".
    """

    spec: ClassVar = _spec(
        "ndcg",
        "1: the most relevant passages come first. It falls if they come late or are absent. 0: no passage "
        "is relevant.",
        "Järvelin and Kekäläinen (2002)",
    )

    def values(self, hits: RankedHits, /) -> Floats:
        """Return the normalised gain of each query."""
        return hits.ndcg(self.k)


@dataclass(frozen=True)
class MeanAveragePrecision(_CutMetric):
    r"""Average precision of the first k retrieved passages.

    .. math:: \frac{1}{|\text{relevant}|} \sum_{i \le k,\ i \text{ relevant}} \text{precision@}i

    In [0, 1]; trec_eval ``map_cut.k``: the divisor is the number of all relevant passages, also if it is
    above k. The mean over the rows is the mean average precision. Matching, grades and undefined scores are
    as in `recall`.

    Attributes:
        k: the number of passages to read; None for all.
        threshold: as in `recall`.

    References: `trec_eval <https://github.com/usnistgov/trec_eval>`_.
    """

    spec: ClassVar = _spec(
        "map", "1: all relevant passages come first. It falls if one comes late or is absent."
    )

    def values(self, hits: RankedHits, /) -> Floats:
        """Return the average precision of each query."""
        return hits.average_precision(self.k)


@dataclass(frozen=True)
class RPrecision(_RetrievalMetric):
    """Precision at R, the number of relevant passages.

    In [0, 1]; trec_eval ``Rprec``. Matching, grades and undefined scores are as in `recall`.

    Attributes:
        threshold: as in `recall`.

    References: `trec_eval <https://github.com/usnistgov/trec_eval>`_.
    """

    spec: ClassVar = _spec(
        "r_precision", "If R passages are relevant: the share of the first R passages that are relevant."
    )

    def values(self, hits: RankedHits, /) -> Floats:
        """Return the precision at R of each query."""
        return hits.r_precision()
