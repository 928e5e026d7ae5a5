"""Rows as the driver gives them, for queries of many rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection, Executable


def driver_rows(connection: Connection, query: Executable) -> Iterator[tuple[Any, ...]]:
    """The rows of a query as tuples of the driver, without SQLAlchemy's conversions.

    SQLAlchemy takes several times as long to make its own rows as the driver takes to read them. Booleans are
    1 and 0 in SQLite; cast JSON to text in the query.
    """
    return cast("Iterator[tuple[Any, ...]]", connection.execute(query).cursor)
