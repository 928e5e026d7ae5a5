"""Open SQLite files of caches and databases: only the user can read them, and processes can share them."""

from __future__ import annotations

import errno
import os
import re
import shutil
import sqlite3
import tempfile
import time
import weakref
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sgi.kernel.durable_files import sync_folder

if TYPE_CHECKING:
    from collections.abc import Callable

    from sgi.kernel.errors import StoreError

_BUSY_SECONDS = 30.0
_ANY_READ = "SELECT count(*) FROM sqlite_master"
_NO_INDEX = ("unable to open", "readonly")
"""SQLite's message if it cannot create its index of transactions beside a file."""
_WAL_MODE = 2
"""The read version in the header of a file in WAL mode."""
_PAGE_NOT_READ = re.compile(r"unable to get the page\. error code=(\d+)")
"""The message of SQLite's check for a page that it could not read, for whatever reason."""


class _Connection(sqlite3.Connection):
    """A connection that allows weak references, and whose rollback does not fail for lack of memory."""

    _closed = False

    def rollback(self) -> None:
        """Undo the open transaction.

        If the memory does not suffice, close the connection, which also undoes the transaction. Otherwise the
        open transaction would block all other writers.
        """
        if self._closed:
            return
        try:
            super().rollback()
        except MemoryError:
            self.close()

    def close(self) -> None:
        self._closed = True
        super().close()


def open_own(
    path: Path,
    application_id: int,
    foreign_error: Callable[[set[str]], StoreError],
    *,
    durable: bool,
) -> sqlite3.Connection:
    """Connect to a file of this package in WAL mode (write-ahead log).

    Args:
        path: the file; created if it is missing.
        application_id: the number in the header of our files.
        foreign_error: builds the error for a file with other tables, from their names.
        durable: as for `write_ahead`.
    """
    connection = connect(path)
    with ExitStack() as on_error:
        on_error.callback(connection.close)
        owner, names = owner_and_names(connection)
        if owner not in (0, application_id) or (owner == 0 and names):
            raise foreign_error(names)
        write_ahead(connection, durable=durable)
        on_error.pop_all()
    return connection


def connect(path: Path) -> sqlite3.Connection:
    """Connect in autocommit mode; read-only if the file or folder is. Only the user can read a new file."""
    if not path.exists():
        _create(path)
    # Without opening it: closing a file ends all locks of this process on it, also those of its connections.
    if not os.access(path, os.R_OK | os.W_OK):
        if not os.access(path, os.R_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return _connect_to_read(path)
    connection = _open(str(path))
    try:
        connection.execute(_ANY_READ).fetchone()
    except sqlite3.OperationalError as error:
        connection.close()
        if not any(words in str(error) for words in _NO_INDEX) or not os.access(path, os.R_OK):
            raise
        return _connect_to_read(path)
    except BaseException:
        connection.close()
        raise
    return connection


def _create(path: Path) -> None:
    """Create the file, unless another process has just done so; SQLite alone would let others read it."""
    with suppress(FileExistsError):
        os.close(os.open(os.path.realpath(path), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        sync_folder(path.parent)


def _connect_to_read(path: Path) -> sqlite3.Connection:
    """Connect read-only, also in a folder where SQLite cannot create its files."""
    folder = Path(tempfile.mkdtemp(prefix="sgi-"))
    connection = None
    try:
        connection = _open(readable_address(path, folder), uri=True)
        try:
            connection.execute(_ANY_READ).fetchone()
        except sqlite3.OperationalError:  # an index of transactions beside it that only its owner can read
            connection.close()
            connection = _open(_copy_address(path, folder), uri=True)
        connection.execute("PRAGMA query_only = ON")  # a copy can be written, and is thrown away
    except BaseException:
        if connection is not None:
            connection.close()
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(connection, shutil.rmtree, folder, ignore_errors=True)
    return connection


def readable_address(path: Path, folder: Path) -> str:
    """Return the address by which SQLite reads a file without changing it or creating files beside it.

    Transactions that a crash left beside the file belong to its content. To read them SQLite must write, so
    it works on a copy in the empty ``folder``.
    """
    beside = {ending: path.with_name(path.name + ending) for ending in ("-wal", "-shm", "-journal")}
    left = [place for place in beside.values() if place.exists()]
    if left and not beside["-shm"].exists():
        return _copy_address(path, folder)
    alone = not left and _is_wal(path)
    options = "&immutable=1" if alone else ""  # else SQLite would put its files beside it
    return f"{path.resolve().as_uri()}?mode=ro{options}"


def _is_wal(path: Path) -> bool:
    """Return whether the header says WAL mode. Only for a file that no process has open, see `connect`."""
    with path.open("rb") as stream:
        header = stream.read(19)
    return len(header) == 19 and header[18] == _WAL_MODE  # noqa: PLR2004 - the bytes read


def _copy_address(path: Path, folder: Path) -> str:
    for place in (path, *(path.with_name(path.name + ending) for ending in ("-wal", "-journal"))):
        if place.exists():
            shutil.copyfile(place, folder / place.name)
    return (folder / path.name).resolve().as_uri()


def _open(address: str, *, uri: bool = False) -> sqlite3.Connection:
    return sqlite3.connect(
        address,
        timeout=_BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        factory=_Connection,
        uri=uri,
    )


def is_damaged(path: Path) -> bool:
    """Return whether SQLite's own check finds damage, which then explains an unexpected error.

    Raises MemoryError, or ``sqlite3.OperationalError`` if the disk fails.
    """
    try:
        with closing(connect(path)) as connection:
            (result,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
        if "disk I/O error" in str(error):
            raise
        return True
    failed = _PAGE_NOT_READ.search(result)
    code = int(failed[1]) & 0xFF if failed else 0  # the upper bits distinguish kinds of one error
    if code == sqlite3.SQLITE_NOMEM:
        raise MemoryError
    if code == sqlite3.SQLITE_IOERR:
        raise sqlite3.OperationalError("disk I/O error")
    return bool(result != "ok")


def write_ahead(connection: sqlite3.Connection, *, durable: bool) -> None:
    """Switch to WAL mode, in which readers and one writer work at once; wait while another process switches.

    With ``durable`` a commit returns when it is on the disk. Otherwise a power loss can lose the last
    commits, but does not damage the file.
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
    """Read the application id (0: none) and the table names in one snapshot.

    With two reads, another process could initialise the file in between, and its tables would look foreign.
    """
    connection.execute("BEGIN")
    try:
        (owner,) = connection.execute("PRAGMA application_id").fetchone()
        return owner, {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    except UnicodeDecodeError as error:  # SQLite's words about a damaged schema quote it
        raise sqlite3.DatabaseError("database disk image is malformed") from error
    finally:
        connection.execute("ROLLBACK")
