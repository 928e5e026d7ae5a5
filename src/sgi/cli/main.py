"""The command ``sgi``: its verbs, and how every error leaves it.

Exit codes: 0 done, 1 a bug of ours, 2 something the user can fix, 3 finished with failed or rejected rows,
4 a gate that is not met, 130 interrupted by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Annotated

import typer

from sgi.cli.agree import agree
from sgi.cli.bench_metrics import bench_metrics
from sgi.cli.cache import cache
from sgi.cli.calibrate import calibrate
from sgi.cli.card import card
from sgi.cli.check import check
from sgi.cli.compare import compare
from sgi.cli.compute import compute
from sgi.cli.db import db
from sgi.cli.demo import demo
from sgi.cli.doctor import doctor
from sgi.cli.export import export
from sgi.cli.gate import gate
from sgi.cli.judge import judge
from sgi.cli.manage import delete, rename, tag
from sgi.cli.metrics import metrics
from sgi.cli.models import models
from sgi.cli.plot import plot
from sgi.cli.report import report
from sgi.cli.reproduce import reproduce
from sgi.cli.rescore import rescore
from sgi.cli.run import run
from sgi.cli.runs import runs
from sgi.cli.score import score
from sgi.cli.serve import serve
from sgi.cli.show import show
from sgi.cli.signals import run_until_signal
from sgi.kernel.errors import SgiError
from sgi.kernel.limits import input_limits, variable
from sgi.kernel.signature import package_version

app = typer.Typer(
    name="sgi",
    help="How well is each answer grounded in its passages, and how close is it to the reference?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for verb in (
    demo,
    run,
    runs,
    show,
    compare,
    rename,
    tag,
    delete,
    report,
    plot,
    serve,
    agree,
    card,
    bench_metrics,
    calibrate,
    reproduce,
    rescore,
    gate,
    export,
    score,
    check,
    compute,
    metrics,
    doctor,
):
    app.command()(verb)
app.add_typer(db)
app.add_typer(models)
app.add_typer(cache)
app.add_typer(judge)


_LIMITS = "Limits on what is read"


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(package_version())
        raise typer.Exit


@app.callback()
def _options(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
    ] = False,
    max_cell: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="The largest value of a row (4MB).", rich_help_panel=_LIMITS),
    ] = None,
    max_row: Annotated[
        str | None, typer.Option(metavar="SIZE", help="The largest row (8MB).", rich_help_panel=_LIMITS)
    ] = None,
    max_columns: Annotated[
        str | None, typer.Option(metavar="N", help="The most columns (10000).", rich_help_panel=_LIMITS)
    ] = None,
    max_file: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="The largest file that is read as a whole, such as a calibration (64MB).",
            rich_help_panel=_LIMITS,
        ),
    ] = None,
) -> None:
    del version  # its callback has printed it
    given = {"cell": max_cell, "row": max_row, "columns": max_columns, "file": max_file}
    # Worker processes inherit the environment, so this is the one place where limits are kept.
    os.environ.update({variable(name): text for name, text in given.items() if text is not None})
    input_limits()


def main() -> None:
    """Run the command line; a user's error is told in one line, without a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a narrow encoding must not cost a result
    try:
        run_until_signal(app)
    except SgiError as error:
        from sgi.cli.console import complain

        complain(error)
        sys.exit(2)
    except OSError as error:
        from sgi.cli.console import talk

        place = "" if error.filename is None else f" {error.filename}"
        talk(f"Error: the system refused to read or write{place}: {error.strerror or error}.")
        sys.exit(2)
