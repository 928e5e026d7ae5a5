"""Split many rows into lists, and read rows directly from the database driver, without SQLAlchemy."""

from __future__ import annotations

from itertools import count, islice
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    import sqlalchemy as sa

T = TypeVar("T")
CHUNK = 2000
"""Rows in memory at a time."""


def chunks(items: Iterable[T], size: int = CHUNK) -> Iterator[list[T]]:
    """Split items into lists of ``size``; the last may be shorter.

    >>> list(chunks("abc", 2))
    [['a', 'b'], ['c']]
    """
    rest = iter(items)
    while some := list(islice(rest, size)):
        yield some


def free_name(name: str, taken: Container[str]) -> str:
    """Return the name; if it is taken, append the first free number.

    >>> free_name("a", ()), free_name("a", {"a", "a-2"})
    ('a', 'a-3')
    """
    numbered = (f"{name}-{number}" for number in count(2))
    return name if name not in taken else next(free for free in numbered if free not in taken)


def driver_rows(connection: sa.Connection, query: sa.Executable) -> Iterator[tuple[Any, ...]]:
    """Yield rows as tuples of the database driver, several times faster than SQLAlchemy's rows.

    Booleans are 1 and 0 in SQLite; cast JSON to text in the query.
    """
    return cast("Iterator[tuple[Any, ...]]", connection.execute(query).cursor)
