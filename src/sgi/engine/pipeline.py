"""Scores a dataset batch by batch, in constant memory, into the store and a file."""

from __future__ import annotations

from collections import deque
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

import anyio

from sgi.engine.accumulator import Accumulator
from sgi.engine.cascade import detector_of
from sgi.engine.export import output_rows
from sgi.engine.in_thread import first_error
from sgi.engine.judge_batch import AnsweredBatch, BatchJudgements, answer_batch, ask_batch
from sgi.engine.open_resources import open_resources
from sgi.engine.plan import BATCH_SIZE, planned_batches
from sgi.engine.progress import Advanced, Embedded, Finished, Judged, Started, silent
from sgi.engine.routing import Router, fit_threshold, route_batch, score_routed
from sgi.engine.run_options import MAX_FAILURES
from sgi.engine.score import BatchScores, evaluate_batch
from sgi.engine.summarise import summarise
from sgi.engine.token_features import with_frequencies
from sgi.io.write import RowWriter, open_writer
from sgi.kernel.errors import EmbedderError, JudgeError, SgiError, TargetError
from sgi.kernel.judged_metric import judged_metrics
from sgi.kernel.protocols import Usage, usage_of
from sgi.models.batching import counting_work

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from pydantic import JsonValue

    from sgi.engine.cascade import Cascade
    from sgi.engine.plan import Plan
    from sgi.engine.progress import Listener
    from sgi.engine.resources import Resources
    from sgi.engine.routing import RoutedBatch
    from sgi.engine.run_options import RunOptions
    from sgi.engine.run_recorder import Recording
    from sgi.engine.summary import Summary
    from sgi.io.column_use import ColumnUse
    from sgi.io.readers import Dataset
    from sgi.io.rows import RejectedRow
    from sgi.kernel.sample import Batch

T = TypeVar("T")
P = TypeVar("P")

_IN_FLIGHT = 3
"""Batches that are prepared at the same time."""
_IN_FLIGHT_BATCHED = 40
"""The same with a judge that is asked in batches: the more rows wait together, the fewer batches."""


@dataclass(frozen=True)
class RunReport:
    """What the scoring of a run returns: failures, rejected rows, judge usage and used columns.

    Attributes:
        failures: the failed rows of the metric with the largest share of them.
        rejected: rows that could not be read.
        run: the run's id in the store; None if it is not stored.
        usage: judge usage since the run was started or resumed.
        cached_failures: number of rows that failed because a cached reply of the judge is unusable;
            ``retry_failed`` asks again.
        columns: the field that each column of the data became; None if the data was not read.
    """

    summary: Summary
    failures: float
    rejected: int
    run: str | None = None
    usage: Usage = field(default_factory=Usage)
    cached_failures: int = 0
    columns: ColumnUse | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        return f"RunReport(run={self.run!r}, rows={self.summary.rows}, rejected={self.rejected})"


@dataclass(frozen=True, eq=False)
class Pipeline:
    """Scores a planned dataset batch by batch, in constant memory.

    While one batch is scored, the next batches are already sent to target and judge.

    Attributes:
        cascade: the cascade with its fitted threshold; None sends every row to the judge.
        recording: stores each batch, and supplies the stored batches of a resumed run.
        on_reject: called with each row that cannot be read; None raises the first error.
        max_failures: the share of failed rows above which scoring stops.
    """

    dataset: Dataset
    plan: Plan
    resources: Resources
    cascade: Cascade | None = None
    recording: Recording | None = None
    on_reject: Callable[[RejectedRow], None] | None = None
    max_failures: float = MAX_FAILURES
    listener: Listener = silent

    async def score(self, take: Callable[[Batch, BatchScores], None]) -> Accumulator:
        """Score all batches, hand each to ``take`` in order, and return the numbers for the summary.

        Raises:
            EmbedderError, JudgeError, TargetError: more than ``max_failures`` of the rows failed.
            BudgetExceededError: the judge reached its ``max_cost``.
            DataError: a row cannot be read, or the data differs from what was planned.
        """
        self.listener(Started("scoring", self.plan.rows))
        stream = await _Stream.of(self)

        async def score(prepared: _PreparedBatch) -> None:
            batch, batch_scores = await stream.score(prepared)
            take(batch, batch_scores)
            self.listener(Advanced(len(batch)))

        numbered = planned_batches(self.dataset, self.plan, self.on_reject)
        batched = getattr(self.resources.judge, "batched", False)
        depth = _IN_FLIGHT_BATCHED if batched else _IN_FLIGHT
        await prefetch(numbered, stream.prepare, score, depth=depth)
        stream.accumulator.check_failures(self.max_failures)
        self.listener(Finished("scoring"))
        return stream.accumulator

    async def run(
        self, *, output: Path | None = None, inputs: bool = False, rejects: Path | None = None
    ) -> RunReport:
        """Score all batches, record them, and write one row of scores for each sample.

        Args:
            output: .jsonl, .csv or .parquet; replaced only at the end of the run. None writes nothing.
            inputs: also write question, contexts, response and reference.
            rejects: a JSON Lines file for rows that cannot be read; None leaves them to ``on_reject``.
        """
        with _row_writer(output) as write, reject_writer(rejects) as on_reject:
            accumulator = await replace(self, on_reject=on_reject or self.on_reject).score(
                lambda batch, result: write(output_rows(batch, result.scores, output, inputs=inputs))
            )
        metrics = self.plan.metrics
        summary = summarise(accumulator, metrics, self.resources.signature(metrics, n=len(accumulator)))
        usage = usage_of(self.resources.judge)
        if self.recording is not None:
            self.recording.finish(summary)
        return RunReport(
            summary,
            accumulator.failures().share,
            self.plan.rejected,
            None if self.recording is None else self.recording.run,
            usage,
            accumulator.cached_failures,
            self.plan.columns,
        )


