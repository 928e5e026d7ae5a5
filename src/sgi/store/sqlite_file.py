"""A SQLite file as both the cache and the database open it: the user's own, shared by processes."""

from __future__ import annotations

import os
import sqlite3
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_BUSY_SECONDS = 30.0


def connect(path: Path) -> sqlite3.Connection:
    """A connection that begins no transaction by itself; a file that is made is the user's alone."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # SQLite alone would let others read
    return sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)


def write_ahead(connection: sqlite3.Connection) -> None:
    """Let readers and a writer work at once; SQLite doesn't wait by itself while another process switches."""
    until = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.02)
        else:
            connection.execute("PRAGMA synchronous = NORMAL")
            return


def owner_and_names(connection: sqlite3.Connection) -> tuple[int, set[str]]:
    """Whose the file says it is (0: no one's), and the names of what it holds, as they were at one moment.

    Read one after the other, another process could make the file ours in between, and its tables would look
    like a stranger's.
    """
    connection.execute("BEGIN")
    try:
        (owner,) = connection.execute("PRAGMA application_id").fetchone()
        return owner, {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    finally:
        connection.execute("ROLLBACK")
