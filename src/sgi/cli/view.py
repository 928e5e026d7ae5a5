"""``sgi view``: browses runs and rows in the terminal."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from sgi.cli import options
from sgi.kernel.errors import UsageError, require_extra
from sgi.store.open_runs import open_runs

Run = Annotated[
    str | None,
    typer.Argument(
        help="A run to open: id, name, last, or last~1. Default: the list of runs.",
        autocompletion=options.complete_run,
        show_default=False,
    ),
]


def view(run: Run = None, db: options.Database = None) -> None:
    """Browse runs and rows in the terminal, the worst rows first.

    Needs the extra `view`. Only one page of rows is in memory. The keys are those of the dashboard: j and k
    move, Enter opens, u goes back, / searches, s sorts, ? shows all keys, and q quits.

    Examples:
      sgi view
      sgi view last
      sgi view nightly --db results.db
    """
    with require_extra("`sgi view`", "view"):
        from sgi.cli.browser.app import Browser
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("`sgi view` needs a terminal.", hint="`sgi show RUN` prints a run.")
    with open_runs(db, *([] if run is None else [run])) as (database, records):
        Browser(database, *records).run()
