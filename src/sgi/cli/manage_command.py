"""``sgi runs rename``, ``sgi runs tag`` and ``sgi runs delete``: manages stored runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sgi.cli import options
from sgi.cli.console import one_line, print_json, print_lines, print_message
from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.kernel.short_text import pluralize
from sgi.store.open_runs import open_runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.store.run_queries import RunRecord

Name = Annotated[str | None, typer.Argument(help="New name; unique in the database.")]
Clear = Annotated[bool, typer.Option("--clear", help="Clear the name.")]
Tags = Annotated[
    list[str] | None,
    typer.Argument(metavar="TAG...", help="Tags to add. If none is given, the tags of the run are printed."),
]
Remove = Annotated[bool, typer.Option("--remove", help="Remove these tags.")]
Yes = Annotated[bool, typer.Option("-y", "--yes", help="Do not ask for confirmation.")]


def rename(
    run: options.Run,
    name: Name = None,
    clear: Clear = False,
    db: options.Database = None,
    as_json: options.Json = False,
) -> None:
    """Rename a run, or clear its name.

    Examples:
      sgi runs rename last nightly
      sgi runs rename nightly --clear
    """
    from sgi.store.manage_runs import change_run

    if (name is None) != clear:
        raise UsageError("NAME is required.", hint="Give a name, or --clear to remove it.")
    with open_runs(db, run) as (database, (record,)):
        change_run(database, record.id, name=name)
    if as_json:
        print_json({"id": record.id, "name": name})
    else:
        done = f"Renamed {record.label} to {name}." if name else f"Cleared the name of run {record.id}."
        print_message(done)


def tag(
    run: options.Run,
    tags: Tags = None,
    remove: Remove = False,
    db: options.Database = None,
    as_json: options.Json = False,
) -> None:
    """Add tags to a run, remove or print them. Find tagged runs with sgi runs --tag TAG.

    Examples:
      sgi runs tag last nightly gpt-4o
      sgi runs tag last
      sgi runs tag last nightly --remove
    """
    from sgi.store.manage_runs import change_run
    from sgi.store.run_names import checked_tags

    if remove and not tags:
        raise UsageError("TAG is required with --remove.", hint="Give the tags to remove.")
    with open_runs(db, run) as (database, (record,)):
        current = record.tags
        if tags:
            current = checked_tags(_without(record, tags) if remove else [*current, *tags])
            change_run(database, record.id, tags=current)
    if as_json:
        print_json({"id": record.id, "name": record.name, "tags": current})
    elif current:
        print_lines(map(one_line, current))
    else:
        print_message(f"{record.label} has no tags.")


def _without(record: RunRecord, tags: Sequence[str]) -> list[str]:
    """Return the tags of the run without these; raise an error if the run lacks one of them."""
    removed = {tag.strip() for tag in tags}
    for unknown in sorted(removed.difference(record.tags)):
        hint = f"It has: {', '.join(record.tags)}." if record.tags else "It has none."
        raise UnknownNameError(f"tag of {record.label}", unknown, hint=hint)
    return [tag for tag in record.tags if tag not in removed]


def delete(
    runs: options.Runs, yes: Yes = False, db: options.Database = None, as_json: options.Json = False
) -> None:
    """Delete runs and their scores, and data that no other run uses.

    You are asked for confirmation; without a terminal, --yes is required. A run that is still being written
    is stopped.

    Examples:
      sgi runs delete last
      sgi runs delete monday tuesday --yes
    """
    from sgi.store.manage_runs import count_scores, delete_run

    with open_runs(db, *runs) as (database, matches):
        records = list({record.id: record for record in matches}.values())
        if not yes:
            _confirm(records)
        deleted: list[dict[str, Any]] = []
        for record in records:
            scores = count_scores(database, record.id)
            delete_run(database, record.id)
            deleted.append({"id": record.id, "name": record.name, "rows": record.scored, "scores": scores})
    if as_json:
        print_json(deleted)
    else:
        print_lines(map(_deletion_line, deleted))


def _confirm(records: Sequence[RunRecord]) -> None:
    if not sys.stdin.isatty():
        raise UsageError("Confirmation needs a terminal.", hint="Add --yes to delete without confirmation.")
    for record in records:
        state = "" if record.finished else ", not finished"
        print_message(f"{record.label}: {pluralize(record.scored, 'row')} of {record.dataset_name}{state}")
    many = "it" if len(records) == 1 else f"these {len(records)} runs"
    try:
        confirmed = typer.confirm(f"Delete {many} permanently?", err=True)
    except typer.Abort:
        confirmed = False
    if not confirmed:
        print_message("Nothing was deleted.")
        raise typer.Exit(130)


def _deletion_line(facts: dict[str, Any]) -> str:
    name = one_line(facts["name"] or facts["id"])
    return f"Deleted {name}: {pluralize(facts['rows'], 'row')}, {pluralize(facts['scores'], 'score')}."
