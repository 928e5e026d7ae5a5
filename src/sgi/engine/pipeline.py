"""Many batches: from a dataset to a store and a file of scores, in constant memory."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from sgi.engine.accumulator import Accumulator, ClusterAccumulator
from sgi.engine.export import output_rows
from sgi.engine.generate import AnsweredBatch, answer_batch
from sgi.engine.judge_batch import Asked, ask_batch, judged
from sgi.engine.plan import batch_digest
from sgi.engine.prefetch import ahead
from sgi.engine.progress import Advanced, Embedded, Finished, Judged, Started, silent
from sgi.engine.routing import route_batch, score_routed
from sgi.engine.score import BATCH_SIZE, BatchScores, batches, evaluate_batch
from sgi.engine.spec import MAX_FAILURES
from sgi.engine.summarise import summarise
from sgi.engine.token_features import with_frequencies
from sgi.io.write import RowWriter, open_writer
from sgi.kernel.clusters import BY_QUESTION
from sgi.kernel.errors import DataError, EmbedderError, JudgeError, SgiError, TargetError
from sgi.kernel.metric import Status
from sgi.kernel.protocols import Usage, usage_of
from sgi.kernel.short_repr import short_repr
from sgi.kernel.work_counter import counting_work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pydantic import JsonValue

    from sgi.engine.plan import Plan
    from sgi.engine.progress import Listener
    from sgi.engine.resources import Resources
    from sgi.engine.routing import RoutedBatch, Router
    from sgi.engine.run_recorder import Recording
    from sgi.engine.summary import Summary
    from sgi.io.column_use import ColumnUse
    from sgi.io.dataset import Dataset
    from sgi.io.rows import Rejected
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.sample import Batch

_IN_FLIGHT = 3

Numbered = tuple[int, "Batch"]


@dataclass(frozen=True)
class RunReport:
    """What came of a run.

    Attributes:
        summary: the headline.
        failures: the greatest share of failed rows of any metric.
        rejected: rows that could not be read.
        run: its id in the store; None where it was not kept.
        usage: what was asked of the judge this time.
        cached_failures: rows that failed from cached replies of the judge; ``retry_failed`` asks again.
        columns: which columns of the data became which fields; None where the data was not read.
    """

    summary: Summary
    failures: float
    rejected: int
    run: str | None = None
    usage: Usage = field(default_factory=Usage)
    cached_failures: int = 0
    columns: ColumnUse | None = field(default=None, compare=False)

    __repr__ = short_repr


async def score_stream(
    dataset: Dataset,
    plan: Plan,
    resources: Resources,
    *,
    take: Callable[[Batch, BatchScores], None],
    router: Router | None = None,
    recording: Recording | None = None,
    on_reject: Callable[[Rejected], None] | None = None,
    max_failures: float = MAX_FAILURES,
    cluster: str = BY_QUESTION,
    listener: Listener = silent,
) -> Accumulator:
    """Score a dataset batch by batch, hand every batch over in order, and keep the numbers for the summary.

    While a batch is scored, target and judge are already asked about those after it. A batch that a recording
    already holds is taken from there: nothing of it is asked, embedded or scored again. With a router the
    judge is not asked about the rows it clears. ``cluster`` is the rule of `sgi.kernel.clusters`.

    Raises:
        EmbedderError: more than ``max_failures`` of the rows failed.
        JudgeError: likewise, for want of a usable reply.
        TargetError: likewise, for want of an answer.
        BudgetExceededError: the judge has cost what it may.
        DataError: a row cannot be read, and ``on_reject`` is None; or the data is not what was planned.
    """
    categories = {metric.canonical: metric.spec.category for metric in plan.metrics}
    accumulator = Accumulator(categories, clusters=ClusterAccumulator(cluster), router=router)
    limit = _Limit(accumulator, max_failures)
    unread = None if on_reject is None else (lambda _: None)
    resources = await with_frequencies(batches(dataset.samples(on_reject=unread)), plan.metrics, resources)

    async def score(prepared: _Prepared) -> None:
        answered = prepared.answered
        kept = recording is not None and answered.start in recording.done
        if recording is not None and kept:
            batch, made = recording.batch(answered.start, answered.batch)
        else:
            batch = answered.batch
            made = await _scored(prepared, plan.metrics, resources, router, accumulator, listener)
        accumulator.add(batch, made)
        limit.note(prepared, made)
        limit.check(fewest_asked=BATCH_SIZE)
        if recording is not None and not kept:
            recording.commit(answered.start, answered.samples, made)
        take(batch, made)
        listener(Advanced(len(batch)))

    stream = batches(dataset.samples(on_reject=on_reject), BATCH_SIZE)
    numbered = _numbered(_unchanged(stream, plan, dataset.name))
    replies = _Replies(plan, listener)
    prepare = partial(
        _prepared,
        metrics=plan.metrics,
        resources=resources,
        router=router,
        recording=recording,
        on_reply=replies,
    )
    await ahead(numbered, prepare, score, depth=_IN_FLIGHT)
    limit.check()
    return accumulator


@dataclass(frozen=True, eq=False)
class _Prepared:
    """A batch with the target's answers and what the judge made of them; nothing asked where it is kept."""

    answered: AnsweredBatch
    asked: Asked
    routed: RoutedBatch | None = None


