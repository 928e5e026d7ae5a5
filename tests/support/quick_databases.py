"""Quick databases for tests: they do not wait for the disk, and replay the recorded migrations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from sgi.store import database, sqlite_file
from sgi.store.migrations import VERSION_TABLE, migrate
from sgi.store.sqlite_file import sync_folder, write_ahead

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

    import pytest

_READS = ("SELECT", "PRAGMA")
_statements: dict[str, list[tuple[str, Any]]] = {}  # by dialect


def use_quick_databases(patch: pytest.MonkeyPatch) -> None:
    """Create databases quickly in this process."""
    patch.setattr(database, "migrate", _replay)
    patch.setattr(sqlite_file, "write_ahead", _do_not_wait)
    patch.setattr(sqlite_file, "sync_folder", _leave_folder)


def use_real_databases(patch: pytest.MonkeyPatch) -> None:
    """Run each migration and wait for the disk, as for a user."""
    patch.setattr(database, "migrate", migrate)
    patch.setattr(sqlite_file, "write_ahead", write_ahead)
    patch.setattr(sqlite_file, "sync_folder", sync_folder)


def _replay(connection: sa.Connection) -> None:
    """Migrate an empty database with the statements that the first migration of this process executed."""
    if sa.inspect(connection).has_table(VERSION_TABLE):
        migrate(connection)
    elif (statements := _statements.get(connection.dialect.name)) is not None:
        for statement, parameters in statements:
            connection.exec_driver_sql(statement, parameters or None)
    else:
        _statements[connection.dialect.name] = _record(connection)


def _record(connection: sa.Connection) -> list[tuple[str, Any]]:
    statements: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if not statement.lstrip().startswith(_READS):
            statements.append((statement, parameters))

    sa.event.listen(connection, "before_cursor_execute", note)
    try:
        migrate(connection)
    finally:
        sa.event.remove(connection, "before_cursor_execute", note)
    return statements


def _do_not_wait(connection: sqlite3.Connection, *, durable: bool) -> None:
    write_ahead(connection, durable=durable)
    connection.execute("PRAGMA synchronous = OFF")


def _leave_folder(folder: Path) -> None:
    """Do not wait for the entry of a new file."""
