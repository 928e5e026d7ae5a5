"""Many batches: from a dataset to a store and a file of scores, in constant memory."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from sgi.engine.ahead import ahead
from sgi.engine.answer import AnsweredBatch, answer_batch
from sgi.engine.batch import BATCH_SIZE, BatchScores, batches, evaluate_batch
from sgi.engine.ledger import Ledger
from sgi.engine.plan import batch_digest
from sgi.engine.progress import Advanced, Finished, Started, silent
from sgi.engine.rows import output_rows
from sgi.engine.summary import Summary, summarise
from sgi.io.write import RowWriter, open_writer
from sgi.kernel.errors import DataError, EmbedderError, TargetError
from sgi.kernel.metric import Status
from sgi.kernel.signature import run_signature

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from pydantic import JsonValue

    from sgi.engine.plan import Plan
    from sgi.engine.progress import Listener
    from sgi.engine.recording import Recording
    from sgi.engine.tools import Tools
    from sgi.io.dataset import Dataset
    from sgi.io.rows import Rejected
    from sgi.kernel.sample import Batch

MAX_FAILURES = 0.05
"""The share of failed rows above which a run stops."""
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
    """

    summary: Summary
    failures: float
    rejected: int
    run: str | None = None


async def score_stream(
    dataset: Dataset,
    plan: Plan,
    tools: Tools,
    *,
    take: Callable[[Batch, BatchScores], None],
    recording: Recording | None = None,
    on_reject: Callable[[Rejected], None] | None = None,
    max_failures: float = MAX_FAILURES,
    listener: Listener = silent,
) -> Ledger:
    """Score a dataset batch by batch, hand every batch over in order, and keep the numbers for the summary.

    While a batch is scored, the target is already asked for those after it. A batch that a recording already
    holds is taken from there: nothing of it is asked, embedded or scored again.

    Raises:
        EmbedderError: more than ``max_failures`` of the rows failed.
        TargetError: likewise, for want of an answer.
        DataError: a row cannot be read, and ``on_reject`` is None; or the data is not what was planned.
    """
    ledger = Ledger()

    async def score(answered: AnsweredBatch) -> None:
        kept = recording is not None and answered.start in recording.done
        if recording is not None and kept:
            batch, made = recording.batch(answered.start)
        else:
            batch = answered.batch
            made = await evaluate_batch(batch, plan.metrics, tools, answered.failed)
        ledger.add(batch, made)
        _stop_when_failing(ledger, answered, made, max_failures)
        if recording is not None and not kept:
            recording.commit(answered.start, answered.samples, made)
        take(batch, made)
        listener(Advanced(len(batch)))

    stream = batches(dataset.samples(on_reject=on_reject), BATCH_SIZE)
    numbered = _numbered(_unchanged(stream, plan, dataset.name))
    await ahead(numbered, partial(_answered, tools=tools, recording=recording), score, depth=_IN_FLIGHT)
    return ledger


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


async def _answered(numbered: Numbered, *, tools: Tools, recording: Recording | None) -> AnsweredBatch:
    """The batch with the target's answers, if there is a target and the batch is still to be done."""
    start, batch = numbered
    if tools.target is None or (recording is not None and start in recording.done):
        return AnsweredBatch(start, batch.samples, batch)
    known = recording.answers(start, len(batch)) if recording is not None else {}
    keep = recording.keep if recording is not None else (lambda _: None)
    return await answer_batch(start, batch, tools.target, known=known, keep=keep)


def _stop_when_failing(
    ledger: Ledger, answered: AnsweredBatch, made: BatchScores, max_failures: float
) -> None:
    share = ledger.failure_share()
    if share <= max_failures:
        return
    reasons = [
        reason
        for scores in made.scores.values()
        for reason, status in zip(scores.reasons, scores.status, strict=True)
        if status == Status.FAILED
    ]
    kind = TargetError if answered.failed else EmbedderError
    raise kind(
        f"{100 * share:.3g}% of the first {len(ledger)} rows failed, more than {100 * max_failures:.3g}%. "
        f"The last reason: {reasons[-1] if reasons else 'unknown'}",
        hint="Mend the cause and run again, or raise --max-failures.",
    )


async def run(
    dataset: Dataset,
    plan: Plan,
    tools: Tools,
    *,
    recording: Recording | None = None,
    output: Path | None = None,
    inputs: bool = False,
    rejects: Path | None = None,
    max_failures: float = MAX_FAILURES,
    listener: Listener = silent,
) -> RunReport:
    """Score what the plan says, keep it, and write one row of scores for each sample.

    Args:
        dataset: the data the plan was made of.
        plan: from ``sgi.engine.plan.plan``.
        tools: the embedders, and the target if there is one.
        recording: where batches are kept as they are done, and where those done before come from.
        output: .jsonl, .csv or .parquet; replaced only when the run has come to its end. None writes nothing.
        inputs: also write question, contexts, response and reference.
        rejects: a JSON Lines file for rows that cannot be read; None stops at the first one.
        max_failures: the share of failed rows above which the run stops.
        listener: hears of the progress.
    """
    listener(Started("scoring", plan.rows))
    with _row_writer(output) as write, _reject_writer(rejects) as on_reject:
        ledger = await score_stream(
            dataset,
            plan,
            tools,
            take=lambda batch, made: write(output_rows(batch, made.scores, output, inputs=inputs)),
            recording=recording,
            on_reject=on_reject,
            max_failures=max_failures,
            listener=listener,
        )
    listener(Finished("scoring"))
    summary = summarise(ledger, plan.metrics, run_signature(tools.fingerprints, n=len(ledger)))
    if recording is not None:
        recording.finish(summary)
    return RunReport(summary, ledger.failure_share(), plan.rejected, recording.run if recording else None)


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
            writers[0].write([_rejected_row(item)])

        yield reject


def _rejected_row(item: Rejected) -> dict[str, JsonValue]:
    error = item.error
    place = {"line": error.line, "id": error.sample_id, "field": error.field}
    return {**place, "reason": str(error), "row": item.row}
