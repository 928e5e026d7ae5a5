"""``sgi runs``: which runs are kept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sgi.cli.options import DatabaseOption, JsonOption, PercentOption

if TYPE_CHECKING:
    from sgi.store.run_queries import RunRecord


def runs(
    limit: Annotated[int, typer.Option(min=1, help="How many to list, the newest first.")] = 20,
    search: Annotated[
        str, typer.Option(help="Only runs with this text in their id, name, data or tags, in any case.")
    ] = "",
    tag: Annotated[str | None, typer.Option(help="Only runs with this tag.")] = None,
    db: DatabaseOption = None,
    percent: PercentOption = True,
    as_json: JsonOption = False,
) -> None:
    """List the runs that are kept, the newest first.

    Examples:

      sgi runs

      sgi runs --search nightly --limit 5 --json

      sgi runs --tag gpt-4o
    """
    from sgi.cli.console import print_json, print_tables, readers_may_leave, talk
    from sgi.cli.tables import run_facts, runs_table

    shown, found, kept = _looked_up(db, search, tag, limit)
    with readers_may_leave():
        if as_json:
            print_json([run_facts(record) for record in shown])
        elif shown:
            print_tables([runs_table(shown, percent=percent)])
    if not kept:
        talk("There is no run here yet. Make one: sgi run answers.jsonl")
    elif not found:
        asked = {f"mentions {search!r}": search, f"has the tag {tag!r}": tag is not None}
        talk(f"No run of {kept:,} {' and '.join(words for words, said in asked.items() if said)}.")
    elif len(shown) < found:
        talk(f"These are {len(shown):,} of {found:,} runs; --limit {found} lists them all.")


def _looked_up(db: str | None, search: str, tag: str | None, limit: int) -> tuple[list[RunRecord], int, int]:
    """The runs to show; how many were found, and how many there are."""
    from sgi.store.database import open_database
    from sgi.store.database_location import DEFAULT
    from sgi.store.run_queries import count_runs, list_runs

    if db is None and not Path(DEFAULT).exists():
        return [], 0, 0
    with open_database(db, create=False) as database:
        shown = list_runs(database, search=search, tag=tag, limit=limit)
        return shown, count_runs(database, search=search, tag=tag), count_runs(database)
