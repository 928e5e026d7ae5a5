"""Insert and read many rows without SQLAlchemy's layers."""

from __future__ import annotations

from itertools import chain, count, islice
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    import sqlalchemy as sa

T = TypeVar("T")
CHUNK = 2000
"""Rows in memory at a time."""
_A_STATEMENT = 500
"""Rows per statement; PostgreSQL allows 65535 values in one."""


def insert_rows(
    connection: sa.Connection, table: sa.Table, rows: Iterable[tuple[Any, ...]], *, unless_there: bool = False
) -> None:
    """Insert rows without the layers that cost as much as the writing itself.

    Rows hold values for the driver (JSON as text), in column order. ``unless_there`` skips rows whose key
    exists.
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


def upsert(connection: sa.Connection, table: sa.Table) -> Any:
    """Begin an INSERT with ``on_conflict_do_update``, in the dialect of the database."""
    from sqlalchemy.dialects import postgresql, sqlite

    return (sqlite if connection.dialect.name == "sqlite" else postgresql).insert(table)


def chunks(items: Iterable[T], size: int = CHUNK) -> Iterator[list[T]]:
    """Split items into lists of ``size``; the last may be shorter.

    >>> list(chunks("abc", 2))
    [['a', 'b'], ['c']]
    """
    rest = iter(items)
    while some := list(islice(rest, size)):
        yield some


def free_name(name: str, taken: Container[str]) -> str:
    """Return the name, with the first free number if it is taken.

    >>> free_name("a", ()), free_name("a", {"a", "a-2"})
    ('a', 'a-3')
    """
    numbered = (f"{name}-{number}" for number in count(2))
    return name if name not in taken else next(free for free in numbered if free not in taken)


def driver_rows(connection: sa.Connection, query: sa.Executable) -> Iterator[tuple[Any, ...]]:
    """Yield rows as the driver's tuples, several times faster than SQLAlchemy's rows.

    Booleans are 1 and 0 in SQLite; cast JSON to text in the query.
    """
    return cast("Iterator[tuple[Any, ...]]", connection.execute(query).cursor)