class _Replies:
    """Counts what the judge has done with, and tells it."""

    def __init__(self, plan: Plan, listener: Listener) -> None:
        self._done, self._listener = 0, listener
        self._total = sum(
            min((plan.present.get(name, 0) for name in metric.spec.needs), default=plan.rows)
            for metric in judged(plan.metrics)
        )

    def __call__(self) -> None:
        self._done += 1
        self._listener(Judged(self._done, self._total))


def _unchanged(stream: Iterator[Batch], plan: Plan, name: str) -> Iterator[Batch]:
    """The batches, as long as they are those that were planned, and no fewer."""
    rows = 0
    for number, batch in enumerate(stream):
        if number >= len(plan.digests) or batch_digest(batch) != plan.digests[number]:
            raise _changed(name)
        rows += len(batch)
        yield batch
    if rows != plan.rows:
        raise _changed(name)


def _changed(name: str) -> DataError:
    return DataError("The data changed while it was read.", file=name, hint="Run again.")


def _numbered(stream: Iterator[Batch]) -> Iterator[Numbered]:
    """Batches with the position of their first sample."""
    start = 0
    for batch in stream:
        yield start, batch
        start += len(batch)


async def _prepared(
    numbered: Numbered,
    *,
    metrics: Sequence[AnyMetric],
    resources: Resources,
    router: Router | None,
    recording: Recording | None,
    on_reply: Callable[[], None],
) -> _Prepared:
    """The batch with all that is asked about it, if it is still to be done."""
    start, batch = numbered
    if recording is not None and start in recording.done:
        return _Prepared(AnsweredBatch(start, batch.samples, batch), Asked())
    answered = AnsweredBatch(start, batch.samples, batch)
    if resources.target is not None:
        known = recording.answers(start, len(batch)) if recording is not None else {}
        keep = recording.keep if recording is not None else (lambda _: None)
        answered = await answer_batch(start, batch, resources.target, known=known, keep=keep)
    if router is not None:
        routed = await route_batch(router, answered.batch, resources, answered.failed, on_reply)
        return _Prepared(answered, routed.asked, routed)
    asked = await ask_batch(answered.batch, metrics, resources.judge, answered.failed, on_reply)
    return _Prepared(answered, asked)


async def _scored(
    prepared: _Prepared,
    metrics: Sequence[AnyMetric],
    resources: Resources,
    router: Router | None,
    accumulator: Accumulator,
    listener: Listener,
) -> BatchScores:
    """The scores of a batch about which all is asked; the listener is told how far it is."""
    answered, routed = prepared.answered, prepared.routed
    rows = len(answered.batch)
    with counting_work(lambda done, total: listener(Embedded(done, total, rows))):
        if router is None or routed is None:
            return await evaluate_batch(answered.batch, metrics, resources, answered.failed, prepared.asked)
        accumulator.inquired += routed.inquired
        return await score_routed(router, answered.batch, resources, answered.failed, routed)


