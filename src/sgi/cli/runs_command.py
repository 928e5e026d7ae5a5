"""``sgi runs``: lists the stored runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sgi.cli import options
from sgi.cli.console import print_json, print_message, print_tables
from sgi.cli.printed_tables import run_facts, runs_table, trend_table
from sgi.kernel.short_text import pluralize

if TYPE_CHECKING:
    from sgi.store.run_queries import RunRecord


def runs(
    limit: Annotated[int, typer.Option(min=1, help="Number of runs to list.")] = 20,
    search: Annotated[
        str, typer.Option(help="Only runs with this text in their id, name, data or tags; case is ignored.")
    ] = "",
    tag: Annotated[str | None, typer.Option(help="Only runs with this tag.")] = None,
    db: options.Database = None,
    percent: options.Percent = True,
    as_json: options.Json = False,
) -> None:
    """List the stored runs, newest first.

    A terminal also shows how the mean of the main metric changed over the listed runs of the same data.

    Examples:
      sgi runs
      sgi runs --search nightly --limit 5 --json
      sgi runs --tag gpt-4o
    """
    records, matches, total = _list(db, search, tag, limit)
    if as_json:
        print_json([run_facts(record) for record in records])
    elif records:
        print_tables([runs_table(records, percent=percent)])
        print_tables([trend_table(records, percent=percent)], only_styled=True)
    if not total:
        print_message("No run is stored yet. Make one: sgi run answers.jsonl")
    elif not matches:
        filters = [f"contains {search!r}"] if search else []
        filters += [] if tag is None else [f"has the tag {tag!r}"]
        print_message(f"None of {pluralize(total, 'run')} {' and '.join(filters)}.")
    elif len(records) < matches:
        print_message(f"Listed {len(records):,} of {matches:,} runs; --limit {matches} lists all.")


def _list(db: str | None, search: str, tag: str | None, limit: int) -> tuple[list[RunRecord], int, int]:
    """Return the runs to show, the number of matches, and the number of all runs."""
    from sgi.store.database import open_database
    from sgi.store.database_location import DEFAULT
    from sgi.store.run_queries import count_runs, list_runs

    if db is None and not Path(DEFAULT).exists():
        return [], 0, 0
    with open_database(db, create=False) as database:
        records = list_runs(database, search=search, tag=tag, limit=limit)
        return records, count_runs(database, search=search, tag=tag), count_runs(database)
