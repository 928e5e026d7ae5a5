"""``sgi export``: writes the rows of a run to a file or to standard output."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sgi.cli import options
from sgi.cli.console import ignore_broken_pipe, print_json, print_json_line, talk
from sgi.kernel.errors import UsageError
from sgi.store.open_runs import open_runs

if TYPE_CHECKING:
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord


def export(
    run: options.Run,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="A .jsonl, .csv or .parquet file; an existing file is replaced."),
    ] = None,
    inputs: options.Inputs = False,
    db: options.Database = None,
    as_json: options.Json = False,
) -> None:
    """Write the scored rows of a run to a file, or as JSON lines to standard output.

    Examples:
      sgi export last -o scores.csv
      sgi export nightly -o scores.parquet --inputs
      sgi export last | jq .scores.sgi.value
    """
    from sgi import api

    if as_json and out is None:
        raise UsageError("--json needs -o.", hint="Without -o, the rows are printed as JSON lines.")
    with open_runs(db, run) as (database, (record,)):
        if out is None:
            with ignore_broken_pipe():
                _print_rows(database, record, inputs=inputs)
            return
        rows = api.export(record.id, out, inputs=inputs, db=db)
    if as_json:
        print_json({"run": record.id, "rows": rows, "output": str(out)})
    else:
        rest = "" if rows == record.rows else f" of {record.rows:,} (the others are not scored)"
        talk(f"Wrote {rows:,} rows{rest} to {out}.")


def _print_rows(database: Database, record: RunRecord, *, inputs: bool) -> None:
    from sgi.engine.export import exported_batches, nested_row

    for stored in exported_batches(database, record, inputs=inputs):
        for row in nested_row(stored.batch, stored.scores, inputs=inputs):
            print_json_line(row)
        sys.stdout.buffer.flush()
