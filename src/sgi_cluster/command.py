"""``sgi run --ray`` scores on a Ray cluster, into a folder; ``sgi db import`` stores the folder."""

from __future__ import annotations

import shlex
import sys
from contextlib import redirect_stdout
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from sgi.cli.console import print_json, print_lines, progress
from sgi.cli.run_output import database_option, print_columns, print_report, report_notes
from sgi.kernel.errors import UsageError
from sgi_cluster.result_folder import import_folder, read_manifest

if TYPE_CHECKING:
    from pathlib import Path

    from sgi.cli.run_options import RunOptions
    from sgi.engine.open_resources import Cassette
    from sgi.engine.spec import RunSpec


def run_on_ray(spec: RunSpec, options: RunOptions, cassette: Cassette | None) -> None:
    """Score on a Ray cluster, and print the summary.

    Raises:
        UsageError: an option cannot be combined with ``--ray``.
        Exit: rows failed or could not be read (3).
    """
    if options.ray is None:
        raise UsageError("--workers needs --ray.", hint="Write --ray local.")
    others = {"--dry-run": options.dry_run, "--resume": options.resume, "--tag": options.tag}
    for name, value in {**others, "--db": options.db, "sgi judge": cassette}.items():
        if value:
            hint = "Afterwards, sgi db import FOLDER stores the run in a database."
            raise UsageError(f"{name} cannot be combined with --ray.", hint=hint)
    from sgi_cluster.driver import ClusterConfig, start_run

    with progress(quiet=options.quiet) as bar, redirect_stdout(sys.stderr):
        listener = bar if options.quiet else print_columns(bar)
        cluster = (options.ray, options.workers, options.vector_cache, options.retry_failed)
        report = start_run(spec, ClusterConfig(*cluster, listener))
    stored = f"To store the run in a database: sgi db import {shlex.quote(str(spec.out))}"
    notes = [] if options.quiet else [*report_notes(spec, report, ""), stored]
    print_report(spec, report, notes, percent=options.percent, as_json=options.as_json, database=None)
    if report.failures or report.rejected or report.summary.left_out:
        raise typer.Exit(3)


def import_into(folder: Path, database: str | None, *, as_json: bool) -> None:
    """Store the results in a folder as a run, and print its id."""
    from sgi.store.database import open_database

    read_manifest(folder)  # checked first, so that an invalid folder creates no database
    with open_database(database) as store:
        result = import_folder(store, folder)
    if as_json:
        print_json(asdict(result))
        return
    show = f"Show it: sgi show {result.run}{database_option(database)}"
    print_lines([f"Imported run {result.run}: {result.rows:,} rows.", show])
