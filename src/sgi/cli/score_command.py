"""``sgi score``: reads rows, and prints their scores as JSON lines."""

from __future__ import annotations

import sys
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import typer

from sgi.cli import options
from sgi.cli.console import discard_stdout, print_json_line, print_message
from sgi.cli.option_values import metric_list, select_embedders
from sgi.cli.run_options import Values, with_run_options
from sgi.cli.run_output import long_text_notes
from sgi.kernel.errors import UsageError
from sgi.kernel.metric import Status

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator

    from sgi.engine.run_options import RunOptions
    from sgi.io.column_use import ColumnUse
    from sgi.io.rows import RejectedRow
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.sample import Sample

T = TypeVar("T")


Metric = Annotated[
    list[str] | None,
    typer.Option(
        "-m",
        "--metric",
        help="A metric, or several separated by commas; repeatable. Required without --define.",
        autocompletion=options.complete_metric,
    ),
]
Data = Annotated[Path, typer.Argument(help="A file, or - for standard input.")]
_OPTIONS = (
    *("embedders", "judge_model", "judge_set", "nli", "nli_band", "define", "long_texts", "columns"),
    *("encoding", "on_error", "cache", "inputs"),
)
BatchSize = Annotated[
    int, typer.Option(min=1, help="Number of rows to score together; 1 prints each row immediately.")
]


@with_run_options(*_OPTIONS)
def score(
    values: Values,
    data: Data = Path("-"),
    metric: Metric = None,
    batch_size: BatchSize = 256,
    quiet: options.Quiet = False,
) -> None:
    """Score rows as they arrive: one JSON line for each row, in the same order.

    It stops quietly when the reader of its output, such as head, closes the pipe.

    Examples:
      cat answers.jsonl | sgi score -m sgi
      sgi score answers.jsonl -m rouge_l,squad_em | jq .scores.rouge_l.value
      sgi score answers.jsonl -m faithfulness --judge ollama:qwen3 --judge-set concurrency=4
    """
    from sgi.engine.open_resources import given_options

    chosen = given_options(
        {**values, "metrics": metric_list(metric or []) or None}, source="the command line"
    )
    metrics = chosen.named_metrics
    if metrics is None:
        raise UsageError("No metric was named.", hint="Add -m grounding, or --define metrics.toml.")
    embedders = tuple(select_embedders(chosen.embedders, metrics))
    chosen = chosen.model_copy(update={"embedders": embedders})
    notes = _InputNotes(quiet=quiet)
    on_reject = notes.reject if chosen.skips_rejected else None
    read_options = {"columns": chosen.columns, "encoding": chosen.encoding}
    rows = _rows(data, read_options, ahead=batch_size, on_reject=on_reject, on_columns=notes.add_columns)
    work = partial(_score_rows, rows, metrics, chosen, batch_size=batch_size)
    failed, scored, long = _run(work)
    notes.print_columns()
    for line in () if quiet else long_text_notes(long.truncated, long.windowed, scored):
        print_message(line)
    if failed or notes.rejected:
        raise typer.Exit(3)


def _rows(data: Path, read_options: dict[str, Any], *, ahead: int, **listeners: Any) -> Iterator[Sample]:
    from sgi.io.dataset import open_dataset
    from sgi.io.jsonl import stream_rows

    if str(data) != "-":
        return open_dataset(data, **read_options).samples(**listeners)
    if sys.stdin.isatty():
        raise UsageError("Standard input is a terminal.", hint="Pipe JSON lines in, or name a file.")
    return stream_rows(sys.stdin.buffer, name="<stdin>", ahead=ahead, **read_options, **listeners)


class _InputNotes:
    """Notes on the input: which columns are used, and which rows are rejected."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._printed = self._last = ""
        self.rejected = 0

    def reject(self, item: RejectedRow) -> None:
        self.rejected += 1
        print_message(f"Rejected: {item.error}")

    def add_columns(self, columns: ColumnUse) -> None:
        """Record the columns that are used so far; print those of the first row."""
        self._last = columns.line()
        if not self._printed:
            self.print_columns()

    def print_columns(self) -> None:
        """Print which column is used for each field, unless this is printed already."""
        if self._last != self._printed and not self._quiet:
            print_message(self._last)
        self._printed = self._last


class _LongTexts(NamedTuple):
    """The number of rows with a text that exceeds the limit of a model, by field."""

    truncated: Counter[str]
    windowed: Counter[str]


def _run(work: Callable[[], Awaitable[T]]) -> T:
    """Run the work; exit quietly if the reader of the output closes the pipe."""
    import anyio

    try:
        return anyio.run(work)
    except BrokenPipeError:
        discard_stdout()
        raise typer.Exit from None


async def _score_rows(
    rows: Iterable[Sample],
    metrics: tuple[AnyMetric, ...],
    chosen: RunOptions,
    *,
    batch_size: int,
) -> tuple[bool, int, _LongTexts]:
    """Score and print rows; return whether a row failed, the number of rows, and those with long texts."""
    from sgi.engine.export import nested_row
    from sgi.engine.open_resources import open_resources
    from sgi.engine.plan import batches
    from sgi.engine.score import evaluate_batch

    failed, scored, long = False, 0, _LongTexts(Counter(), Counter())
    async with open_resources(metrics, chosen) as resources:
        for batch in batches(rows, batch_size):
            batch_scores = await evaluate_batch(batch, metrics, resources)
            failed |= any((scores.status == Status.FAILED).any() for scores in batch_scores.scores.values())
            for row in nested_row(batch, batch_scores.scores, inputs=chosen.inputs):
                print_json_line(row)
            sys.stdout.buffer.flush()
            scored += len(batch)
            long.truncated.update(batch_scores.truncated)
            long.windowed.update(batch_scores.windowed)
    return failed, scored, long
