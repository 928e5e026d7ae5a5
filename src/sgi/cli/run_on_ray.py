"""``sgi run --ray``: scores on a Ray cluster, into a folder of partitions."""

from __future__ import annotations

import shlex
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

import typer

from sgi.cli.console import print_message, progress
from sgi.cli.run_output import print_columns, print_report, report_notes
from sgi.kernel.errors import UsageError

if TYPE_CHECKING:
    from sgi.cli.run_options import RunOptions
    from sgi.engine.open_resources import Cassette
    from sgi.engine.pipeline import RunReport
    from sgi.engine.spec import RunSpec


def run_on_ray(spec: RunSpec, options: RunOptions, cassette: Cassette | None) -> None:
    """Score on a Ray cluster, and print the summary.

    Raises:
        UsageError: an option cannot be combined with ``--ray``.
        Exit: rows failed or could not be read (3), or the run was interrupted (130).
    """
    _check_options(options, cassette)
    report = _start(spec, options)
    report_spec, notes = _notes(spec, report)
    notes = [] if options.quiet else notes
    print_report(
        report_spec, report, notes, percent=options.percent, as_json=options.as_json, database=options.db
    )
    if report.failures or report.rejected or report.summary.left_out:
        raise typer.Exit(3)


def _check_options(options: RunOptions, cassette: Cassette | None) -> None:
    if options.ray is None:
        raise UsageError("--workers needs --ray.", hint="Write --ray local.")
    if options.dry_run:
        hint = "To see what one row needs: sgi run FILE --dry-run."
        raise UsageError("--dry-run cannot be combined with --ray.", hint=hint)
    unsupported = {
        "--resume": options.resume,
        "--tag": options.tag,
        "--db": options.db,
        "--rejects": options.rejects,
        "sgi judge": cassette,
    }
    names = [option for option, value in unsupported.items() if value]
    if names:
        hint = (
            "The folder has the finished partitions: the same command resumes the run, and "
            "sgi db import FOLDER stores it in a database."
        )
        raise UsageError(f"{names[0]} cannot be combined with --ray.", hint=hint)


def _start(spec: RunSpec, options: RunOptions) -> RunReport:
    from sgi.distributed.driver import ClusterConfig, start_run

    try:
        with progress(quiet=options.quiet) as listener, redirect_stdout(sys.stderr):
            config = ClusterConfig(
                options.ray or "",
                options.workers,
                options.vector_cache,
                options.retry_failed,
                listener if options.quiet else print_columns(listener),
            )
            return start_run(spec, config)
    except KeyboardInterrupt as error:
        print_message("Finished partitions are stored. To resume, run the same command again.")
        print_message("Interrupted.")
        raise typer.Exit(130) from error


def _notes(spec: RunSpec, report: RunReport) -> tuple[RunSpec, list[str]]:
    """Return the spec with the addresses of the output, and the notes on the summary."""
    from sgi.distributed.addresses import as_address
    from sgi.distributed.storage import Folder

    folder = as_address(str(spec.out)) or str(spec.out)
    report_spec = spec.model_copy(
        update={"out": folder, "rejects": Folder(folder).path_of("part-*.rejected.jsonl")}
    )
    data = as_address(str(spec.data)) or str(spec.data)
    text = f"To store the run in a database: sgi db import {shlex.quote(folder)} --data {shlex.quote(data)}"
    return report_spec, [*report_notes(report_spec, report, ""), text]
