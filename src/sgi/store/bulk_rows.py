"""Read and write many rows through the database driver: SQLAlchemy's layers cost as much as the work."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import sqlalchemy as sa

T = TypeVar("T")
CHUNK = 2000
"""Rows in memory at a time."""
_A_STATEMENT = 500
"""Rows per statement; PostgreSQL allows 65535 values in one."""


def chunks(items: Iterable[T], size: int = CHUNK) -> Iterator[list[T]]:
    """Split items into lists of ``size``; the last may be shorter.

    >>> list(chunks("abc", 2))
    [['a', 'b'], ['c']]
    """
    rest = iter(items)
    while some := list(islice(rest, size)):
        yield some


def driver_rows(connection: sa.Connection, query: sa.Executable) -> Iterator[tuple[Any, ...]]:
    """Yield rows as tuples of the database driver, several times faster than SQLAlchemy's rows.

    Booleans are 1 and 0 in SQLite; cast JSON to text in the query.
    """
    return cast("Iterator[tuple[Any, ...]]", connection.execute(query).cursor)


def insert_rows(
    connection: sa.Connection, table: sa.Table, rows: Iterable[tuple[Any, ...]], *, unless_there: bool = False
) -> None:
    """Insert rows: values for the driver (JSON as text), in column order.

    ``unless_there`` skips rows whose key exists.
    """
    lite = connection.dialect.name == "sqlite"
    row = f"({', '.join(['?' if lite else '%s'] * len(table.columns))})"
    names = ", ".join(column.name for column in table.columns)
    head = f"INSERT INTO {table.name} ({names}) VALUES "  # noqa: S608 - our own names
    tail = " ON CONFLICT DO NOTHING" if unless_there else ""
    for some in chunks(rows, CHUNK if lite else _A_STATEMENT):
        if lite:
            connection.exec_driver_sql(f"{head}{row}{tail}", some)
        else:  # a server wants few statements, each of many rows
            values = ", ".join([row] * len(some))
            connection.exec_driver_sql(f"{head}{values}{tail}", tuple(chain.from_iterable(some)))


def upsert(connection: sa.Connection, table: sa.Table, values: Mapping[str, Any], **changed: Any) -> None:
    """Insert a row; if its key exists, replace its other values. ``changed`` are other new values."""
    from sqlalchemy.dialects import postgresql, sqlite

    inserted = (sqlite if connection.dialect.name == "sqlite" else postgresql).insert(table).values(**values)
    others = {name: value for name, value in values.items() if name not in table.primary_key.columns}
    connection.execute(
        inserted.on_conflict_do_update(index_elements=table.primary_key, set_=others | changed)
    )
