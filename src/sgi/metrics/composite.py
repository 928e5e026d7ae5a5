"""Composite metrics: weighted means of several metrics (the parts), over the parts that have a value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from pydantic import BaseModel

from sgi.kernel.judged_metric import JudgedMetric, JudgedRows, UnusableReply
from sgi.kernel.metric import PERCENT, MetricHelp, MetricSpec, Question, Scores
from sgi.metrics.judged.answer_relevance import AnsweredQuestions, AnswerRelevance
from sgi.metrics.judged.claims import Claims
from sgi.metrics.judged.context_precision import ContextPrecision, Relevances
from sgi.metrics.judged.faithfulness import ContextRecall, Faithfulness
from sgi.metrics.judged.ratings import (
    ALL,
    ANSWER,
    CONTEXT,
    GROUNDED,
    AnswerRelevanceRated,
    ContextRelevance,
    Groundedness,
    Ratings,
    ratings_of,
)
from sgi.metrics.parameters import check_choice, checked_weights
from sgi.metrics.parts import (
    Failed,
    PartRows,
    PartsDetails,
    ask_parts,
    has_fields,
    weighted_mean_of_parts,
    with_replies,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sgi.kernel.protocols import Judge
    from sgi.kernel.sample import Sample
    from sgi.kernel.vectors import Features

Conventions = Literal["document", "safe"]
"""Which conventions the parts follow: those of document 002, or those of the plain metrics."""

_PERCENT = 100.0


class RagasParts(BaseModel, frozen=True):
    """Judgements of the four parts; a part is None if the sample lacks a field or the judge failed.

    Attributes:
        failed: why the judge gave no usable reply, for each part that failed.
        replies: the last reply of the judge for each part that failed, if there was a reply.
    """

    faithfulness: Claims | None = None
    context_precision: Relevances | None = None
    context_recall: Claims | None = None
    answer_relevance: AnsweredQuestions | None = None
    failed: dict[str, str] = {}
    replies: dict[str, UnusableReply] = {}


_SAFE: tuple[JudgedMetric[Any], ...] = (
    Faithfulness(),
    ContextPrecision(),
    ContextRecall(),
    AnswerRelevance(),
)
_DOCUMENT: tuple[JudgedMetric[Any], ...] = (
    Faithfulness(empty="full"),
    ContextPrecision(empty="zero"),
    ContextRecall(empty="full"),
    AnswerRelevance(noncommittal="ignore"),
)
_NAMES = tuple(part.spec.name for part in _SAFE)


class _PreparedParts(NamedTuple):
    parts: tuple[PartRows, ...]
    replies: Sequence[Mapping[str, UnusableReply]]


@dataclass(frozen=True)
class RagasScore(JudgedMetric[RagasParts]):
    r"""Weighted mean of the four RAGAS metrics, in percent.

    .. math:: 0.30\,F + 0.20\,CP + 0.20\,CR + 0.30\,AR

    F is faithfulness, CP context precision, CR context recall, AR answer relevance, in percent; the weights
    are renormalised over the parts that have a value. The details hold the value of each part, from 0 to 100,
    or the reason why it has none. Do not compare rows with different parts. The metric shares its judge calls
    with the four metrics: at most six per row if the texts fit into one request.

    A part that is undefined, or whose fields the sample lacks, is left out. If no part has a value, the row
    is undefined, or missing if the sample has the fields of no part.

    Limits: with ``document``, a blank response has a faithfulness of 100, as in document 002, so good
    passages give it a score of up to 70; with ``safe`` its faithfulness is 0. With ``safe``, a response
    without claims is scored by its other parts alone.

    Attributes:
        weights: the weights of F, CP, CR and AR; they are scaled to a sum of 1.
        conventions: ``document``: the ``ragas_`` metrics of document 002; ``safe``: the plain metrics.
        failed: ``fail``: a failed part makes the row ``failed``; ``leave_out``: the mean leaves it out.

    References: document 002, section 5.

    >>> from sgi.types import Batch, Features, JudgedRows, Sample
    >>> from sgi.metrics.judged.claims import Claim
    >>> row = Sample(id="1", contexts=["Anke."], response="Anke.", reference="Ida.")
    >>> anke = Claims(claims=(Claim(claim="It is Anke.", reason="Stated.", supported=1),))
    >>> ida = Claims(claims=(Claim(claim="It is Ida.", reason="Not there.", supported=0),))
    >>> parts = RagasParts(faithfulness=anke, context_recall=ida)
    >>> metric = RagasScore()
    >>> prepared = metric.prepare(JudgedRows(Batch.of([row]), [parts]))
    >>> round(float(metric.score(prepared, Features()).values[0]), 4)
    60.0
    """

    weights: tuple[float, ...] = (0.3, 0.2, 0.2, 0.3)
    conventions: Conventions = "document"
    failed: Failed = "fail"
    spec: ClassVar = MetricSpec(
        "ragas_score",
        3,
        needs=frozenset(),
        high=_PERCENT,
        unit=PERCENT,
        citation="GraphRAG evaluation metrics, section 5",
        guide=MetricHelp(
            Question.OTHER,
            "100: the best value of all four parts. The details have the parts.",
            "A mean hides a bad part: read the parts too. A row fails if the judge gives no usable reply.",
        ),
        details=PartsDetails,
    )
    judgement: ClassVar = RagasParts
    prompts: ClassVar = tuple({p.name: p for part in _SAFE for p in part.prompts}.values())

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", checked_weights(self.weights, _NAMES))
        check_choice("conventions", self.conventions, Conventions)
        check_choice("failed", self.failed, Failed)

    async def ask(self, sample: Sample, judge: Judge, /) -> RagasParts:
        """Ask the judge, concurrently, about all parts whose fields the sample has."""
        judgements, failures = await ask_parts(self._parts, sample, judge)
        return RagasParts(**judgements, **failures)

    def prepare(self, rows: JudgedRows[RagasParts], /) -> _PreparedParts:
        """Select the rows of each part."""
        judgements = rows.judgements
        return _PreparedParts(
            tuple(
                PartRows.of_judged(
                    part,
                    rows.batch,
                    [getattr(one, name) for one in judgements],
                    {row: one.failed[name] for row, one in enumerate(judgements) if name in one.failed},
                )
                for name, part in self._parts.items()
            ),
            [one.replies for one in judgements],
        )

    def texts(self, prepared: _PreparedParts, /) -> Iterator[str]:
        """List the texts whose embeddings the parts compare."""
        for part in prepared.parts:
            if part.metric.vector_needs is not None:
                yield from part.metric.vector_needs.texts(part.prepared)

    def score(self, prepared: Any, features: Features, /) -> Scores:
        """Return the weighted mean of each row's parts."""
        parts = {part.metric.spec.name: part.scores(features) for part in prepared.parts}
        percent = {name: replace(part, values=part.values * _PERCENT) for name, part in parts.items()}
        scores = weighted_mean_of_parts(percent, self.weights, failed=self.failed, high=_PERCENT)
        return with_replies(scores, prepared.replies)

    @property
    def _parts(self) -> dict[str, JudgedMetric[Any]]:
        parts = _SAFE if self.conventions == "safe" else _DOCUMENT
        return {part.spec.name: part for part in parts}


