"""Caches of bytes by key: in a SQLite file that processes share, in memory, and in bounded memory."""

from __future__ import annotations

import os
import weakref
from collections import OrderedDict
from contextlib import contextmanager
from pathlib import Path
from threading import Lock, RLock
from typing import TYPE_CHECKING, NamedTuple, Self, TypeVar

from sgi.kernel.durable_files import make_folder
from sgi.kernel.errors import StoreError
from sgi.kernel.fork_safety import close_at_fork
from sgi.store.bulk_rows import chunks

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Mapping, Sequence

T = TypeVar("T")
_TABLE = "CREATE TABLE IF NOT EXISTS entries (key BLOB PRIMARY KEY, value BLOB NOT NULL)"
_APPLICATION_ID = 0x53474943  # "SGIC", in the header of the files that SGI wrote
_KEYS_A_QUERY = 500  # SQLite built for small machines allows 999 parameters
_FORK_SECONDS = 5.0
"""Seconds that a fork waits for threads that use a cache. After that, the child leaves the connection open.
"""
_ENTRY_BYTES = 256  # of the objects around a key and a value: 171 measured, and room for the table to grow
_DISK_TROUBLE = ("disk is full", "No space left", "disk I/O error", "Input/output error")
_DISK = "Check the disk and its free space; what the cache held before is kept."
_MEMORY = "Close other programs; what the cache held before is kept."
_WAY_OUT = "Delete the file, or name another place in SGI_CACHE_DIR: what a cache holds can be made anew."


class CacheStats(NamedTuple):
    """The number of values in a cache, and the size of its files."""

    path: Path
    entries: int
    bytes: int


def default_cache_path() -> Path:
    """Return the path of the cache file in ``SGI_CACHE_DIR`` or the user's cache folder."""
    from platformdirs import user_cache_path

    folder = os.environ.get("SGI_CACHE_DIR")
    return (Path(folder).expanduser() if folder else user_cache_path("sgi", appauthor=False)) / "vectors.db"


class MemoryCache:
    """A cache in memory, without a limit of its size."""

    def __init__(self) -> None:
        self._values: dict[bytes, bytes] = {}

    def get_many(self, keys: Sequence[bytes], /) -> Mapping[bytes, bytes]:
        """Return the known values by key."""
        return {key: self._values[key] for key in keys if key in self._values}

    def put_many(self, items: Mapping[bytes, bytes], /) -> None:
        """Store these values."""
        self._values.update(items)


class BoundedCache:
    """A thread-safe LRU cache in memory of at most ``most`` bytes, keys and object overhead included.

    >>> cache = BoundedCache(most=600)
    >>> for key in (b"a", b"b", b"c"):
    ...     cache.put_many({key: b"value"})
    >>> cache.get_many([b"a", b"b", b"c"]), cache.bytes
    ({b'b': b'value', b'c': b'value'}, 524)
    """

    def __init__(self, most: int = 64 << 20) -> None:
        if most <= 0:
            raise ValueError(f"the bound is {most} bytes; it must be above 0")
        self.most = most
        self.bytes = 0
        self._values: OrderedDict[bytes, bytes] = OrderedDict()
        self._lock = Lock()

    def get_many(self, keys: Sequence[bytes], /) -> Mapping[bytes, bytes]:
        """Return the known values by key; they count as just used."""
        with self._lock:
            values = {key: self._values[key] for key in keys if key in self._values}
            for key in values:
                self._values.move_to_end(key)
            return values

    def put_many(self, items: Mapping[bytes, bytes], /) -> None:
        """Store these values; drop the least recently used values beyond the size limit."""
        with self._lock:
            for key, value in items.items():
                self._drop(key)
                self._values[key] = value
                self.bytes += _size(key, value)
                while self.bytes > self.most:
                    self._drop(next(iter(self._values)))

    def _drop(self, key: bytes) -> None:
        if key in self._values:
            self.bytes -= _size(key, self._values.pop(key))


def _size(key: bytes, value: bytes) -> int:
    return len(key) + len(value) + _ENTRY_BYTES


def replies_path(vectors: Path) -> Path:
    """Return the file of cached judge replies beside the file of cached vectors.

    >>> replies_path(Path("cache/vectors.db")).name, replies_path(Path("mine.db")).name
    ('replies.db', 'mine.replies.db')
    """
    name = "replies.db" if vectors.name == "vectors.db" else f"{vectors.stem}.replies{vectors.suffix}"
    return vectors.with_name(name)


@contextmanager
def open_cache(path: bool | str | Path) -> Iterator[SqliteCache | BoundedCache]:
    """Context manager that opens a cache of vectors: a file, the user's (True) or bounded memory (False)."""
    if path is False:
        yield BoundedCache()
    else:
        with SqliteCache(default_cache_path() if path is True else path) as cache:
            yield cache


