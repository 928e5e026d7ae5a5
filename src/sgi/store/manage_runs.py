"""Renames, tags and deletes runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.store import schema
from sgi.store.bulk_rows import insert_rows
from sgi.store.run_names import checked_tags, require_free_name
from sgi.store.stored_json import read_stored_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection, Row

    from sgi.store.database import Database


class Change(TypedDict, total=False):
    """What becomes of a run; what is left out stays.

    Attributes:
        name: as in `rename_run`.
        tags: as in `set_tags`.
    """

    name: str | None
    tags: Iterable[str]


def change_run(database: Database, run_id: str, **wanted: Unpack[Change]) -> None:
    """Change what is said of a run: all that is wanted, or nothing.

    Raises:
        UsageError: another run has the name, it stands for something else, or the tags cannot be.
        UnknownNameError: there is no run with this id.
    """
    tags = checked_tags(wanted["tags"]) if "tags" in wanted else None
    with database.writing() as connection:
        found = _lock_run(connection, run_id)
        if "name" in wanted and wanted["name"] != found.name:
            _set_name(connection, run_id, wanted["name"])
        if tags is not None:
            table = schema.run_tags
            connection.execute(sa.delete(table).where(table.c.run == run_id))
            insert_rows(connection, table, ((run_id, tag) for tag in tags))


def rename_run(database: Database, run_id: str, name: str | None) -> None:
    """Rename a run; None clears its name.

    Raises:
        UsageError: another run has the name, or it stands for something else.
        UnknownNameError: there is no run with this id.
    """
    change_run(database, run_id, name=name)


def delete_run(database: Database, run_id: str) -> None:
    """Delete a run with its scores, and its data unless another run uses it.

    A process that is writing the run ends with a StoreError at its next batch.

    Raises:
        UnknownNameError: there is no run with this id.
    """
    runs, datasets = schema.runs, schema.datasets
    with database.writing() as connection:
        data = _lock_run(connection, run_id).dataset
        connection.execute(sa.delete(runs).where(runs.c.id == run_id))
        unused = ~sa.exists().where(runs.c.dataset == datasets.c.hash)
        try:
            with connection.begin_nested():
                connection.execute(sa.delete(datasets).where(datasets.c.hash == data, unused))
        except IntegrityError:  # a run of the same data has begun meanwhile
            pass


def set_tags(database: Database, run_id: str, tags: Iterable[str]) -> tuple[str, ...]:
    """Give a run these tags in place of those it has; says which they are, sorted.

    Raises:
        UsageError: one of them cannot be a tag, or they are too many.
        UnknownNameError: there is no run with this id.
    """
    tuplestr = checked_tags(tags)
    change_run(database, run_id, tags=tuplestr)
    return tuplestr


def count_scores(database: Database, run_id: str) -> int:
    """How many scores of a run are kept."""
    metrics, scores = schema.run_metrics, schema.scores
    query = sa.select(sa.func.count()).select_from(scores.join(metrics, metrics.c.id == scores.c.metric))
    with database.reading() as connection:
        return int(connection.execute(query.where(metrics.c.run == run_id)).scalar_one())


def data_files(database: Database) -> frozenset[str]:
    """The files of rows that runs were asked for with, as their specs name them."""
    with database.reading() as connection:
        texts = connection.execute(sa.select(sa.cast(schema.runs.c.spec, sa.Text))).scalars()
        specs = [read_stored_json({"spec": text})[0]["spec"] for text in texts]
    return frozenset(str(spec["data"]) for spec in specs if "data" in spec)


def _set_name(connection: Connection, run_id: str, name: str | None) -> None:
    runs = schema.runs
    if name is not None:
        require_free_name(connection, name)
    try:
        connection.execute(sa.update(runs).where(runs.c.id == run_id).values(name=name))
    except IntegrityError as error:  # another process was quicker
        message = f"A run called {name!r} is already there."
        raise UsageError(message, hint="Choose another name.") from error


def _lock_run(connection: Connection, run_id: str) -> Row[Any, Any]:
    """The run, in this transaction's hands until it ends."""
    runs = schema.runs
    query = sa.select(runs.c.name, runs.c.dataset).where(runs.c.id == run_id).with_for_update()
    found = connection.execute(query).first()
    if found is None:
        raise UnknownNameError("run", run_id, hint="`sgi runs` lists them.")
    return found