@asynccontextmanager
async def open_pipeline(
    dataset: Dataset, plan: Plan, options: RunOptions, *, fit: bool = True, listener: Listener = silent
) -> AsyncIterator[Pipeline]:
    """Context manager that opens the pipeline of a planned dataset, and fits the threshold of its cascade.

    A resumed run has ``fit=False`` and keeps its threshold.
    """
    on_reject = (lambda _: None) if options.skips_rejected else None
    async with open_resources(plan.metrics, options) as resources:
        cascade = options.cascade
        if cascade is not None and fit:
            cascade = await fit_threshold(
                cascade,
                detector_of(plan.metrics),
                resources,
                dataset,
                columns=options.columns or None,
                own_answers=options.target is None,
                cluster=plan.cluster,
                on_reject=on_reject,
                listener=listener,
            )
        yield Pipeline(
            dataset,
            plan,
            resources,
            cascade,
            on_reject=on_reject,
            max_failures=options.max_failures,
            listener=listener,
        )


@dataclass(frozen=True, eq=False)
class _PreparedBatch:
    """A batch with the target's responses and the judgements; both are absent if the batch is stored."""

    answered: AnsweredBatch
    judgements: BatchJudgements = field(default_factory=BatchJudgements)
    routed: RoutedBatch | None = None
    stored: bool = False


