"""A database as one transaction sees it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from sgi.store.database import Database

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection


class OneTransaction(Database):
    """A database whose reads and writes all go through one connection, so that they see what it has written.

    Args:
        database: the database.
        connection: its connection, inside of a transaction.
    """

    def __init__(self, database: Database, connection: Connection) -> None:
        self.__dict__.update(vars(database))
        self._connection = connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """The connection."""
        yield self._connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """The connection; its transaction goes on when the block ends."""
        yield self._connection
