"""``sgi run --ray``: the same run on a Ray cluster, into a folder of partitions."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from sgi.engine.pipeline import RunReport
    from sgi.engine.spec import RunSpec

RayOption = Annotated[
    str | None,
    typer.Option(
        "--ray",
        metavar="local|auto|HOST:PORT",
        help="Score on a Ray cluster, into the folder -o names: one of this machine alone, the one that runs "
        "here, or one elsewhere. DATA may be a folder, a pattern or an address such as s3://bucket/rows.",
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        help="With --ray: how many score at once; one a core by default. Each has its share of --max-cost; "
        "one that dies is replaced, and begins its share anew.",
    ),
]


def run_on_ray(
    spec: RunSpec,
    place: Mapping[str, Any],
    refused: Mapping[str, object],
    *,
    percent: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Do a run on a cluster, and tell what came of it.

    Args:
        spec: how it is asked for.
        place: where it is done: the entries of `sgi.distributed.driver.Place`; no address where ``--workers``
            was written alone.
        refused: what does not go with a cluster, by its option; refused where it was given.
        percent: print shares as percent.
        as_json: print JSON.
        quiet: no progress, no notes.

    Raises:
        UsageError: an option does not go with the others.
        Exit: rows failed or could not be read (3), or the run was interrupted (130).
    """
    from sgi.cli.run_output import tell_report

    _check(place["address"], refused)
    report = _performed(spec, place, quiet=quiet)
    shown, notes = _notes(spec, report)
    tell_report(shown, report, [] if quiet else notes, percent=percent, as_json=as_json)
    if report.failures or report.rejected or report.summary.left_out:
        raise typer.Exit(3)


def _check(ray: str | None, refused: Mapping[str, object]) -> None:
    from sgi.kernel.errors import UsageError

    if ray is None:
        raise UsageError("--workers goes with --ray.", hint="Write --ray local.")
    given = [option for option, value in refused.items() if value]
    if "--dry-run" in given:
        hint = "The plan of one of the files shows what a row takes: sgi run FILE --dry-run."
        raise UsageError("--dry-run does not go with --ray.", hint=hint)
    if given:
        hint = (
            "The folder keeps what is done: the same command goes on, and sgi db import FOLDER keeps the run."
        )
        raise UsageError(f"{given[0]} does not go with --ray.", hint=hint)


def _performed(spec: RunSpec, place: Mapping[str, Any], *, quiet: bool) -> RunReport:
    from sgi.cli.console import progress, talk
    from sgi.cli.run_output import print_columns
    from sgi.distributed.driver import Place, start_run

    try:
        with progress(quiet=quiet) as listener, redirect_stdout(sys.stderr):
            return start_run(spec, Place(**place, listener=listener if quiet else print_columns(listener)))
    except KeyboardInterrupt as error:
        talk("What is done is kept. Give the same command again to go on.")
        talk("Interrupted.")
        raise typer.Exit(130) from error


def _notes(spec: RunSpec, report: RunReport) -> tuple[RunSpec, list[str]]:
    """What a reader of the headline should know, and the spec with the places where things are."""
    from sgi.cli.run_output import report_notes
    from sgi.distributed.addresses import as_address
    from sgi.distributed.storage import Folder

    folder = as_address(str(spec.out)) or str(spec.out)
    shown = spec.model_copy(update={"out": folder, "rejects": Folder(folder).shown("part-*.rejected.jsonl")})
    data = as_address(str(spec.data)) or str(spec.data)
    kept = f"To store the run in a database: sgi db import {shlex.quote(folder)} --data {shlex.quote(data)}"
    return shown, [*report_notes(shown, report, ""), kept]
