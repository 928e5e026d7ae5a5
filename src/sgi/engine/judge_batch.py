"""Ask the judge about every row of a batch, for every judged metric."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import anyio

from sgi.engine.in_thread import first_error
from sgi.engine.model_wrappers import RepeatJudge
from sgi.engine.plan import missing_judge
from sgi.io.repeated_rows import judge_repeat
from sgi.kernel.errors import JudgeError
from sgi.kernel.judged_metric import JudgedMetric, UnusableReply, judged_metrics

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pydantic import BaseModel

    from sgi.kernel.metric import AnyMetric, Scores
    from sgi.kernel.protocols import Judge
    from sgi.kernel.sample import Batch, Sample

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
