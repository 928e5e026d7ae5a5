"""The command ``sgi``: its subcommands, and how it prints errors.

Exit codes: 0 success, 1 a bug in SGI, 2 an error that the user can fix, 3 success except for failed or
rejected rows, 4 a failed gate or an alert, 130 interrupted by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP.
"""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from sgi.cli.commands import ALSO, HELP_NAMES, CommandGroup
from sgi.cli.options import option_group
from sgi.cli.stop_signals import run_until_signal
from sgi.kernel.errors import SgiError
from sgi.kernel.input_limits import input_limits, variable
from sgi.kernel.signature import package_version

app = typer.Typer(
    name="sgi",
    cls=CommandGroup,
    help="Evaluate RAG answers: how well the passages support them, and how close they are to a reference. "
    "Without a command, sgi says what this folder has and which command comes next.",
    epilog=f"Also: {', '.join(ALSO)}.",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": HELP_NAMES},
)
_limit_option = option_group("Input limits")


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(package_version())
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
    ] = False,
    max_cell: Annotated[
        str | None,
        _limit_option(
            metavar="SIZE",
            help="Maximum size of a value; a row with a larger value is rejected. Default: 4MB.",
        ),
    ] = None,
    max_row: Annotated[
        str | None,
        _limit_option(metavar="SIZE", help="Maximum size of a row; a larger row is rejected. Default: 8MB."),
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
    if context.invoked_subcommand is None:
        from sgi.cli.next_command import print_next_command

        print_next_command(Path())


def main() -> None:
    """Run the command line. A user's error is one line on stderr, without a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # print what a narrow encoding lacks as "?"
    try:
        run_until_signal(app)
    except SgiError as error:
        from sgi.cli.console import complain

        complain(error)
        sys.exit(2)
    except OSError as error:
        from sgi.cli.console import print_message

        file = "" if error.filename is None else f" {error.filename}"
        print_message(f"Error: the operating system cannot read or write{file}: {error.strerror or error}.")
        sys.exit(2)
