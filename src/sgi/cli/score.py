"""``sgi score``: JSON lines in, JSON lines out; a Unix filter."""

from __future__ import annotations

import os
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sgi.cli import options
from sgi.cli.console import print_json_line, talk
from sgi.cli.option_values import (
    cache_choice,
    column_map,
    judge_settings,
    metric_list,
    select_embedders,
    skips_errors,
    with_entailment,
)
from sgi.cli.run_output import truncation_notes
from sgi.kernel.errors import UsageError
from sgi.kernel.metric import Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sgi.engine.open_resources import ResourceOptions
    from sgi.io.column_use import ColumnUse
    from sgi.io.rows import Rejected
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.sample import Sample


def score(
    metric: Annotated[
        list[str], typer.Option("-m", "--metric", help="A metric, or several with commas; repeatable.")
    ],
    data: Annotated[Path, typer.Argument(help="A file, or - for standard input.")] = Path("-"),
    embedder: options.Embedders = None,
    judge: options.Judge = None,
    judge_set: options.JudgeSet = None,
    nli: options.Nli = None,
    backend: options.Backend = "auto",
    precision: options.Precision = "auto",
    columns: options.ColumnMap = None,
    encoding: options.Encoding = None,
    on_error: options.OnError = "stop",
    cache: options.Cache = None,
    no_cache: options.NoCache = False,
    inputs: options.Inputs = False,
    batch_size: Annotated[int, typer.Option(min=1, help="Rows scored together; 1 answers at once.")] = 256,
    quiet: options.Quiet = False,
) -> None:
    """Score rows as they come, one JSON line out for each line in. Row order is kept.

    A reader that has had enough, such as head, ends it quietly.

    Examples:
      cat answers.jsonl | sgi score -m sgi
      sgi score answers.jsonl -m rouge_l,squad_em | jq .scores.rouge_l.value
      sgi score answers.jsonl -m sgi --backend openvino --precision int8 --no-cache
      sgi score answers.jsonl -m faithfulness --judge ollama:qwen3 --judge-set concurrency=4
    """
    import anyio

    from sgi.engine.open_resources import ResourceOptions
    from sgi.engine.plan import resolve

    metrics = resolve(with_entailment(metric_list(metric), nli))
    rejected = 0

    def reject(item: Rejected) -> None:
        nonlocal rejected
        rejected += 1
        talk(f"Rejected: {item.error}")

    on_reject = reject if skips_errors(on_error) else None
    column_lines = _Columns(quiet=quiet)
    reading = {"columns": column_map(columns), "encoding": encoding}
    rows = _rows(data, reading, ahead=batch_size, on_reject=on_reject, on_columns=column_lines.add)
    settings = ResourceOptions(
        embedders=select_embedders(embedder, metrics, backend=backend, precision=precision),
        judge=judge_settings(judge, judge_set),
        backend=backend,
        precision=precision,
        cache=cache_choice(cache, no_cache=no_cache),
    )
    pour = partial(_score_rows, rows, metrics, settings, batch_size=batch_size, inputs=inputs)
    try:
        failed, scored, truncated = anyio.run(pour)
    except BrokenPipeError:
        _stop_writing()
        raise typer.Exit from None
    column_lines.finish()
    for line in () if quiet else truncation_notes(truncated, scored):
        talk(line)
    if failed or rejected:
        raise typer.Exit(3)


def _rows(data: Path, reading: dict[str, Any], *, ahead: int, **listeners: Any) -> Iterator[Sample]:
    """The samples of a file, or of standard input as they arrive."""
    from sgi.io.dataset import open_dataset
    from sgi.io.jsonl import stream_rows

    if str(data) != "-":
        return open_dataset(data, **reading).samples(**listeners)
    if sys.stdin.isatty():
        raise UsageError("There is nothing on standard input.", hint="Pipe JSON lines in, or name a file.")
    return stream_rows(sys.stdin.buffer, name="<stdin>", ahead=ahead, **reading, **listeners)


class _Columns:
    """Prints which columns are used: with the first row, and at the end if later rows had others."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._printed = self._last = ""

    def add(self, columns: ColumnUse) -> None:
        """Take the use of columns so far."""
        self._last = columns.line()
        if not self._printed:
            self.finish()

    def finish(self) -> None:
        """Print the use of columns, unless it was printed."""
        if self._last != self._printed and not self._quiet:
            talk(self._last)
        self._printed = self._last


async def _score_rows(
    rows: Iterable[Sample],
    metrics: tuple[AnyMetric, ...],
    settings: ResourceOptions,
    *,
    batch_size: int,
    inputs: bool,
) -> tuple[bool, int, Counter[str]]:
    """Score and print batch by batch.

    Returns:
        Whether any row failed; the number of rows; and the rows with a truncated text, by field.
    """
    from sgi.engine.export import nested_row
    from sgi.engine.open_resources import open_resources
    from sgi.engine.plan import batches
    from sgi.engine.score import evaluate_batch

    failed, scored, truncated = False, 0, Counter[str]()
    async with open_resources(metrics, settings) as resources:
        for batch in batches(rows, batch_size):
            batch_scores = await evaluate_batch(batch, metrics, resources)
            failed |= any((scores.status == Status.FAILED).any() for scores in batch_scores.scores.values())
            for row in nested_row(batch, batch_scores.scores, inputs=inputs):
                print_json_line(row)
            sys.stdout.buffer.flush()
            scored += len(batch)
            truncated.update(batch_scores.truncated)
    return failed, scored, truncated


def _stop_writing() -> None:
    """Nobody reads any more: what is still buffered goes nowhere, so that leaving raises no second error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
