"""Read stored runs as `Run`."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgi.engine.run import Run
from sgi.kernel.errors import StoreError
from sgi.kernel.protocols import Usage
from sgi.store.database import open_database
from sgi.store.run_queries import find_run, run_usage
from sgi.store.scored_runs import (
    class_columns,
    column_values,
    labels_and_metadata,
    read_columns,
    row_ids,
    row_weights,
    run_clusters,
)
from sgi.store.stored_batches import details_reader, field_reader, sample_reader

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from contextlib import AbstractContextManager

    import numpy as np
    from numpy.typing import NDArray

    from sgi.store.database import Connection, Database
    from sgi.store.run_queries import RunRecord

    Opened = Callable[[], AbstractContextManager[Database]]


def open_run(
    run: str = "last",
    *,
    db: str | Path | None = None,
    cluster: str | None = None,
    weights: str | None = None,
) -> Run:
    """Open a stored run. The texts of its rows are read when they are first used.

    Args:
        run: its id or the beginning of its id, its name, ``last``, or ``last~1`` for the one before last.
        db: a SQLite file or ``postgresql://…``; None: ``SGI_DATABASE_URL`` if set, otherwise ``sgi.db``.
        cluster: rule that says which rows are dependent in intervals and tests; None: the rule of the run.
        weights: column of the data with the weight of each row, a number above 0, in the means of the
            summary, gates and comparisons; None counts each row once.

    Returns:
        The run: its settings, rows, scores and summary, as from `sgi.evaluate`.

    Raises:
        UnknownNameError: there is no such run or column.
        DataError: a weight is not a number above 0.
        StoreError: the database cannot be read.

    >>> import sgi
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> folder = Path(mkdtemp())
    >>> _ = (folder / "rows.jsonl").write_text('{"response": "Paris.", "reference": "paris"}')
    >>> _ = sgi.run(folder / "rows.jsonl", "squad_em", name="monday", db=folder / "sgi.db")
    >>> open_run("monday", db=folder / "sgi.db")["squad_em"].values.tolist()
    [1.0]
    """
    with open_database(db, create=False) as database:
        record = find_run(database, run).with_clusters(cluster).with_weights(weights)
        usage = sum(run_usage(database, record.id).values(), Usage())
        place = Path(database.shown).absolute() if database.dialect == "sqlite" else db
        with database.reading() as connection:
            found = _read(partial(open_database, place, create=False), connection, record)
        return replace(found, db=db, usage=usage)


def read_run(database: Database, record: RunRecord, *, metrics: Collection[str] | None = None) -> Run:
    """Read the scores of all committed rows, of all metrics or of these; other parts are read when used."""
    with database.reading() as connection:
        return _read(lambda: nullcontext(database), connection, record, metrics)


def grouped_run(
    database: Database, record: RunRecord, by: str, class_keys: Mapping[str, str]
) -> tuple[Run, list[Any], dict[str, list[Any]]]:
    """Return, in one snapshot, the run, the values of a column of the data, and each row's class by metric.

    ``by`` and ``class_keys`` are as in `column_values` and `class_columns` of `sgi.store.scored_runs`.

    Raises UnknownNameError if no row has such a column; the message lists the columns.
    """
    with database.reading() as connection:
        run = _read(lambda: nullcontext(database), connection, record)
        return run, column_values(connection, record, by), class_columns(connection, record, class_keys)


def whole_run(
    database: Database, record: RunRecord, class_keys: Mapping[str, str]
) -> tuple[Run, list[bool | None], list[Mapping[str, Any]], dict[str, list[Any]]]:
    """Return, in one snapshot, the run, and the labels, metadata and classes of its rows."""
    with database.reading() as connection:
        run = _read(lambda: nullcontext(database), connection, record)
        return (
            run,
            *labels_and_metadata(connection, record),
            class_columns(connection, record, class_keys),
        )


def _read(
    opened: Opened, connection: Connection, record: RunRecord, only: Collection[str] | None = None
) -> Run:
    """Read a run; ``opened`` opens its database for what is read later."""
    positions, ids = row_ids(connection, record)
    clusters, clustering = run_clusters(connection, record)
    weights, weighting = row_weights(connection, record, ids)
    return Run(
        record,
        ids,
        clusters,
        read_columns(connection, record, positions, only),
        clustering,
        weights,
        weighting,
        read_samples=partial(_later, opened, sample_reader, record, positions),
        read_fields=partial(_later, opened, field_reader, record, positions),
        read_details=partial(_later, opened, details_reader, record, positions),
    )


def _later(
    opened: Opened,
    reader: Callable[..., Any],
    record: RunRecord,
    positions: NDArray[np.int64],
    *what: Any,
) -> Iterator[Any]:
    """Read more of a run; ``what`` are the arguments of the reader."""
    try:
        with opened() as database:
            yield from reader(database, record, positions)(*what)
    except KeyError as error:  # a row or a metric is no longer there
        message = f"The run {record.label} was changed or deleted meanwhile."
        raise StoreError(message, hint="Try again.") from error
