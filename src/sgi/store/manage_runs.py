"""Rename, tag and delete runs. Each function raises UnknownNameError for an unknown run id."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.store import schema
from sgi.store.bulk_rows import insert_rows
from sgi.store.run_names import checked_tags, require_free_name
from sgi.store.search_index import drop_unused_indexes
from sgi.store.stored_json import read_stored_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection, Row

    from sgi.store.database import Database


class Change(TypedDict, total=False):
    """Changes of a run: its new name (None clears it) and all its tags; what is not set stays unchanged."""

    name: str | None
    tags: Iterable[str]


def change_run(database: Database, run_id: str, **wanted: Unpack[Change]) -> None:
    """Change the name and tags of a run in one transaction.

    Raises UsageError for a name that is taken or reserved, for a bad tag, and for too many tags.
    """
    tags = checked_tags(wanted["tags"]) if "tags" in wanted else None
    with database.writing() as connection:
        run = _lock_run(connection, run_id)
        if "name" in wanted and wanted["name"] != run.name:
            _set_name(connection, run_id, wanted["name"])
        if tags is not None:
            table = schema.run_tags
            connection.execute(sa.delete(table).where(table.c.run == run_id))
            insert_rows(connection, table, ((run_id, tag) for tag in tags))


def delete_run(database: Database, run_id: str) -> None:
    """Delete a run with its scores, and also its data unless another run uses them.

    A process that is writing the run ends with a StoreError at its next batch.
    """
    runs, datasets = schema.runs, schema.datasets
    with database.writing() as connection:
        data = _lock_run(connection, run_id).dataset
        connection.execute(sa.delete(runs).where(runs.c.id == run_id))
        unused = ~sa.exists().where(runs.c.dataset == datasets.c.hash)
        try:
            with connection.begin_nested():
                connection.execute(sa.delete(datasets).where(datasets.c.hash == data, unused))
        except IntegrityError:  # another run of the same data has started meanwhile
            pass
        drop_unused_indexes(connection)


def count_scores(database: Database, run_id: str) -> int:
    """Count the stored scores of a run."""
    metrics, scores = schema.run_metrics, schema.scores
    query = sa.select(sa.func.count()).select_from(scores.join(metrics, metrics.c.id == scores.c.metric))
    with database.reading() as connection:
        return int(connection.execute(query.where(metrics.c.run == run_id)).scalar_one())


def data_files(database: Database) -> frozenset[str]:
    """Return the data files that the specs of runs name."""
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
    except IntegrityError as error:  # another process was faster
        message = f"A run called {name!r} is already there."
        raise UsageError(message, hint="Choose another name.") from error


def _lock_run(connection: Connection, run_id: str) -> Row[Any, Any]:
    runs = schema.runs
    query = sa.select(runs.c.name, runs.c.dataset).where(runs.c.id == run_id).with_for_update()
    found = connection.execute(query).first()
    if found is None:
        raise UnknownNameError("run", run_id, hint="`sgi runs` lists them.")
    return found
