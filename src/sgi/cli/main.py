"""The command ``sgi``: its subcommands, and how it prints errors.

Exit codes: 0 success, 1 a bug in SGI, 2 an error that the user can fix, 3 success except for failed or
rejected rows, 4 a failed gate or an alert, 130 interrupted by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Annotated

import typer

from sgi.cli.agree import agree
from sgi.cli.annotate import annotate
from sgi.cli.bench_metrics import bench_metrics
from sgi.cli.cache import cache
from sgi.cli.calibrate import calibrate
from sgi.cli.card import card
from sgi.cli.check import check
from sgi.cli.compare import compare
from sgi.cli.compute import compute
from sgi.cli.console import complain, print_message
from sgi.cli.db import db
from sgi.cli.demo import demo
from sgi.cli.diagnose import diagnose
from sgi.cli.doctor import doctor
from sgi.cli.duel import duel
from sgi.cli.export import export
from sgi.cli.gate import gate
from sgi.cli.judge import judge
from sgi.cli.labels import labels
from sgi.cli.manage import delete, rename, tag
from sgi.cli.metrics import metrics
from sgi.cli.models import models
from sgi.cli.options import option_group
from sgi.cli.plot import plot
from sgi.cli.repeats import repeats
from sgi.cli.report import report
from sgi.cli.reproduce import reproduce
from sgi.cli.rescore import rescore
from sgi.cli.run import run
from sgi.cli.runs import runs
from sgi.cli.score import score
from sgi.cli.serve import serve
from sgi.cli.show import show
from sgi.cli.signals import run_until_signal
from sgi.cli.users import users
from sgi.cli.watch import watch
from sgi.kernel.errors import SgiError
from sgi.kernel.limits import input_limits, variable
from sgi.kernel.signature import package_version

app = typer.Typer(
    name="sgi",
    help="Evaluate RAG answers: how well the passages support them, and how close they are to a reference. "
    "Start with: sgi demo, sgi check, sgi run answers.jsonl",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_COMMANDS = {
    "Score": (demo, run, score, check, compute),
    "Inspect": (runs, show, report, plot, export, serve),
    "Decide": (compare, diagnose, repeats, gate, watch, calibrate),
    "Judge": (judge, duel, labels, agree, rescore),
    "Study": (card, bench_metrics, reproduce),
    "Manage": (metrics, models, doctor, rename, tag, annotate, delete, db, cache, users),
}
"""The commands in the groups and the order in which `sgi --help` lists them."""

for panel, commands in _COMMANDS.items():
    for command in commands:
        if isinstance(command, typer.Typer):
            app.add_typer(command, rich_help_panel=panel)
        else:
            app.command(rich_help_panel=panel)(command)

_limit_option = option_group("Input limits")


def _print_version(requested: bool) -> None:
    if requested:
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
        _limit_option(
            metavar="SIZE",
            help="Maximum size of a value; a row with a larger one cannot be read. Default: 4MB.",
        ),
    ] = None,
    max_row: Annotated[
        str | None,
        _limit_option(
            metavar="SIZE", help="Maximum size of a row; a larger row cannot be read. Default: 8MB."
        ),
    ] = None,
    max_columns: Annotated[
        str | None, _limit_option(metavar="N", help="Maximum number of columns of the data. Default: 10000.")
    ] = None,
    max_file: Annotated[
        str | None,
        _limit_option(
            metavar="SIZE",
            help="Maximum size of a file that is read at once, such as a calibration. Default: 64MB.",
        ),
    ] = None,
) -> None:
    del version  # the callback has printed it
    limits = {"cell": max_cell, "row": max_row, "columns": max_columns, "file": max_file}
    # Worker processes inherit the environment, so limits are passed in it.
    os.environ.update({variable(name): text for name, text in limits.items() if text is not None})
    input_limits()


def main() -> None:
    """Run the command line. A user's error is one line on stderr, without a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # print what a narrow encoding lacks as "?"
    try:
        run_until_signal(app)
    except SgiError as error:
        complain(error)
        sys.exit(2)
    except OSError as error:
        file = "" if error.filename is None else f" {error.filename}"
        print_message(f"Error: the operating system cannot read or write{file}: {error.strerror or error}.")
        sys.exit(2)