@dataclass(frozen=True)
class LlmJudgedOverall(JudgedMetric[Ratings]):
    r"""Mean of the judge's ratings of answer relevance, context relevance and groundedness.

    .. math:: \frac{1}{|ok|} \sum_{i \in ok} rating_i / 3

    In [0, 1]; the judge gives the ratings, and the metric computes their mean. One judge call per row, shared
    with the three metrics. A part that is undefined, or whose fields the sample lacks, is left out; the
    details hold all parts. If no part has a value, the row is undefined, or missing if it has the fields of
    no part.

    Limits: those of its parts; do not compare rows with different parts.

    References: document 003, its rated columns.

    >>> from sgi.types import Batch, Features, JudgedRows, Sample
    >>> row = Batch.of([Sample(id="1", question="When?", response="In 1950.")])
    >>> ratings = Ratings(answer_relevance={"reasoning": "It gives the year.", "rating": 3})
    >>> LlmJudgedOverall().score(JudgedRows(row, [ratings]), Features()).values.tolist()
    [1.0]
    """

    spec: ClassVar = MetricSpec(
        "llm_judged_overall",
        1,
        needs=frozenset(),
        citation="RAG evaluation records, rated triad",
        guide=MetricHelp(
            Question.OTHER,
            "1: excellent in all ratings. 0: bad in all. The details have the parts.",
            "A mean hides a bad part: read the parts too. A row fails if the judge gives no usable reply.",
        ),
        details=PartsDetails,
    )
    judgement: ClassVar = Ratings
    prompts: ClassVar = (ALL, ANSWER, CONTEXT, GROUNDED)

    async def ask(self, sample: Sample, judge: Judge, /) -> Ratings:
        """Ask the judge for every rating for which the sample has the texts."""
        return await ratings_of(sample, judge)

    def score(self, judged: JudgedRows[Ratings], features: Features, /) -> Scores:
        """Return the mean of each row's ratings."""
        parts = {}
        for part, rating in _RATED.items():
            judgements = [
                getattr(ratings, rating) if has_fields(part, sample) else None
                for sample, ratings in zip(judged.batch.samples, judged.judgements, strict=True)
            ]
            parts[part.spec.name] = PartRows.of_judged(part, judged.batch, judgements).scores(features)
        return weighted_mean_of_parts(parts, [1.0] * len(parts))


_RATED: Mapping[JudgedMetric[Any], str] = {
    AnswerRelevanceRated(): "answer_relevance",
    ContextRelevance(): "context_relevance",
    Groundedness(): "groundedness",
}
