"""A SQLite file as both the cache and the database open it: the user's own, shared by processes."""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from typing import TYPE_CHECKING

from sgi.kernel.durable_files import sync_folder

if TYPE_CHECKING:
    from pathlib import Path

_BUSY_SECONDS = 30.0
_READ_ONLY = {errno.EACCES, errno.EPERM, errno.EROFS}


def connect(path: Path) -> sqlite3.Connection:
    """A connection that begins no transaction by itself.

    A new file is the user's alone. A file that may only be read is opened for reading.
    """
    new = not path.exists()
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # SQLite alone would let others read
        if new:
            sync_folder(path.parent)
    except OSError as error:
        if error.errno not in _READ_ONLY or not os.access(path, os.R_OK):
            raise
        return _connect_to_read(path)
    return sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)


def _connect_to_read(path: Path) -> sqlite3.Connection:
    """A connection to a file that may only be read, also in a folder where SQLite can put no other file."""
    address = f"{path.absolute().as_uri()}?mode=ro"
    connection = _opened(address)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        connection.close()
        return _opened(f"{address}&immutable=1")
    return connection


def _opened(address: str) -> sqlite3.Connection:
    return sqlite3.connect(
        address, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False, uri=True
    )


def write_ahead(connection: sqlite3.Connection, *, durable: bool) -> None:
    """Let readers and a writer work at once; SQLite doesn't wait by itself while another process switches.

    Args:
        connection: to the file.
        durable: whether a commit returns only when it is on the disk. Otherwise a power loss can take the
            last commits, and leaves the file whole.
    """
    until = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            if "readonly" in str(error):
                return
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.02)
        else:
            connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            connection.execute(f"PRAGMA fullfsync = {int(durable)}")  # for macOS; see `sync_file`
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
    except UnicodeDecodeError as error:  # SQLite's words about a damaged schema quote it
        raise sqlite3.DatabaseError("database disk image is malformed") from error
    finally:
        connection.execute("ROLLBACK")
