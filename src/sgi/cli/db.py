"""``sgi db``: the database of runs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from sgi.cli import options
from sgi.cli.console import one_line, print_json, print_lines, talk
from sgi.cli.run_output import database_option
from sgi.kernel.errors import UsageError

db = typer.Typer(
    name="db",
    help="Inspect, upgrade, export and import the database of runs. Example: sgi db status",
    no_args_is_help=True,
)

ImportPlace = Annotated[
    Path,
    typer.Argument(
        metavar="FILE|FOLDER",
        help="File from `sgi db export`, or folder (or address) from `sgi run --ray`.",
        show_default=False,
    ),
]
Incomplete = Annotated[bool, typer.Option("--incomplete", help="Accept a folder with missing partitions.")]
ImportData = Annotated[
    str | None,
    typer.Option(
        "--data",
        metavar="PATH",
        help="For a folder: the data of the run, as given to `sgi run --ray`. Without it, only data inside "
        "the folder is read.",
    ),
]
ExportFile = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="File name that ends in .jsonl or .jsonl.gz.", show_default=False),
]
OldDatabase = Annotated[
    Path,
    typer.Argument(metavar="OLD.db", help="SQLite file with a table `evals`.", show_default=False),
]


@db.command()
def upgrade(database: options.Database = None, as_json: options.Json = False) -> None:
    """Upgrade the database to the schema of this version, in one transaction.

    Example:
      sgi db upgrade
    """
    from sgi.store.database import upgrade as bring_up

    before, after = bring_up(database)
    if as_json:
        print_json({"from": before, "to": after})
    elif before == after:
        print_lines([f"The schema is up to date: {after}."])
    else:
        print_lines([f"Upgraded the schema from {before or 'none'} to {after}."])


@db.command()
def status(database: options.Database = None, as_json: options.Json = False) -> None:
    """Print the location of the database, its schema and the number of rows of its tables.

    Example:
      sgi db status --json
    """
    from sgi.store.database import status as look

    found = look(database)
    if as_json:
        print_json(asdict(found))
        return
    current = "the current one" if found.revision == found.head else f"this version knows {found.head}"
    facts = {"place": found.shown, "kind": found.dialect, "schema": f"{found.revision or 'none'} ({current})"}
    rows = {name: f"{count:,}" for name, count in found.rows.items()}
    print_lines(f"{name:<12}{value}" for name, value in facts.items())
    print_lines(f"{name:<12}{value:>12} rows" for name, value in rows.items())


@db.command()
def export(file: ExportFile, database: options.Database = None, as_json: options.Json = False) -> None:
    """Write the whole database to a file that `sgi db import` reads.

    Example:
      sgi db export runs.jsonl.gz
    """
    from sgi.store import transfer
    from sgi.store.database import open_database

    with open_database(database, create=False) as opened:
        rows = transfer.export(opened, file)
    if as_json:
        print_json({"file": str(file), "rows": rows})
    else:
        talk(f"Wrote all {rows:,} rows of {opened.shown} to {file}.")


@db.command("import")
def import_(
    file: ImportPlace,
    data: ImportData = None,
    incomplete: Incomplete = False,
    database: options.Database = None,
    as_json: options.Json = False,
) -> None:
    """Import the runs of an exported file; runs that the database already has are skipped.

    A folder of partitions becomes one run, as `sgi run` without --ray would have stored it. The texts of its
    rows are read from the data given with --data. Files and addresses named inside the folder are not opened.

    Examples:
      sgi db import runs.jsonl.gz --db postgresql://me@server/evaluations
      sgi db import scores --data 'answers/*.jsonl'
    """
    from sgi.analysis.import_runs import import_runs
    from sgi.distributed.addresses import as_address
    from sgi.store.database import open_database
    from sgi.store.transfer import require_export

    if file.is_dir() or as_address(str(file)) is not None:
        _import_partitions(file, data, database, incomplete=incomplete, as_json=as_json)
        return
    if data is not None:
        raise UsageError(
            "--data applies only to a folder of partitions.", hint="An export contains its data."
        )
    require_export(file)  # checked first, so that an invalid file creates no database
    with open_database(database) as opened:
        imported = import_runs(opened, file)
    if as_json:
        print_json(asdict(imported))
        return
    print_lines([f"Imported runs: {imported.runs:,}. Skipped as known: {imported.skipped:,}."])
    print_lines(
        f"The name {one_line(old)} is taken; the run is named {one_line(new)}."
        for old, new in imported.renamed.items()
    )


def _import_partitions(
    folder: Path, data: str | None, database: str | None, *, incomplete: bool, as_json: bool
) -> None:
    from sgi.distributed.import_run import import_partitions, read_folder
    from sgi.store.database import open_database

    read_folder(folder)  # checked first, so that an invalid folder creates no database
    with open_database(database) as opened:
        kept = import_partitions(opened, folder, data=data, incomplete=incomplete)
    if as_json:
        print_json(asdict(kept))
        return
    missing = f", {kept.missing:,} missing" if kept.missing else ""
    print_lines([f"Imported run {kept.run}: {kept.rows:,} rows{missing}."])
    print_lines([f"Show it: sgi show {kept.run}{database_option(database)}"])


@db.command("import-evals")
def import_evals(old: OldDatabase, database: options.Database = None, as_json: options.Json = False) -> None:
    """Import the results of an application's table `evals`; the old file is not changed.

    Each test_run_id becomes a run of that name. Rows that were imported before are skipped.

    Example:
      sgi db import-evals old.db
    """
    from sgi.store import legacy_import
    from sgi.store.database import open_database

    legacy_import.require_evals(old)  # checked first, so that an invalid file creates no database
    with open_database(database) as opened:
        made = legacy_import.import_evals(opened, old)
    if as_json:
        print_json(asdict(made))
        return
    print_lines(
        [f"Imported runs: {len(made.runs):,}, rows: {made.rows:,}. Skipped as known: {made.skipped:,}."]
    )
    print_lines(f"  {one_line(name)}" for name in made.runs)
    if made.metadata:
        print_lines([f"Columns stored as metadata: {', '.join(map(one_line, made.metadata))}."])
