"""``sgi run --ray`` scores on a Ray cluster, into a folder; ``sgi runs db import`` stores the folder."""

from __future__ import annotations

import shlex
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

from sgi.cli.console import print_json, print_lines, progress
from sgi.cli.run_options import run_options
from sgi.cli.run_output import database_option, print_columns, report_notes
from sgi.kernel.errors import UsageError
from sgi.kernel.short_text import pluralize
from sgi_cluster.result_folder import import_folder, read_manifest

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sgi.cli.run_options import Values
    from sgi.engine.pipeline import RunReport
    from sgi.engine.run_options import RunOptions


def run_on_ray(
    values: Values, address: str | None, workers: int | None, others: Mapping[str, object], *, quiet: bool
) -> tuple[RunOptions, RunReport, list[str]]:
    """Score on a Ray cluster; return the options, the report and notes.

    Raises:
        UsageError: an option cannot be combined with ``--ray``.
    """
    if address is None:
        raise UsageError("--workers needs --ray.", hint="Write --ray local.")
    refused = {"--tag": "tags", "--db": "db", "sgi judge": "cassette"}
    for name, value in {**others, **{flag: values.get(field) for flag, field in refused.items()}}.items():
        if value:
            hint = "Afterwards, sgi runs db import FOLDER stores the run in a database."
            raise UsageError(f"{name} cannot be combined with --ray.", hint=hint)
    from sgi_cluster.driver import start_run

    options = run_options(values)
    with progress(quiet=quiet) as bar, redirect_stdout(sys.stderr):
        report = start_run(options, address, workers, bar if quiet else print_columns(bar))
    stored = f"To store the run in a database: sgi runs db import {shlex.quote(str(options.out))}"
    return options, report, [] if quiet else [*report_notes(options, report, ""), stored]


def import_into(folder: Path, database: str | None, *, as_json: bool) -> None:
    """Store the results in a folder as a run, and print its id."""
    from sgi.store.database import open_database

    read_manifest(folder)  # checked first, so that an invalid folder creates no database
    with open_database(database) as store:
        run = import_folder(store, folder)
    if as_json:
        print_json({"run": run.id, "rows": run.rows})
        return
    show = f"Show it: sgi show {run.id}{database_option(database)}"
    print_lines([f"Imported run {run.id}: {pluralize(run.rows, 'row')}.", show])
