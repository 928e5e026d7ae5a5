"""``sgi db``: the database of runs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from sgi.cli.options import DatabaseOption, JsonOption

db = typer.Typer(
    name="db",
    help="The database of runs: what it is, its upgrade, and runs from and to files. Example: sgi db status",
    no_args_is_help=True,
)

ImportPlace = Annotated[
    Path,
    typer.Argument(
        metavar="FILE|FOLDER",
        help="What sgi db export wrote, or the folder (or its address) that sgi run --ray wrote into.",
        show_default=False,
    ),
]
Incomplete = Annotated[
    bool, typer.Option("--incomplete", help="Take a folder in which partitions are missing, too.")
]
ImportData = Annotated[
    str | None,
    typer.Option(
        "--data",
        metavar="PATH",
        help="For a folder: the data of the run, as sgi run --ray named it. Without it, only data inside of "
        "the folder is read.",
    ),
]
ExportFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="A name that ends in .jsonl or .jsonl.gz.", show_default=False)
]
OldDatabase = Annotated[
    Path,
    typer.Argument(metavar="OLD.db", help="A SQLite file with a table `evals`.", show_default=False),
]


@db.command()
def upgrade(database: DatabaseOption = None, as_json: JsonOption = False) -> None:
    """Bring the database to the schema of this version; all or nothing.

    Example:

      sgi db upgrade
    """
    from sgi.cli.console import print_json, print_lines
    from sgi.store.database import upgrade as bring_up

    before, after = bring_up(database)
    if as_json:
        print_json({"from": before, "to": after})
    elif before == after:
        print_lines([f"The schema is {after}, as it should be."])
    else:
        print_lines([f"The schema was {before or 'not there'} and is {after} now."])


@db.command()
def status(database: DatabaseOption = None, as_json: JsonOption = False) -> None:
    """Say where the database is, of which schema, and how many rows its tables hold.

    Example:

      sgi db status --json
    """
    from sgi.cli.console import print_json, print_lines
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
def export(file: ExportFile, database: DatabaseOption = None, as_json: JsonOption = False) -> None:
    """Write the whole database into a file, which `sgi db import` reads.

    Example:

      sgi db export runs.jsonl.gz
    """
    from sgi.cli.console import print_json, talk
    from sgi.store import transfer
    from sgi.store.database import open_database

    with open_database(database, create=False) as opened:
        rows = transfer.export(opened, file)
    if as_json:
        print_json({"file": str(file), "rows": rows})
    else:
        talk(f"{file} holds all {rows:,} rows of {opened.shown}.")


@db.command("import")
def import_(
    file: ImportPlace,
    data: ImportData = None,
    incomplete: Incomplete = False,
    database: DatabaseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Bring the runs of an exported file into the database; those that are there already are left out.

    A folder of partitions becomes one run, as sgi run would have stored it without --ray. The texts of its
    rows are read from the data that --data names. Files and addresses that the folder names are not opened.

    Examples:

      sgi db import runs.jsonl.gz --db postgresql://me@server/evaluations

      sgi db import scores --data 'answers/*.jsonl'
    """
    from sgi.analysis.import_runs import import_runs
    from sgi.cli.console import one_line, print_json, print_lines
    from sgi.distributed.addresses import as_address
    from sgi.kernel.errors import UsageError
    from sgi.store.database import open_database
    from sgi.store.transfer import require_export

    if file.is_dir() or as_address(str(file)) is not None:
        _import_partitions(file, data, database, incomplete=incomplete, as_json=as_json)
        return
    if data is not None:
        raise UsageError("--data is for a folder of partitions.", hint="An export holds its own data.")
    require_export(file)  # a file that cannot be imported leaves no new database behind
    with open_database(database) as opened:
        made = import_runs(opened, file)
    if as_json:
        print_json(asdict(made))
        return
    print_lines([f"New runs: {made.runs:,}. There already: {made.skipped:,}."])
    print_lines(
        f"The name {one_line(old)} was taken: it is {one_line(new)} here."
        for old, new in made.renamed.items()
    )


def _import_partitions(
    folder: Path, data: str | None, database: str | None, *, incomplete: bool, as_json: bool
) -> None:
    from sgi.cli.console import print_json, print_lines
    from sgi.cli.run_output import database_words
    from sgi.distributed.import_run import import_partitions, read_folder
    from sgi.store.database import open_database

    read_folder(folder)  # a folder that cannot be imported leaves no new database behind
    with open_database(database) as opened:
        kept = import_partitions(opened, folder, data=data, incomplete=incomplete)
    if as_json:
        print_json(asdict(kept))
        return
    lacking = f", {kept.missing:,} are missing" if kept.missing else ""
    print_lines([f"New run: {kept.run}, {kept.rows:,} rows{lacking}."])
    print_lines([f"Look at it: sgi show {kept.run}{database_words(database)}"])


@db.command("import-evals")
def import_evals(old: OldDatabase, database: DatabaseOption = None, as_json: JsonOption = False) -> None:
    """Bring the results of an application's table `evals` into the database; the old file stays as it is.

    Each test_run_id becomes a run of that name. What was imported before is left out.

    Example:

      sgi db import-evals old.db
    """
    from sgi.cli.console import one_line, print_json, print_lines
    from sgi.store import legacy_import as old_evals
    from sgi.store.database import open_database

    old_evals.require_evals(old)  # a file that cannot be imported leaves no new database behind
    with open_database(database) as opened:
        made = old_evals.import_evals(opened, old)
    if as_json:
        print_json(asdict(made))
        return
    print_lines([f"New runs: {len(made.runs):,}, rows: {made.rows:,}. There already: {made.skipped:,}."])
    print_lines(f"  {one_line(name)}" for name in made.runs)
    if made.metadata:
        print_lines([f"Kept as metadata: {', '.join(map(one_line, made.metadata))}."])
