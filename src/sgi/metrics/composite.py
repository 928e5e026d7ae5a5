"""Combines metrics: one number from the parts that have a value."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

import numpy as np
from pydantic import BaseModel, ConfigDict

from sgi.kernel.errors import JudgeError
from sgi.kernel.judged_metric import Judged, JudgedMetric, UnusableReply
from sgi.kernel.metric import PERCENT, MetricSpec, Scores, Status
from sgi.metrics.judged.answer_relevance import Answered, AnswerRelevance
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
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

    from pydantic import JsonValue

    from sgi.kernel.features import Features
    from sgi.kernel.protocols import Judge
    from sgi.kernel.sample import Batch, Sample

Failed = Literal["fail", "leave_out"]
"""What becomes of a composite one of whose parts failed."""

Conventions = Literal["document", "safe"]
"""Conventions of the parts: those of document 002, or those of the plain metrics."""

_PERCENT = 100.0
_NO_PART = "none of its parts has a value"
_NO_ROWS: Mapping[int, str] = {}
_WORST_FIRST = (Status.FAILED, Status.UNDEFINED, Status.MISSING)


def weighted_mean_of_parts(
    parts: Mapping[str, Scores], weights: Sequence[float], *, failed: Failed = "fail", high: float = 1.0
) -> Scores:
    r"""Weighted mean over the parts that have a value, with renormalised weights.

    .. math:: \sum_{i \in ok} w_i v_i \,/\, \sum_{i \in ok} w_i

    An undefined or missing part is left out. A failed part makes the row ``failed``, because a broken judge
    must never raise a score; with ``leave_out`` it is left out too. Parts of weight 0 do not count. A row
    without any part takes the worst status: failed, undefined, missing.

    Args:
        parts: scores by name, of the same rows, in [0, high].
        weights: one for each part, from 0, at least one above 0.
        failed: ``fail`` or ``leave_out``.
        high: the upper end of the scale of the parts; the mean never exceeds it.

    Returns:
        Scores with the details ``parts``, each part's value or None, and ``reasons`` of those without one.

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


