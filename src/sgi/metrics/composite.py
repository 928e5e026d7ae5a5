"""Composite metrics: weighted means of several metrics (the parts), over the parts that have a value."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import BaseModel

from sgi.kernel.details import JudgedDetails, closed
from sgi.kernel.errors import JudgeError
from sgi.kernel.judged_metric import JudgedMetric, JudgedRows, UnusableReply
from sgi.kernel.metric import PERCENT, MetricSpec, Scores, Status
from sgi.metrics.judged.answer_relevance import AnsweredQuestions, AnswerRelevance
from sgi.metrics.judged.claims import Claims
from sgi.metrics.judged.context_precision import ContextPrecision, Relevances
from sgi.metrics.judged.context_recall import ContextRecall
from sgi.metrics.judged.faithfulness import Faithfulness
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

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pydantic import JsonValue

    from sgi.kernel.features import Features
    from sgi.kernel.protocols import Judge
    from sgi.kernel.sample import Batch, Sample

Failed = Literal["fail", "leave_out"]
"""What happens if a part fails: the row is ``failed``, or the mean leaves the part out."""

Conventions = Literal["document", "safe"]
"""Which conventions the parts follow: those of document 002, or those of the plain metrics."""

_PERCENT = 100.0
_NO_PART = "none of its parts has a value"
_NO_ROWS: Mapping[int, str] = {}
_WORST_FIRST = (Status.FAILED, Status.UNDEFINED, Status.MISSING)


def weighted_mean_of_parts(
    parts: Mapping[str, Scores], weights: Sequence[float], *, failed: Failed = "fail", high: float = 1.0
) -> Scores:
    r"""Return the weighted mean over the parts that have a value, with renormalised weights.

    .. math:: \sum_{i \in ok} w_i v_i \,/\, \sum_{i \in ok} w_i

    The mean leaves out parts that are undefined or missing, and parts of weight 0. A failed part makes the
    row ``failed``, because a failure of the judge must not raise a score; ``leave_out`` leaves it out too. If
    no part has a value, the row gets the worst status of its parts: failed, then undefined, then missing.

    Args:
        parts: the scores of each part by its name, for the same rows, in [0, high].
        weights: one weight for each part; none is negative, and at least one is above 0.
        failed: ``fail`` or ``leave_out``.
        high: maximum of the parts and of the mean.

    Returns:
        Scores whose details hold ``parts``, the value of each part or None, and ``reasons`` for each None.

    Source: document 002, section 5.

    >>> recall = Scores.of(np.array([1.0]))
    >>> precision = Scores.without_value(Status.MISSING, ["the sample has no contexts"])
    >>> scores = weighted_mean_of_parts({"recall": recall, "precision": precision}, [0.5, 0.5])
    >>> scores.values.tolist(), scores.details[0]["parts"]
    ([1.0], {'recall': 1.0, 'precision': None})
    """
    shares = [weight / max(weights) for weight in weights]
    n = len(next(iter(parts.values())))
    rows = [_row_of_parts(parts, shares, row, failed, high) for row in range(n)]
    return Scores.assemble(n, ((np.array([row]), one) for row, one in enumerate(rows)))


def _row_of_parts(
    parts: Mapping[str, Scores], shares: Sequence[float], row: int, failed: Failed, high: float
) -> Scores:
    counted = {
        name: (part, share) for (name, part), share in zip(parts.items(), shares, strict=True) if share
    }
    by_status: dict[str, list[str]] = {}
    for name, (part, _) in counted.items():
        by_status.setdefault(str(part.status[row]), []).append(name)
    used = by_status.get(Status.OK, [])
    broken = by_status.get(Status.FAILED, [])
    if not used or (broken and failed == "fail"):
        status = next(status for status in _WORST_FIRST if status in by_status)
        message = "; ".join(f"{name}: {counted[name][0].reasons[row]}" for name in by_status[status])
        return Scores.without_value(
            status, [message if status is Status.FAILED else f"{_NO_PART}: {message}"]
        )
    total = math.fsum(counted[name][1] for name in used)
    value = math.fsum(counted[name][1] * float(counted[name][0].values[row]) for name in used) / total
    return Scores.of(np.array([min(high, value)]), details=[_detail(parts, row)])


def _detail(parts: Mapping[str, Scores], row: int) -> dict[str, JsonValue]:
    values: dict[str, JsonValue] = {
        name: float(part.values[row]) if part.ok[row] else None for name, part in parts.items()
    }
    reasons: dict[str, JsonValue] = {
        name: part.reasons[row] for name, part in parts.items() if not part.ok[row]
    }
    return {"parts": values, "reasons": reasons} if reasons else {"parts": values}


@closed
class PartsDetails(JudgedDetails, total=False):
    """The value of each part.

    Attributes:
        parts: the value by the name of the part; null for a part without one.
        reasons: why a part has no value, by its name; absent if all parts have one.
    """

    parts: dict[str, float | None]
    reasons: dict[str, str]


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

    Limits: with ``safe``, a response without claims is scored by its other parts alone.

    Attributes:
        weights: the weights of F, CP, CR and AR; they are scaled to a sum of 1.
        conventions: ``document``: the ``ragas_`` metrics of document 002; ``safe``: the plain metrics.
        failed: ``fail``: a failed part makes the row ``failed``; ``leave_out``: the mean leaves it out.

    References: document 002, section 5.

    >>> from sgi import Batch, Features, JudgedRows, Sample
    >>> from sgi.metrics.judged.claims import Claim
    >>> row = Sample(id="1", contexts=["Anke."], response="Anke.", reference="Ida.")
    >>> anke = Claims(claims=(Claim(claim="It is Anke.", reason="Stated.", supported=1),))
    >>> ida = Claims(claims=(Claim(claim="It is Ida.", reason="Not there.", supported=0),))
    >>> parts = RagasParts(faithfulness=anke, context_recall=ida)
    >>> round(float(RagasScore().score(JudgedRows(Batch.of([row]), [parts]), Features()).values[0]), 4)
    60.0
    """

    weights: tuple[float, ...] = (0.3, 0.2, 0.2, 0.3)
    conventions: Conventions = "document"
    failed: Failed = "fail"
    spec: ClassVar = MetricSpec(
        "ragas_score",
        2,
        needs=frozenset(),
        high=_PERCENT,
        unit=PERCENT,
        citation="GraphRAG evaluation metrics, section 5",
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
        parts = [part for part in self._parts if _has_fields(part, sample)]
        judgements = await _ask_parts(parts, sample, judge)
        errors = {name: error for name, error in judgements.items() if isinstance(error, JudgeError)}
        return RagasParts(
            **{name: judgement for name, judgement in judgements.items() if name not in errors},
            failed={name: str(error) for name, error in errors.items()},
            replies={name: UnusableReply.of(error) for name, error in errors.items() if error.text},
        )

    def texts(self, judged: JudgedRows[RagasParts], /) -> Iterator[str]:
        """List the texts whose embeddings the parts compare."""
        for part in self._parts:
            if part.vector_needs is not None:
                judgements = [getattr(one, part.spec.name) for one in judged.judgements]
                yield from part.vector_needs.texts(_judged_rows(judged.batch, judgements)[1])

    def score(self, judged: JudgedRows[RagasParts], features: Features, /) -> Scores:
        """Return the weighted mean of each row's parts."""
        parts = {}
        for part in self._parts:
            name = part.spec.name
            judgements = [getattr(one, name) for one in judged.judgements]
            failed = {
                row: one.failed[name] for row, one in enumerate(judged.judgements) if name in one.failed
            }
            plain = _part_scores(part, judged.batch, judgements, features, failed)
            parts[name] = replace(plain, values=plain.values * _PERCENT)
        scores = weighted_mean_of_parts(parts, self.weights, failed=self.failed, high=_PERCENT)
        details = list(scores.details)
        for row in np.flatnonzero(~scores.ok).tolist():
            for reply in list(judged.judgements[row].replies.values())[:1]:
                details[row] = {**details[row], **reply.details()}
        return replace(scores, details=tuple(details))

    @property
    def _parts(self) -> tuple[JudgedMetric[Any], ...]:
        return _SAFE if self.conventions == "safe" else _DOCUMENT


def _has_fields(part: JudgedMetric[Any], sample: Sample) -> bool:
    return all(map(sample.has, part.spec.needs))


def _judged_rows(batch: Batch, judgements: Sequence[Any]) -> tuple[list[int], JudgedRows[Any]]:
    """Return the indices of the rows that have a judgement, and these rows with their judgements."""
    rows = [row for row, judgement in enumerate(judgements) if judgement is not None]
    return rows, JudgedRows(batch, judgements).take(rows)


def _part_scores(
    part: JudgedMetric[Any],
    batch: Batch,
    judgements: Sequence[Any],
    features: Features,
    failed: Mapping[int, str] = _NO_ROWS,
) -> Scores:
    """Score one part for all rows: those with a judgement, those that failed, and those that lack a field."""
    rows, judged = _judged_rows(batch, judgements)
    absent = sorted({*range(len(batch))} - {*rows, *failed})
    lacking = [batch.samples[row].missing_reason(part.spec.needs) for row in absent]
    without = Scores.without_value
    parts = [
        (rows, part.score(judged, features)),
        ([*failed], without(Status.FAILED, [*failed.values()])),
        (absent, without(Status.MISSING, lacking)),
    ]
    return Scores.assemble(len(batch), ((np.array(chosen, dtype=np.int64), one) for chosen, one in parts))


async def _ask_parts(
    parts: Sequence[JudgedMetric[Any]], sample: Sample, judge: Judge
) -> dict[str, BaseModel | JudgeError]:
    """Ask the judge about the parts concurrently; an error other than `JudgeError` cancels all requests."""
    import anyio

    judgements: dict[str, BaseModel | JudgeError] = {}

    async def ask(part: JudgedMetric[Any]) -> None:
        try:
            judgements[part.spec.name] = await part.ask(sample, judge)
        except JudgeError as error:
            judgements[part.spec.name] = error

    try:
        async with anyio.create_task_group() as group:
            for part in parts:
                group.start_soon(ask, part)
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return {part.spec.name: judgements[part.spec.name] for part in parts}


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

    >>> from sgi import Batch, Features, JudgedRows, Sample
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
                getattr(ratings, rating) if _has_fields(part, sample) else None
                for sample, ratings in zip(judged.batch.samples, judged.judgements, strict=True)
            ]
            parts[part.spec.name] = _part_scores(part, judged.batch, judgements, features)
        return weighted_mean_of_parts(parts, [1.0] * len(parts))


_RATED: Mapping[JudgedMetric[Any], str] = {
    AnswerRelevanceRated(): "answer_relevance",
    ContextRelevance(): "context_relevance",
    Groundedness(): "groundedness",
}
