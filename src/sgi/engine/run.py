"""Many batches: from a dataset to a file of scores, in constant memory."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sgi.engine.batch import BATCH_SIZE, batches, evaluate_batch
from sgi.engine.ledger import Ledger
from sgi.engine.progress import Advanced, Finished, Started, silent
from sgi.engine.rows import output_rows
from sgi.engine.summary import Summary, summarise
from sgi.io.write import RowWriter, open_writer
from sgi.kernel.errors import DataError, EmbedderError
from sgi.kernel.metric import Status
from sgi.kernel.signature import run_signature

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from pydantic import JsonValue

    from sgi.engine.batch import BatchScores
    from sgi.engine.plan import Plan
    from sgi.engine.progress import Listener
    from sgi.engine.tools import Tools
    from sgi.io.dataset import Dataset
    from sgi.io.rows import Rejected
    from sgi.kernel.metric import Metric
    from sgi.kernel.sample import Batch

MAX_FAILURES = 0.05
"""The share of failed rows above which a run stops."""


@dataclass(frozen=True)
class RunReport:
    """What came of a run.

    Attributes:
        summary: the headline.
        failures: the greatest share of failed rows of any metric.
        rejected: rows that could not be read.
    """

    summary: Summary
    failures: float
    rejected: int


async def score_stream(
    dataset: Dataset,
    metrics: tuple[Metric, ...],
    tools: Tools,
    *,
    take: Callable[[Batch, BatchScores], None],
    on_reject: Callable[[Rejected], None] | None = None,
    max_failures: float = MAX_FAILURES,
    listener: Listener = silent,
) -> Ledger:
    """Score a dataset batch by batch, hand every batch over, and keep the numbers for the summary.

    Raises:
        EmbedderError: more than ``max_failures`` of the rows failed.
        DataError: a row cannot be read, and ``on_reject`` is None.
    """
    ledger = Ledger()
    for batch in batches(dataset.samples(on_reject=on_reject), BATCH_SIZE):
        made = await evaluate_batch(batch, metrics, tools)
        ledger.add(batch, made)
        _stop_when_failing(ledger, made, max_failures)
        take(batch, made)
        listener(Advanced(len(batch)))
    return ledger


def _stop_when_failing(ledger: Ledger, made: BatchScores, max_failures: float) -> None:
    share = ledger.failure_share()
    if share <= max_failures:
        return
    reasons = [
        reason
        for scores in made.scores.values()
        for reason, status in zip(scores.reasons, scores.status, strict=True)
        if status == Status.FAILED
    ]
    raise EmbedderError(
        f"{share:.0%} of the first {len(ledger)} rows failed, more than {max_failures:.0%}. "
        f"The last reason: {reasons[-1] if reasons else 'unknown'}",
        hint="Mend the cause and run again, or raise --max-failures.",
    )


async def run(
    dataset: Dataset,
    plan: Plan,
    tools: Tools,
    *,
    output: Path | None = None,
    inputs: bool = False,
    rejects: Path | None = None,
    max_failures: float = MAX_FAILURES,
    listener: Listener = silent,
) -> RunReport:
    """Score what the plan says, and write one row of scores for each sample.

    Args:
        dataset: the data the plan was made of.
        plan: from ``sgi.engine.plan.plan``.
        tools: the embedders.
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
            plan.metrics,
            tools,
            take=lambda batch, made: write(output_rows(batch, made.scores, output, inputs=inputs)),
            on_reject=on_reject,
            max_failures=max_failures,
            listener=listener,
        )
        if len(ledger) != plan.rows:
            raise DataError(
                f"{plan.rows} rows were there at first, {len(ledger)} were scored.",
                file=dataset.name,
                hint="The file changed meanwhile: run again.",
            )
    listener(Finished("scoring"))
    signature = run_signature(tools.fingerprints, n=len(ledger))
    return RunReport(summarise(ledger, plan.metrics, signature), ledger.failure_share(), plan.rejected)


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
