"""``sgi export``: the rows of a run, into a file or to standard output."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sgi.cli.options import DatabaseOption, InputsOption, JsonOption, RunArgument

if TYPE_CHECKING:
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord


def export(
    run: RunArgument,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="A .jsonl, .csv or .parquet file; one that is there is replaced."),
    ] = None,
    inputs: InputsOption = False,
    db: DatabaseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the scored rows of a run; without -o, as JSON lines to standard output.

    A reader that has had enough, such as head, ends it quietly.

    Examples:

      sgi export last -o scores.csv

      sgi export nightly -o scores.parquet --inputs

      sgi export last | jq .scores.sgi.value
    """
    from sgi.cli.console import print_json, readers_may_leave, talk
    from sgi.engine.export import export as write_rows
    from sgi.kernel.errors import UsageError
    from sgi.store.database import open_database
    from sgi.store.run_queries import find_run

    if as_json and out is None:
        raise UsageError("--json tells of the file that -o names.", hint="The rows are JSON lines anyway.")
    with open_database(db, create=False) as database:
        record = find_run(database, run)
        if out is None:
            with readers_may_leave():
                _pour(database, record, inputs=inputs)
            return
        spare_data(record, out)
        rows = write_rows(database, record, out, inputs=inputs)
    if as_json:
        print_json({"run": record.id, "rows": rows, "output": str(out)})
    else:
        left = "" if rows == record.rows else f" of {record.rows:,}; the others are not scored"
        talk(f"{out} holds {rows:,} rows{left}.")


def _pour(database: Database, record: RunRecord, *, inputs: bool) -> None:
    from sgi.cli.console import print_json_line
    from sgi.engine.export import exported_batches, nested_row

    for stored in exported_batches(database, record, inputs=inputs):
        for row in nested_row(stored.batch, stored.scores, inputs=inputs):
            print_json_line(row)
        sys.stdout.buffer.flush()


def spare_data(record: RunRecord, out: Path) -> None:
    """See that what is written does not take the place of the data that a run was made of.

    Raises:
        UsageError: it would.
    """
    from sgi.kernel.errors import UsageError

    data = record.spec.get("data")
    if isinstance(data, str) and Path(data).resolve() == out.resolve():
        raise UsageError(f"{out} is the data of the run.", hint="Name another file.")
