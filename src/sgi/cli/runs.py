"""``sgi runs``: which runs are kept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sgi.cli.options import DatabaseOption, JsonOption, PercentOption

if TYPE_CHECKING:
    from sgi.store.queries import RunRecord


def runs(
    limit: Annotated[int, typer.Option(min=1, help="How many to list, the newest first.")] = 20,
    search: Annotated[
        str | None, typer.Option(help="Only runs with this text in their id, name or data, in any case.")
    ] = None,
    db: DatabaseOption = None,
    percent: PercentOption = True,
    as_json: JsonOption = False,
) -> None:
    """List the runs that are kept, the newest first.

    Examples:

      sgi runs

      sgi runs --search nightly --limit 5 --json
    """
    from sgi.cli.console import print_json, print_tables, readers_may_leave, talk
    from sgi.cli.tables import run_facts, runs_table

    kept = _kept(db)
    found = [record for record in kept if search is None or _mentions(record, search)]
    shown = found[:limit]
    with readers_may_leave():
        if as_json:
            print_json([run_facts(record) for record in shown])
        elif shown:
            print_tables([runs_table(shown, percent=percent)])
    if not kept:
        talk("There is no run here yet. Make one: sgi run answers.jsonl")
    elif not found:
        talk(f"No run of {len(kept):,} mentions {search!r}.")
    elif len(shown) < len(found):
        talk(f"These are {len(shown):,} of {len(found):,} runs; --limit {len(found)} lists them all.")


def _kept(db: str | None) -> list[RunRecord]:
    from sgi.store.database import DEFAULT, open_database
    from sgi.store.queries import list_runs

    if db is None and not Path(DEFAULT).exists():
        return []
    with open_database(db, create=False) as database:
        return list_runs(database)


def _mentions(record: RunRecord, text: str) -> bool:
    wanted = text.casefold()
    return any(wanted in told.casefold() for told in (record.id, record.name or "", record.dataset_name))
