"""``sgi rename``, ``sgi tag`` and ``sgi delete``: what a user does with runs that are there."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sgi.cli.options import DatabaseOption, JsonOption, RunArgument, complete_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.store.run_queries import RunRecord

Name = Annotated[str | None, typer.Argument(help="What to call it; unique in the database.")]
Clear = Annotated[bool, typer.Option("--clear", help="Take its name away.")]
Tags = Annotated[list[str] | None, typer.Argument(metavar="TAG...", help="One or several; none prints them.")]
Remove = Annotated[bool, typer.Option("--remove", help="Take these tags away.")]
Runs = Annotated[
    list[str],
    typer.Argument(
        metavar="RUN...",
        help="Runs: each an id, a beginning of it, a name, last, or last~1 for the one before.",
        autocompletion=complete_run,
        show_default=False,
    ),
]
Yes = Annotated[bool, typer.Option("-y", "--yes", help="Do not ask.")]


def rename(
    run: RunArgument,
    name: Name = None,
    clear: Clear = False,
    db: DatabaseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Call a run otherwise, or take its name away.

    Examples:

      sgi rename last nightly

      sgi rename nightly --clear
    """
    from sgi.cli.console import print_json, talk
    from sgi.kernel.errors import UsageError
    from sgi.store.database import open_database
    from sgi.store.manage_runs import rename_run
    from sgi.store.run_queries import find_run

    if (name is None) != clear:
        raise UsageError("Which name?", hint="Give one, or --clear to take its name away.")
    with open_database(db, create=False) as database:
        record = find_run(database, run)
        rename_run(database, record.id, name)
    if as_json:
        print_json({"id": record.id, "name": name})
    else:
        talk(f"The run {record.id} has no name now." if name is None else f"{record.label} is {name} now.")


def tag(
    run: RunArgument,
    tags: Tags = None,
    remove: Remove = False,
    db: DatabaseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tag a run, so that it is found with others: sgi runs --tag NAME. Prints the tags it has then.

    Examples:

      sgi tag last nightly gpt-4o

      sgi tag last

      sgi tag last nightly --remove
    """
    from sgi.cli.console import one_line, print_json, print_lines, talk
    from sgi.kernel.errors import UsageError
    from sgi.store.database import open_database
    from sgi.store.manage_runs import set_tags
    from sgi.store.run_queries import find_run

    if remove and not tags:
        raise UsageError("Which tags?", hint="Name those that shall go.")
    with open_database(db, create=False) as database:
        record = find_run(database, run)
        kept = record.tags
        if tags:
            kept = set_tags(database, record.id, _less(record, tags) if remove else [*kept, *tags])
    if as_json:
        print_json({"id": record.id, "name": record.name, "tags": kept})
    elif kept:
        print_lines(map(one_line, kept))
    else:
        talk(f"{record.label} has no tags.")


def _less(record: RunRecord, tags: Sequence[str]) -> list[str]:
    """The tags that are left without these."""
    from sgi.kernel.errors import UnknownNameError

    gone = {tag.strip() for tag in tags}
    for unknown in sorted(gone.difference(record.tags)):
        hint = f"It has: {', '.join(record.tags)}." if record.tags else "It has none."
        raise UnknownNameError(f"tag of {record.label}", unknown, hint=hint)
    return [tag for tag in record.tags if tag not in gone]


def delete(runs: Runs, yes: Yes = False, db: DatabaseOption = None, as_json: JsonOption = False) -> None:
    """Delete runs with all their scores; data that no other run is of goes too.

    It asks before; where nobody can be asked, it wants --yes. A run that is still written ends.

    Examples:

      sgi delete last

      sgi delete monday tuesday --yes
    """
    from sgi.cli.console import print_json, print_lines
    from sgi.store.database import open_database
    from sgi.store.manage_runs import count_scores, delete_run
    from sgi.store.run_queries import find_run

    with open_database(db, create=False) as database:
        records = list({record.id: record for record in (find_run(database, run) for run in runs)}.values())
        if not yes:
            _ask(records)
        deleted: list[dict[str, Any]] = []
        for record in records:
            scores = count_scores(database, record.id)
            delete_run(database, record.id)
            deleted.append({"id": record.id, "name": record.name, "rows": record.scored, "scores": scores})
    if as_json:
        print_json(deleted)
    else:
        print_lines(map(_deleted, deleted))


def _ask(records: Sequence[RunRecord]) -> None:
    """Go on only if the person wants it."""
    from sgi.cli.console import talk
    from sgi.kernel.errors import UsageError

    if not sys.stdin.isatty():
        raise UsageError("Nobody can be asked here.", hint="Write --yes to delete without asking.")
    for record in records:
        state = "" if record.finished else ", not finished"
        talk(f"{record.label}: {record.scored:,} rows of {record.dataset_name}{state}")
    many = "it" if len(records) == 1 else f"these {len(records)} runs"
    try:
        wanted = typer.confirm(f"Delete {many} for good?", err=True)
    except typer.Abort:
        wanted = False
    if not wanted:
        talk("Nothing was deleted.")
        raise typer.Exit(130)


def _deleted(told: dict[str, Any]) -> str:
    from sgi.cli.console import one_line

    name = one_line(told["name"] or told["id"])
    return f"Deleted {name}: {told['rows']:,} rows, {told['scores']:,} scores."
