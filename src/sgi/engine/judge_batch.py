"""Ask the target for the answers of a batch, and the judge about every row, for every judged metric."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import anyio

from sgi.engine.in_thread import first_error
from sgi.engine.model_wrappers import RepeatJudge
from sgi.engine.plan import missing_judge
from sgi.io.repeated_rows import answer_id, judge_repeat
from sgi.kernel.errors import JudgeError, TargetError
from sgi.kernel.judged_metric import JudgedMetric, UnusableReply, judged_metrics
from sgi.kernel.sample import Batch, Field

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pydantic import BaseModel

    from sgi.kernel.metric import AnyMetric, Scores
    from sgi.kernel.protocols import Judge, Target
    from sgi.kernel.sample import Sample
    from sgi.store.samples import StoredAnswer

Judgements = tuple["BaseModel | None", ...]
"""The judgement of each row for one metric; None where there is none."""


@dataclass(frozen=True, eq=False)
class BatchJudgements:
    """The judgements of a batch, by the canonical strings of the metrics.

    Attributes:
        evidence: the judgement of each row; None for a row without one.
        failures: the reason for each row without a usable reply, by the row's index.
        replies: the last unusable reply about such a row, if the judge replied.
    """

    evidence: Mapping[str, Judgements] = field(default_factory=dict)
    failures: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    replies: Mapping[str, Mapping[int, UnusableReply]] = field(default_factory=dict)

    @classmethod
    def join(cls, parts: Sequence[tuple[int, BatchJudgements]]) -> Self:
        """Join the judgements of consecutive parts of a batch; each comes with its number of rows."""
        evidence: dict[str, list[BaseModel | None]] = {}
        failures: dict[str, dict[int, str]] = {}
        replies: dict[str, dict[int, UnusableReply]] = {}
        start = 0
        for rows, part in parts:
            for name, judgements in part.evidence.items():
                evidence.setdefault(name, []).extend(judgements)
            for name, reasons in part.failures.items():
                failures.setdefault(name, {}).update({start + row: why for row, why in reasons.items()})
            for name, unusable in part.replies.items():
                replies.setdefault(name, {}).update({start + row: reply for row, reply in unusable.items()})
            start += rows
        return cls({name: tuple(rows) for name, rows in evidence.items()}, failures, replies)

    def with_replies(self, scores: Mapping[str, Scores]) -> dict[str, Scores]:
        """Add the unusable replies to the details of the rows that failed."""
        new_scores = dict(scores)
        for metric, replies in self.replies.items():
            if replies:
                details = [*new_scores[metric].details]
                for row, reply in replies.items():
                    details[row] = {**details[row], **reply.details()}
                new_scores[metric] = replace(new_scores[metric], details=tuple(details))
        return new_scores


async def ask_batch(
    batch: Batch,
    metrics: Sequence[AnyMetric],
    judge: Judge | None,
    failed: Mapping[int, str],
    on_reply: Callable[[], None] = lambda: None,
) -> BatchJudgements:
    """Ask every judged metric about every row that has its fields; the judge limits concurrency.

    Args:
        batch: the rows.
        metrics: the metrics; those that need no judge are skipped.
        judge: the judge; may be None if no metric needs one.
        failed: rows that failed already; the judge is not asked about them.
        on_reply: called once for each row and metric, when the judge has replied or failed.

    Raises:
        UsageError: a metric needs a judge and there is none.
    """
    asking = judged_metrics(metrics)
    if not asking:
        return BatchJudgements()
    if judge is None:
        raise missing_judge(asking)
    numbers = {1, *map(judge_repeat, batch.samples)}
    judges = {number: judge if number == 1 else RepeatJudge(judge, number) for number in numbers}
    evidence: dict[str, list[BaseModel | None]] = {metric.canonical: [None] * len(batch) for metric in asking}
    errors: dict[str, dict[int, JudgeError]] = {metric.canonical: {} for metric in asking}

    async def ask(metric: JudgedMetric[Any], row: int, sample: Sample) -> None:
        try:
            evidence[metric.canonical][row] = await metric.ask(sample, judges[judge_repeat(sample)])
        except JudgeError as error:
            errors[metric.canonical][row] = error
        except Exception as error:
            error.add_note(f"in metric {metric.canonical}, sample {sample.id}")
            raise
        on_reply()

    try:
        async with anyio.create_task_group() as group:
            for row, sample in enumerate(batch.samples):
                for metric in asking:
                    if row not in failed and all(map(sample.has, metric.spec.needs)):
                        group.start_soon(ask, metric, row, sample)
    except BaseExceptionGroup as raised:
        raise first_error(raised) from None
    return BatchJudgements(
        {name: tuple(rows) for name, rows in evidence.items()},
        {name: {row: str(error) for row, error in rows.items()} for name, rows in errors.items()},
        {name: _replies(rows) for name, rows in errors.items()},
    )


def _replies(errors: Mapping[int, JudgeError]) -> dict[int, UnusableReply]:
    return {row: UnusableReply.of(error) for row, error in errors.items() if error.text}


@dataclass(frozen=True, eq=False)
class AnsweredBatch:
    """A batch of samples, with the answers of the target if there is one.

    Attributes:
        start: the position of the first sample in the data.
        samples: the samples as they were read.
        batch: the samples with the target's answers as responses; equal to ``samples`` without a target.
        failed: the reason for each row without an answer, by its index in the batch.
    """

    start: int
    samples: tuple[Sample, ...]
    batch: Batch
    failed: Mapping[int, str] = field(default_factory=dict)


async def answer_batch(
    start: int,
    batch: Batch,
    target: Target,
    *,
    known: Mapping[int, StoredAnswer],
    keep: Callable[[Mapping[int, StoredAnswer]], None],
) -> AnsweredBatch:
    """Ask the target every question of a batch, except those with a known answer.

    Rows that are judgements of the same answer share one answer.

    Args:
        start: the position of the first sample.
        batch: the samples.
        target: the RAG system; it limits its own concurrency.
        known: stored answers by position; stored failures are requested again.
        keep: called with each answer and its position, as soon as it arrives.
    """
    answers = {position: answer for position, answer in known.items() if answer.response is not None}
    groups: dict[str, list[int]] = {}
    for position, sample in enumerate(batch.samples, start):
        groups.setdefault(answer_id(sample), []).append(position)

    async def ask(positions: Sequence[int]) -> None:
        answer = await _ask_target(batch.samples[positions[0] - start], target)
        same = dict.fromkeys(positions, answer)
        answers.update(same)
        keep(same)

    async with anyio.create_task_group() as group:
        for positions in groups.values():
            if not all(position in answers for position in positions):
                group.start_soon(ask, positions)
    ordered = [answers[start + row] for row in range(len(batch))]
    samples = tuple(
        sample.with_response(answer.response, answer.contexts, answer.costs, answer.ranking)
        for sample, answer in zip(batch.samples, ordered, strict=True)
    )
    failed = {row: answer.reason for row, answer in enumerate(ordered) if answer.reason is not None}
    return AnsweredBatch(start, batch.samples, Batch(samples), failed)


async def _ask_target(sample: Sample, target: Target) -> StoredAnswer:
    from sgi.store.samples import StoredAnswer  # it imports SQLAlchemy, which a Scorer does not need

    began = time.perf_counter()
    if not sample.has(Field.QUESTION):
        return StoredAnswer(None, reason="the sample has no question to ask")
    try:
        reply = await target.answer(sample.question)
    except TargetError as error:
        return StoredAnswer(None, reason=str(error), seconds=time.perf_counter() - began)
    seconds = time.perf_counter() - began
    return StoredAnswer(
        reply.response, reply.contexts, seconds=seconds, costs=reply.costs, ranking=reply.ranking
    )
