"""Open a database and find runs in it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord


@contextmanager
def open_runs(
    db: str | Path | None, *names: str, cluster: str | None = None, weights: str | None = None
) -> Iterator[tuple[Database, list[RunRecord]]]:
    """Context manager that opens an existing database, and finds runs in it.

    Args:
        db: a SQLite file or ``postgresql://…``; None for ``SGI_DATABASE_URL``, or ``sgi.db`` if that is not
            set.
        *names: for each run its id, the beginning of its id, its name, ``last`` or ``last~1``.
        cluster: the rule for rows that are not independent; None for the rule of each run.
        weights: the column of the data with the weights of the rows; None counts each row once.

    Raises:
        UnknownNameError: there is no such run.
        StoreError: the database cannot be read.
    """
    from sgi.store.database import open_database  # imported here because SQLAlchemy takes long to import
    from sgi.store.run_queries import find_run

    with open_database(db, create=False) as database:
        records = [find_run(database, name) for name in names]
        yield database, [record.with_clusters(cluster).with_weights(weights) for record in records]