class _Limit:
    """Stops a run of which too many rows fail."""

    def __init__(self, accumulator: Accumulator, most: float) -> None:
        self._ledger, self._most = accumulator, most
        self._kind: type[SgiError] = EmbedderError

    def note(self, prepared: _Prepared, made: BatchScores) -> None:
        """Take notice of what failed last, if anything of this batch did."""
        if any((scores.status == Status.FAILED.value).any() for scores in made.scores.values()):
            self._kind = _failing_part(prepared)

    def check(self, *, fewest_asked: int = 0) -> None:
        """Raise if more failed than may.

        Args:
            fewest_asked: as for `Accumulator.failures`.
        """
        found = self._ledger.failures(fewest_asked=fewest_asked)
        if found.share <= self._most:
            return
        rows = f"{found.rows} rows asked about" if found.asked else f"first {found.rows} rows"
        cached = self._ledger.cached_failures
        told = (
            f" For {cached:,} of them the judge was not asked: its cached replies are unusable."
            if cached
            else ""
        )
        raise self._kind(
            f"{100 * found.share:.3g}% of the {rows} failed, more than {100 * self._most:.3g}%.{told} "
            f"The last reason: {found.reason or 'unknown'}",
            hint="Fix the cause and ask the judge again with --retry-failed, or raise --max-failures."
            if self._kind is JudgeError
            else "Fix the cause and run again, or raise --max-failures.",
        )


def _failing_part(prepared: _Prepared) -> type[SgiError]:
    """The error of what failed first, in the order of the work."""
    if prepared.answered.failed:
        return TargetError
    return JudgeError if any(prepared.asked.failures.values()) else EmbedderError


async def run(
    dataset: Dataset,
    plan: Plan,
    resources: Resources,
    *,
    router: Router | None = None,
    recording: Recording | None = None,
    output: Path | None = None,
    inputs: bool = False,
    rejects: Path | None = None,
    max_failures: float = MAX_FAILURES,
    cluster: str = BY_QUESTION,
    listener: Listener = silent,
) -> RunReport:
    """Score what the plan says, keep it, and write one row of scores for each sample.

    Args:
        dataset: the data the plan was made of.
        plan: from ``sgi.engine.plan.plan``.
        resources: the embedders, and the target if there is one.
        router: which rows the judge is not asked about.
        recording: where batches are kept as they are done, and where those done before come from.
        output: .jsonl, .csv or .parquet; replaced only when the run has come to its end. None writes nothing.
        inputs: also write question, contexts, response and reference.
        rejects: a JSON Lines file for rows that cannot be read; None stops at the first one.
        max_failures: the share of failed rows above which the run stops.
        cluster: the rule by which rows form clusters; see `sgi.kernel.clusters`.
        listener: hears of the progress.
    """
    listener(Started("scoring", plan.rows))
    with _row_writer(output) as write, _reject_writer(rejects) as on_reject:
        accumulator = await score_stream(
            dataset,
            plan,
            resources,
            take=lambda batch, made: write(output_rows(batch, made.scores, output, inputs=inputs)),
            router=router,
            recording=recording,
            on_reject=on_reject,
            max_failures=max_failures,
            cluster=cluster,
            listener=listener,
        )
    listener(Finished("scoring"))
    summary = summarise(accumulator, plan.metrics, resources.signature(plan.metrics, n=len(accumulator)))
    usage = usage_of(resources.judge)
    if recording is not None:
        recording.finish(summary)
    run_id = recording.run if recording else None
    share, from_cache = accumulator.failure_share(), accumulator.cached_failures
    return RunReport(summary, share, plan.rejected, run_id, usage, from_cache, plan.columns)


@contextmanager
def _row_writer(output: Path | None) -> Iterator[Callable[[Iterator[Mapping[str, JsonValue]]], None]]:
    if output is None:
        yield lambda _: None
    else:
        with open_writer(output) as writer:
            yield writer.write


@contextmanager
def _reject_writer(path: Path | None) -> Iterator[Callable[[Rejected], None] | None]:
    """Rejected rows go to their file with the reason; the file is made only if there are any."""
    if path is None:
        yield None
        return
    with ExitStack() as stack:
        writers: list[RowWriter] = []

        def reject(item: Rejected) -> None:
            if not writers:
                writers.append(stack.enter_context(open_writer(path)))
            writers[0].write([rejected_row(item)])

        yield reject


def rejected_row(item: Rejected) -> dict[str, JsonValue]:
    """A row that cannot be read, with its place and the reason, as the file of rejected rows holds it."""
    error = item.error
    place = {"line": error.line, "id": error.sample_id, "field": error.field}
    return {**place, "reason": str(error), "row": item.row}
