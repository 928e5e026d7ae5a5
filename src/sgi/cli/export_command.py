"""``sgi runs export``: writes the rows of a run to a file or to standard output."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sgi.cli import options
from sgi.cli.console import ignore_broken_pipe, print_json, print_json_line, print_message
from sgi.io.trace_scores import TraceFormat
from sgi.kernel.errors import UsageError
from sgi.kernel.short_text import pluralize, pluralize_part
from sgi.store.open_runs import open_runs

if TYPE_CHECKING:
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

_quiz_option = options.option_group("Failed rows")

Out = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--out",
        help="A .jsonl, .csv or .parquet file; an existing file is replaced. --as-quiz adds to it.",
    ),
]
Format = Annotated[
    TraceFormat | None,
    typer.Option(
        help="Write the scores for the traces that the rows came from: OpenTelemetry spans, Phoenix span "
        "annotations, or Langfuse scores. The rows need a trace_id or a span_id."
    ),
]
AsQuiz = Annotated[
    bool,
    _quiz_option(
        "--as-quiz",
        help="Write the rows that failed as rows of a test set, without their answers. Their kind is "
        "regression, and why has the reason.",
    ),
]
Worst = Annotated[
    int | None, _quiz_option(min=1, max=1000, help="Number of rows, the worst first. Default: 20.")
]
Metric = Annotated[
    str | None,
    _quiz_option(
        "-m",
        "--metric",
        help="The metric that decides. Default: as for `sgi show --worst`.",
        autocompletion=options.complete_metric,
    ),
]


def export(
    run: options.Run,
    out: Out = None,
    inputs: options.Inputs = False,
    format: Format = None,  # noqa: A002 - the name of the option
    as_quiz: AsQuiz = False,
    worst: Worst = None,
    metric: Metric = None,
    define: options.Define = None,
    db: options.Database = None,
    as_json: options.Json = False,
) -> None:
    """Write the scored rows of a run to a file, or as JSON lines to standard output.

    --as-quiz leaves out rows that did not fail: those with the best possible value or, by grounding, without
    a finding or a low score. It also leaves out rows without a value, and repeated questions.

    Examples:
      sgi runs export last -o scores.csv
      sgi runs export nightly -o scores.parquet --inputs
      sgi runs export last | jq .scores.sgi.value
      sgi runs export last -o scores.jsonl --format otel
      sgi runs export last --as-quiz --worst 20 -m recall -o failures.jsonl
    """
    from sgi import api

    if as_json and out is None:
        raise UsageError("--json needs -o.", hint="Without -o, the rows are printed as JSON lines.")
    if inputs and format is not None:
        raise UsageError(
            "--inputs does not apply to --format, which writes scores without texts.", hint="Omit --inputs."
        )
    if as_quiz:
        if inputs or format is not None:
            other = "--inputs" if inputs else "--format"
            raise UsageError(f"--as-quiz cannot be combined with {other}.", hint="Use one of them.")
        from sgi.cli.export_quiz import export_quiz

        export_quiz(run, out, worst, metric, define=define, db=db, as_json=as_json)
        return
    if worst is not None or metric is not None:
        raise UsageError("--worst and -m need --as-quiz.", hint="`sgi show RUN --worst 20` shows the rows.")
    with open_runs(db, run) as (database, (record,)):
        if out is None:
            with ignore_broken_pipe():
                _print_rows(database, record, format, inputs=inputs)
            return
        rows = api.export(record.id, out, inputs=inputs, format=format, db=db)
    if as_json:
        print_json({"run": record.id, "rows": rows, "output": str(out)})
        return
    others = {"not scored": record.rows - record.scored, "without a usable trace id": record.scored - rows}
    reasons = ", ".join(f"{count:,} {why}" for why, count in others.items() if count)
    written = f"{pluralize_part(rows, record.rows, 'row')} ({reasons})" if reasons else pluralize(rows, "row")
    print_message(f"Wrote {written} to {out}.")


def _print_rows(
    database: Database,
    record: RunRecord,
    format: TraceFormat | None,  # noqa: A002 - the name of the option
    *,
    inputs: bool,
) -> None:
    from sgi.engine.export import exported_batches, nested_row

    if format is not None:
        from sgi.engine.export_traces import TraceExport

        for batch in TraceExport(database, record, format).batches():
            for item in batch:
                print_json_line(item)
        return
    for stored in exported_batches(database, record, inputs=inputs):
        for row in nested_row(stored.batch, stored.scores, inputs=inputs):
            print_json_line(row)
        sys.stdout.buffer.flush()