class RagasParts(BaseModel):
    """Judgements of the four parts; None if the sample lacks a field or the judge failed.

    Attributes:
        failed: why the judge gave no usable reply, by part.
        replies: the last reply to such a part, if there is one.
    """

    model_config = ConfigDict(frozen=True)

    faithfulness: Claims | None = None
    context_precision: Relevances | None = None
    context_recall: Claims | None = None
    answer_relevance: Answered | None = None
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
    or the reason why it has none. Do not compare rows with different parts. The calls are those of the parts
    and shared with them: at most six a row for texts that fit into one request.

    A part that is undefined, or whose fields the sample lacks, is left out. A failed part makes the row
    ``failed``, unless ``failed`` says otherwise. If no part has a value, the row is undefined, or missing if
    the sample has the fields of no part.

    Limits: under ``safe``, a response without claims is scored by its other parts alone.

    Attributes:
        weights: of F, CP, CR and AR; scaled to a sum of one.
        conventions: ``document``, the parts are ``ragas_faithfulness`` and the other ``ragas_`` metrics of
            document 002; or ``safe``, the plain metrics, such as ``faithfulness``.
        failed: ``fail``; or ``leave_out``, which scores the other parts.

    References: document 002, section 5.

    >>> from sgi.kernel.sample import Batch, Sample
    >>> from sgi.kernel.features import Features
    >>> from sgi.kernel.judged_metric import Judged
    >>> from sgi.metrics.judged.claims import Claim
    >>> row = Sample(id="1", contexts=["Anke."], response="Anke.", reference="Ida.")
    >>> parts = RagasParts(
    ...     faithfulness=Claims(claims=(Claim(claim="It is Anke.", reason="Stated.", supported=1),)),
    ...     context_recall=Claims(claims=(Claim(claim="It is Ida.", reason="Not there.", supported=0),)),
    ... )
    >>> round(float(RagasScore().score(Judged(Batch.of([row]), [parts]), Features()).values[0]), 4)
    60.0
    """

    weights: tuple[float, ...] = (0.3, 0.2, 0.2, 0.3)
    conventions: Conventions = "document"
    failed: Failed = "fail"
    spec: ClassVar = MetricSpec(
        "ragas_score",
        2,
        needs=frozenset(),
        low=0.0,
        high=_PERCENT,
        unit=PERCENT,
        citation="GraphRAG evaluation metrics, section 5",
    )
    judgement: ClassVar = RagasParts
    prompts: ClassVar = tuple({p.name: p for part in _SAFE for p in part.prompts}.values())

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", checked_weights(self.weights, _NAMES))
        check_choice("conventions", self.conventions, Conventions)
        check_choice("failed", self.failed, Failed)

    async def ask(self, sample: Sample, judge: Judge, /) -> RagasParts:
        """Ask for the judgements of all possible parts concurrently."""
        parts = [part for part in self._parts if _has_fields(part, sample)]
        judgements = await _at_once([_ask_job(part, sample, judge) for part in parts])
        by_name = {part.spec.name: answer for part, answer in zip(parts, judgements, strict=True)}
        errors = {name: answer for name, answer in by_name.items() if isinstance(answer, JudgeError)}
        valid = {name: answer for name, answer in by_name.items() if name not in errors}
        return RagasParts(
            **valid,
            failed={name: str(error) for name, error in errors.items()},
            replies={name: UnusableReply.of(error) for name, error in errors.items() if error.text},
        )

    def texts(self, judged: Judged[RagasParts], /) -> Iterator[str]:
        """List the texts that the parts compare."""
        for part in self._parts:
            if part.vector_needs is not None:
                judgements = [getattr(one, part.spec.name) for one in judged.judgements]
                yield from part.vector_needs.texts(_judged_rows(judged.batch, judgements)[1])

    def score(self, judged: Judged[RagasParts], features: Features, /) -> Scores:
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
        rows = zip(scores.details, scores.ok, judged.judgements, strict=True)
        details = [body if ok else {**body, **_reply_details(judgement)} for body, ok, judgement in rows]
        return replace(scores, details=tuple(details))

    @property
    def _parts(self) -> tuple[JudgedMetric[Any], ...]:
        return _SAFE if self.conventions == "safe" else _DOCUMENT


def _reply_details(judgements: RagasParts) -> dict[str, JsonValue]:
    """Return the first unusable reply, for the details of a failed row."""
    return next((reply.details() for reply in judgements.replies.values()), {})


def _has_fields(part: JudgedMetric[Any], sample: Sample) -> bool:
    return all(map(sample.has, part.spec.needs))


def _judged_rows(batch: Batch, judgements: Sequence[Any]) -> tuple[list[int], Judged[Any]]:
    """Return the rows that have a judgement, with their positions."""
    rows = [row for row, judgement in enumerate(judgements) if judgement is not None]
    return rows, Judged(batch, judgements).take(rows)


def _part_scores(
    part: JudgedMetric[Any],
    batch: Batch,
    judgements: Sequence[Any],
    features: Features,
    failed: Mapping[int, str] = _NO_ROWS,
) -> Scores:
    """Score one part: rows with a judgement, rows that failed, and rows that lack a field."""
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


class _Asking(Protocol):
    def __call__(self) -> Awaitable[BaseModel | JudgeError]: ...


def _ask_job(part: JudgedMetric[Any], sample: Sample, judge: Judge) -> _Asking:
    async def ask() -> BaseModel | JudgeError:
        try:
            judgement: BaseModel = await part.ask(sample, judge)
        except JudgeError as error:
            return error
        return judgement

    return ask


async def _at_once(jobs: Sequence[Callable[[], Awaitable[Any]]]) -> list[Any]:
    """Run the jobs concurrently; the first error cancels the others."""
    import anyio

    results: list[Any] = [None] * len(jobs)

    async def run(place: int) -> None:
        results[place] = await jobs[place]()

    try:
        async with anyio.create_task_group() as group:
            for place in range(len(jobs)):
                group.start_soon(run, place)
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return results


@dataclass(frozen=True)
class LlmJudgedOverall(JudgedMetric[Ratings]):
    r"""Mean of the rated answer relevance, context relevance and groundedness.

    .. math:: \frac{1}{|ok|} \sum_{i \in ok} rating_i / 3

    In [0, 1]; computed here, never taken from the judge. One call a row, shared with the parts. A part that
    is undefined, or whose fields the sample lacks, is left out; the details hold the parts. If the judge
    fails, the row fails. If no part has a value the row is undefined, or missing if the sample has the fields
    of none.

    Limits: those of its parts; do not compare rows with different parts.

    References: document 003, its rated columns.

    >>> from sgi.kernel.sample import Batch, Sample
    >>> from sgi.kernel.features import Features
    >>> from sgi.kernel.judged_metric import Judged
    >>> row = Batch.of([Sample(id="1", question="When?", response="In 1950.")])
    >>> ratings = Ratings(answer_relevance={"reasoning": "It gives the year.", "rating": 3})
    >>> LlmJudgedOverall().score(Judged(row, [ratings]), Features()).values.tolist()
    [1.0]
    """

    spec: ClassVar = MetricSpec(
        "llm_judged_overall",
        1,
        needs=frozenset(),
        low=0.0,
        high=1.0,
        citation="RAG evaluation records, rated triad",
    )
    judgement: ClassVar = Ratings
    prompts: ClassVar = (ALL, ANSWER, CONTEXT, GROUNDED)

    async def ask(self, sample: Sample, judge: Judge, /) -> Ratings:
        """Ask for every rating that the sample's texts allow."""
        return await ratings_of(sample, judge)

    def score(self, judged: Judged[Ratings], features: Features, /) -> Scores:
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