@contextmanager
def open_reply_cache(path: bool | str | Path) -> Iterator[SqliteCache | BoundedCache]:
    """Context manager that opens the cache of judge replies beside this vector cache; in memory if False."""
    if path is False:
        yield BoundedCache()
    else:
        vectors = default_cache_path() if path is True else Path(path)
        with SqliteCache(replies_path(vectors), durable=True) as cache:
            yield cache


class SqliteCache:
    """A cache in one file that threads and processes share.

    The file and its folder are created if missing; only the user can read them. With ``durable``, values are
    on the disk when `put_many` returns; otherwise a power loss can lose the last writes. Raises StoreError if
    the file is not a cache or cannot be written, at opening or later.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, SqliteCache(Path(folder) / "vectors.db") as cache:
    ...     cache.put_many({b"key": b"value"})
    ...     cache.get_many([b"key", b"other"]), cache.stats().entries
    ({b'key': b'value'}, 1)
    """

    def __init__(self, path: str | Path, *, durable: bool = False) -> None:
        self.path = Path(path).expanduser()
        self._durable = durable
        self._lock = RLock()
        self._locked_for_fork = False
        self._closed = False
        self._connected = False
        self._guard(lambda: None)
        close_at_fork(self)

    def get_many(self, keys: Sequence[bytes], /) -> Mapping[bytes, bytes]:
        """Return the known values by key."""
        return self._guard(lambda: dict(self._select(keys)))

    def put_many(self, items: Mapping[bytes, bytes], /) -> None:
        """Store or replace these values in one transaction."""
        if items:
            self._guard(lambda: self._insert(items))

    def stats(self) -> CacheStats:
        """Return the number of values and the bytes of the files."""
        (entries,) = self._guard(lambda: self._connection.execute("SELECT count(*) FROM entries").fetchone())
        files = (self.path, self.path.with_name(f"{self.path.name}-wal"))
        return CacheStats(self.path, entries, sum(file.stat().st_size for file in files if file.exists()))

    def clear(self) -> None:
        """Delete all values and free the disk space."""
        self._guard(lambda: self._connection.executescript("DELETE FROM entries; VACUUM;"))
        self._guard(lambda: self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())

    def close(self) -> None:
        """Close the file. You can call it twice."""
        with self._lock:
            self._closed = True
            self._disconnect()

    def before_fork(self) -> None:
        """Close the connection when no other thread uses it."""
        self._locked_for_fork = self._lock.acquire(timeout=_FORK_SECONDS)
        if self._locked_for_fork:
            self._disconnect()

    def after_fork(self, *, child: bool) -> None:
        """Let the parent and the child process reconnect at the next use; the child gets its own lock."""
        if child:
            self._lock = RLock()
            self._finalizer.detach()  # the parent closes the connection that its thread used
            self._connected = False
        elif self._locked_for_fork:
            self._lock.release()

    def _connect(self) -> None:
        self._connection = self._open()
        self._finalizer = weakref.finalize(self, self._connection.close)  # for caches that nobody closes
        self._connected = True

    def _disconnect(self) -> None:
        if self._connected:
            self._connected = False
            self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _guard(self, work: Callable[[], T]) -> T:
        import sqlite3

        with self._lock:
            try:
                if not (self._connected or self._closed):
                    self._connect()
                return work()
            except MemoryError as error:
                self._disconnect()  # undoes the transaction, for which a statement may need memory
                message = f"The cache {self.path} cannot be used: out of memory."
                raise StoreError(message, hint=_MEMORY) from error
            except (sqlite3.Error, OSError) as error:
                reason = getattr(error, "strerror", None) or str(error)
                hint = _DISK if any(words in reason for words in _DISK_TROUBLE) else _WAY_OUT
                raise StoreError(f"The cache {self.path} cannot be used: {reason}.", hint=hint) from error

    def _open(self) -> sqlite3.Connection:
        from sgi.store.sqlite_file import open_own

        make_folder(self.path.parent, mode=0o700)
        connection = open_own(self.path, _APPLICATION_ID, self._foreign_error, durable=self._durable)
        try:
            connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            connection.execute(_TABLE)
        except BaseException:
            connection.close()
            raise
        return connection

    def _foreign_error(self, _: set[str]) -> StoreError:
        hint = "Name another file for the cache."
        return StoreError(f"{self.path} is a database of another program.", hint=hint)

    def _select(self, keys: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
        for some in chunks(keys, _KEYS_A_QUERY):
            marks = ",".join("?" * len(some))
            query = f"SELECT key, value FROM entries WHERE key IN ({marks})"  # noqa: S608 - only question marks
            yield from self._connection.execute(query, some)

    def _insert(self, items: Mapping[bytes, bytes]) -> None:
        self._connection.execute("BEGIN IMMEDIATE")  # waits for its turn, where a late upgrade would fail
        try:
            self._connection.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?)", items.items())
            self._connection.execute("COMMIT")
        except BaseException:
            self._connection.rollback()
            raise
