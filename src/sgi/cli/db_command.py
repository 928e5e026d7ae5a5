"""``sgi runs db``: inspects, exports and imports the database of runs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from sgi.cli import options
from sgi.cli.commands import cluster_function
from sgi.cli.console import one_line, print_json, print_lines, print_message
from sgi.kernel.short_text import pluralize

db = typer.Typer(
    name="db",
    help="Inspect, export and import the database of runs. Example: sgi runs db status",
    no_args_is_help=True,
)

ImportSource = Annotated[
    Path,
    typer.Argument(
        metavar="FILE|FOLDER",
        help="File from `sgi runs db export`, or folder from `sgi run --ray`.",
        show_default=False,
    ),
]
ExportFile = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="File name that ends in .jsonl or .jsonl.gz.", show_default=False),
]
OldDatabase = Annotated[
    Path, typer.Argument(metavar="OLD.db", help="SQLite file with a table `evals`.", show_default=False)
]


@db.command()
def status(database: options.Database = None, as_json: options.Json = False) -> None:
    """Print the location of the database, its schema and the number of rows of its tables.

    Example:
      sgi runs db status --json
    """
    from sgi.store.database import status as database_status

    state = database_status(database)
    if as_json:
        print_json(asdict(state))
        return
    facts = {
        "database": state.shown,
        "kind": state.dialect,
        "schema": f"{state.schema or 'none'} (this version of SGI needs {state.needed})",
    }
    rows = {name: f"{count:,}" for name, count in state.rows.items()}
    print_lines(f"{name:<14}{value}" for name, value in facts.items())
    print_lines(f"{name:<14}{value:>12} rows" for name, value in rows.items())


@db.command()
def export(file: ExportFile, database: options.Database = None, as_json: options.Json = False) -> None:
    """Write the whole database to a file that `sgi runs db import` reads.

    Example:
      sgi runs db export runs.jsonl.gz
    """
    from sgi.store import transfer
    from sgi.store.database import open_database

    with open_database(database, create=False) as store:
        rows = transfer.export(store, file)
    if as_json:
        print_json({"file": str(file), "rows": rows})
    else:
        print_message(f"Wrote {pluralize(rows, 'row')} of {store.shown} to {file}.")


@db.command("import")
def import_(file: ImportSource, database: options.Database = None, as_json: options.Json = False) -> None:
    """Import the runs of an exported file; runs that the database already has are skipped.

    A folder of `sgi run --ray` becomes one run, as `sgi run` without --ray would have stored it.

    Examples:
      sgi runs db import runs.jsonl.gz --db postgresql://me@server/evaluations
      sgi runs db import scores
    """
    from sgi.analysis.import_runs import import_runs
    from sgi.store.database import open_database
    from sgi.store.transfer import require_export

    if file.is_dir():
        cluster_function("import")(file, database, as_json=as_json)
        return
    require_export(file)  # checked first, so that an invalid file creates no database
    with open_database(database) as store:
        result = import_runs(store, file)
    if as_json:
        print_json(asdict(result))
        return
    print_lines([f"Imported runs: {result.runs:,}. Already in the database: {result.skipped:,}."])
    print_lines(
        f"The name {one_line(old)} is taken; the run is named {one_line(new)}."
        for old, new in result.renamed.items()
    )


@db.command("import-evals")
def import_evals(old: OldDatabase, database: options.Database = None, as_json: options.Json = False) -> None:
    """Import the results of an application's table `evals`; the old file is not changed.

    The rows of each test_run_id become a run of that name. Rows that were imported before are skipped.

    Example:
      sgi runs db import-evals old.db
    """
    from sgi.store import legacy_import
    from sgi.store.database import open_database

    legacy_import.require_evals(old)  # checked first, so that an invalid file creates no database
    with open_database(database) as store:
        result = legacy_import.import_evals(store, old)
    if as_json:
        print_json(asdict(result))
        return
    counts = f"Imported runs: {len(result.runs):,}, rows: {result.rows:,}"
    print_lines([f"{counts}. Already in the database: {result.skipped:,}."])
    print_lines(f"  {one_line(name)}" for name in result.runs)
    if result.metadata:
        print_lines([f"Columns stored as metadata: {', '.join(map(one_line, result.metadata))}."])
