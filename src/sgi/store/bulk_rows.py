"""Inserts and reads many rows past the layers of SQLAlchemy."""

from __future__ import annotations

from itertools import chain, count, islice
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    import sqlalchemy as sa

T = TypeVar("T")
CHUNK = 2000
"""Rows that are held in memory at a time."""
_A_STATEMENT = 500
"""Rows in one statement; PostgreSQL takes 65535 values in one."""


def insert_rows(
    connection: sa.Connection, table: sa.Table, rows: Iterable[tuple[Any, ...]], *, unless_there: bool = False
) -> None:
    """Insert rows past the layers that cost as much as the writing itself.

    Args:
        connection: inside a transaction.
        table: where to.
        rows: values as the driver takes them (JSON as text), in the order of the table's columns.
        unless_there: leave out rows whose key is taken.
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


def chunks(items: Iterable[T], size: int = CHUNK) -> Iterator[list[T]]:
    """The items in lists of ``size``, the last one shorter.

    >>> list(chunks("abc", 2))
    [['a', 'b'], ['c']]
    """
    rest = iter(items)
    while some := list(islice(rest, size)):
        yield some


def free_name(name: str, taken: Container[str]) -> str:
    """The name, or, if it is taken, with the first number that makes it free.

    >>> free_name("a", ()), free_name("a", {"a", "a-2"})
    ('a', 'a-3')
    """
    numbered = (f"{name}-{number}" for number in count(2))
    return name if name not in taken else next(free for free in numbered if free not in taken)


def driver_rows(connection: sa.Connection, query: sa.Executable) -> Iterator[tuple[Any, ...]]:
    """The rows of a query as tuples of the driver, without SQLAlchemy's conversions.

    SQLAlchemy takes several times as long to make its own rows as the driver takes to read them. Booleans are
    1 and 0 in SQLite; cast JSON to text in the query.
    """
    return cast("Iterator[tuple[Any, ...]]", connection.execute(query).cursor)