@dataclass(eq=False)
class _Stream:
    pipeline: Pipeline
    resources: Resources
    router: Router | None
    accumulator: Accumulator
    judged: int = 0

    @classmethod
    async def of(cls, pipeline: Pipeline) -> _Stream:
        metrics = pipeline.plan.metrics
        router = None if pipeline.cascade is None else Router.of(pipeline.cascade, metrics)
        accumulator = Accumulator.of(metrics, pipeline.plan.cluster, router=router)
        ignore = None if pipeline.on_reject is None else (lambda _: None)
        samples = pipeline.dataset.samples(on_reject=ignore)
        resources = await with_frequencies(samples, metrics, pipeline.resources)
        return cls(pipeline, resources, router, accumulator)

    @cached_property
    def judgements(self) -> int:
        """The maximum number of judgements: for each judged metric, the rows with its fields."""
        plan = self.pipeline.plan
        return sum(
            min((plan.present.get(name, 0) for name in metric.spec.needs), default=plan.rows)
            for metric in judged_metrics(plan.metrics)
        )

    def count_reply(self) -> None:
        self.judged += 1
        self.pipeline.listener(Judged(self.judged, self.judgements))

    async def prepare(self, numbered: tuple[int, Batch]) -> _PreparedBatch:
        """Ask the target and the judge about a batch, unless it is stored already."""
        start, batch = numbered
        recording = self.pipeline.recording
        answered = AnsweredBatch(start, batch.samples, batch)
        if recording is not None and start in recording.done:
            return _PreparedBatch(answered, stored=True)
        if self.resources.target is not None:
            known = recording.answers(start, len(batch)) if recording is not None else {}
            keep = recording.keep if recording is not None else (lambda _: None)
            answered = await answer_batch(start, batch, self.resources.target, known=known, keep=keep)
        batch, failed = answered.batch, answered.failed
        if self.router is not None:
            routed = await route_batch(self.router, batch, self.resources, failed, self.count_reply)
            return _PreparedBatch(answered, routed.judgements, routed)
        asking = judged_metrics(self.pipeline.plan.metrics)
        if not asking:
            return _PreparedBatch(answered)
        batch_judgements = await ask_batch(batch, asking, self.resources.judge, failed, self.count_reply)
        return _PreparedBatch(answered, batch_judgements)

    async def score(self, prepared: _PreparedBatch) -> tuple[Batch, BatchScores]:
        answered, recording = prepared.answered, self.pipeline.recording
        if recording is not None and prepared.stored:
            batch, batch_scores = recording.batch(answered.start, answered.batch)
        else:
            batch, batch_scores = answered.batch, await self._compute(prepared)
        self.accumulator.add(batch, batch_scores, _failing_part(prepared))
        self.accumulator.check_failures(self.pipeline.max_failures, fewest_asked=BATCH_SIZE)
        if recording is not None and not prepared.stored:
            recording.commit(answered.start, answered.samples, batch_scores)
        return batch, batch_scores

    async def _compute(self, prepared: _PreparedBatch) -> BatchScores:
        answered, routed = prepared.answered, prepared.routed
        batch, listener = answered.batch, self.pipeline.listener
        with counting_work(lambda done, total: listener(Embedded(done, total, len(batch)))):
            if self.router is None or routed is None:
                metrics = self.pipeline.plan.metrics
                return await evaluate_batch(
                    batch, metrics, self.resources, answered.failed, prepared.judgements
                )
            self.accumulator.inquired += routed.inquired
            return await score_routed(self.router, batch, self.resources, answered.failed, routed)


def _failing_part(prepared: _PreparedBatch) -> type[SgiError]:
    """Return the exception class for the step that failed first."""
    if prepared.answered.failed:
        return TargetError
    return JudgeError if any(prepared.judgements.failures.values()) else EmbedderError


class _Slot(Generic[P]):
    def __init__(self) -> None:
        self.ready = anyio.Event()
        self.values: list[P] = []

    async def fill(self, prepared: Awaitable[P]) -> None:
        self.values.append(await prepared)
        self.ready.set()


async def prefetch(
    items: Iterable[T],
    prepare: Callable[[T], Awaitable[P]],
    take: Callable[[P], Awaitable[None]],
    *,
    depth: int,
) -> None:
    """Prepare up to ``depth`` items concurrently, and take them one at a time in their order.

    The first exception cancels everything and is raised unchanged.

    >>> async def double(n): return 2 * n
    >>> results = []
    >>> async def take(n): results.append(n)
    >>> anyio.run(lambda: prefetch([1, 2, 3], double, take, depth=2))
    >>> results
    [2, 4, 6]
    """
    slots: deque[_Slot[P]] = deque()

    async def take_first() -> None:
        await slots[0].ready.wait()
        await take(slots.popleft().values[0])

    try:
        async with anyio.create_task_group() as group:
            for item in items:
                slots.append(_Slot())
                group.start_soon(slots[-1].fill, prepare(item))
                if len(slots) == depth:
                    await take_first()
            while slots:
                await take_first()
    except BaseExceptionGroup as errors:
        raise first_error(errors) from None


@contextmanager
def _row_writer(output: Path | None) -> Iterator[Callable[[Iterator[Mapping[str, JsonValue]]], None]]:
    if output is None:
        yield lambda _: None
    else:
        with open_writer(output) as writer:
            yield writer.write


@contextmanager
def reject_writer(path: Path | None) -> Iterator[Callable[[RejectedRow], None] | None]:
    """Context manager that writes rejected rows to a file, with the reason; no rows, no file."""
    if path is None:
        yield None
        return
    with ExitStack() as stack:
        writers: list[RowWriter] = []

        def reject(item: RejectedRow) -> None:
            if not writers:
                writers.append(stack.enter_context(open_writer(path)))
            writers[0].write([rejected_row(item)])

        yield reject


def rejected_row(item: RejectedRow) -> dict[str, JsonValue]:
    """Return a row of the file of rejected rows: its place, the reason and its content."""
    error = item.error
    place = {"line": error.line, "id": error.sample_id, "field": error.field}
    return {**place, "reason": str(error), "row": item.row}
