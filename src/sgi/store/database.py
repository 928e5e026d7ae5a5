"""Open a SQLite or PostgreSQL database of runs, and create its tables."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoConnectionFree

from sgi.kernel.errors import SgiError, StoreDamagedError, StoreError
from sgi.kernel.fork_safety import close_at_fork
from sgi.store.bulk_rows import column_json, encode_json
from sgi.store.database_location import ANOTHER, RIGHTS, database_error, database_url, display_url
from sgi.store.schema import SCHEMA_VERSION, create_tables, metadata, read_version, require_version
from sgi.store.sqlite_file import is_damaged, open_own

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

Connection = sa.Connection
"""The type of a connection, for packages that do not import SQLAlchemy."""

APPLICATION_ID = 0x53474944
"""The letters SGID in the header of a SQLite file identify files of this package."""


MAX_CHECKED_BYTES = 512 << 20
"""The largest file that is checked completely when a run ends."""

_WRITE = {"sqlite_begin": "BEGIN IMMEDIATE"}  # waits for its turn, where a late upgrade would fail
_READ: dict[str, dict[str, Any]] = {"sqlite": {}, "postgresql": {"isolation_level": "REPEATABLE READ"}}
_WAIT_FOR_DISK = (  # of the transaction alone, whatever the server's default is
    "SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'"
)


@dataclass(frozen=True)
class DatabaseStatus:
    """Status of a database: location (without a password), schema, and number of rows by table.

    ``schema`` is its schema version (None if it has no tables yet), ``needed`` the schema version that this
    version of SGI needs.
    """

    shown: str
    dialect: str
    schema: str | None
    needed: str
    rows: dict[str, int]


class Database:
    """An open database. Threads may share it; other processes open their own.

    ``shown`` is its location for messages, without a password. ``dialect`` is ``sqlite`` or ``postgresql``.
    """

    def __init__(self, url: sa.URL) -> None:
        self.dialect: str = url.get_backend_name()
        self.shown = display_url(url)
        self._secret = url.password
        self._engine = _sqlite_engine(url) if self.dialect == "sqlite" else _postgresql_engine(url)
        self._file: tuple[int, int] | None = None  # which file the path named at the first write
        close_at_fork(self)

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Context manager that connects to read one snapshot, taken at the first query; raises StoreError."""
        with self._connect(_READ[self.dialect]) as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Context manager that connects to write; commits when the block ends, rolls back when it raises.

        SQLite has one writer at a time: the block waits up to 30 s. A violated constraint is SQLAlchemy's
        ``IntegrityError`` inside the block, and the ``__cause__`` of the StoreError outside. To continue
        after a violation, use ``connection.begin_nested()``. Raises StoreError if the database cannot be
        reached or written.
        """
        with self._connect(_WRITE) as connection, connection.begin():
            if self.dialect == "sqlite":
                self._check_file()
            else:
                connection.exec_driver_sql(_WAIT_FOR_DISK)
            yield connection

    @contextmanager
    def transaction(self) -> Iterator[Database]:
        """Context manager that yields this database with one transaction for all that the block does."""
        with self.writing() as connection:
            yield OneTransaction(self, connection)

    def _check_file(self) -> None:
        """Raise StoreError if the file was removed or replaced: writes into a removed file are lost."""
        try:
            stat = Path(self.shown).stat()
        except OSError:
            stat = None
        file = None if stat is None else (stat.st_dev, stat.st_ino)
        self._file = self._file or file
        if file is None or file != self._file:
            hint = "Its content is lost; restore the file, or run again."
            raise StoreDamagedError(
                f"The database {self.shown} was removed or replaced meanwhile.", hint=hint
            )

    def verify(self) -> None:
        """Check the SQLite file for damage. Above 512 MiB, only the list of runs is read.

        Raises StoreDamagedError if the file is malformed or missing.
        """
        if self.dialect != "sqlite":
            return
        self._engine.dispose()  # the last connection brings the transactions beside the file into it
        self._check_file()
        if Path(self.shown).stat().st_size <= MAX_CHECKED_BYTES and self._is_damaged():
            raise database_error(self.shown, "database disk image is malformed")
        with self.reading() as connection:
            connection.exec_driver_sql("SELECT id, finished_at FROM runs").all()

    def schema_version(self) -> str | None:
        """Return the schema version or None; raises StoreError if another program's tables have our names."""
        with self.reading() as connection:
            return read_version(connection, self.shown)

    def create_tables(self) -> None:
        """Create the tables in one transaction, unless another process has created them meanwhile."""
        with self.writing() as connection:  # in SQLite, one process at a time
            if self.dialect == "postgresql":
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(APPLICATION_ID)))
            if read_version(connection, self.shown) is None:
                create_tables(connection)
                if self.dialect == "sqlite":
                    connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")

    def close(self) -> None:
        """Close all connections. You can call it twice."""
        self._engine.dispose()

    def before_fork(self) -> None:
        """Close the connections that are not in use."""
        self._engine.dispose()

    def after_fork(self, *, child: bool) -> None:
        """Forget connections that were in use at the fork: they belong to the parent."""
        if child:
            self._engine.dispose(close=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _connect(self, options: dict[str, Any]) -> Iterator[sa.Connection]:
        with self._translate_errors(), self._engine.connect() as connection:
            yield connection.execution_options(**options)

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        drivers: type[Exception] = self._engine.dialect.loaded_dbapi.Error
        try:
            yield
        except (DBAPIError, NoConnectionFree, drivers) as error:
            raise database_error(self.shown, getattr(error, "orig", None) or error, self._secret) from error
        except SgiError:
            raise
        except MemoryError as error:
            raise database_error(self.shown, "out of memory") from error
        except Exception as error:
            if self.dialect == "sqlite" and (isinstance(error, UnicodeDecodeError) or self._is_damaged()):
                raise database_error(self.shown, f"it is malformed ({error})") from error
            raise

    def _is_damaged(self) -> bool:
        with self._translate_errors():
            return is_damaged(Path(self.shown))


class OneTransaction(Database):
    """A database that reads and writes through one open transaction, so that all see its changes."""

    def __init__(self, database: Database, connection: sa.Connection) -> None:
        self.__dict__.update(vars(database))
        self._connection = connection

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Context manager that yields the connection."""
        yield self._connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Context manager that yields the connection; the transaction stays open when the block ends."""
        with self._translate_errors():
            yield self._connection


def open_database(where: str | Path | None = None, *, create: bool = True) -> Database:
    """Open a database. A new one gets its tables.

    Args:
        where: path of a SQLite file, or a URL that begins with ``sqlite:///`` or ``postgresql://``. The
            default is ``SGI_DATABASE_URL``, then ``sgi.db`` in the working folder.
        create: create the file and the tables if they are missing.

    Raises StoreError if it is missing and ``create`` is false, it cannot be opened, or another program owns
    it; SchemaVersionError if it has another schema version; UsageError if ``where`` is not a supported kind
    of database; MissingExtraError without the driver of PostgreSQL.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, open_database(Path(folder) / "sgi.db") as database:
    ...     database.dialect, database.schema_version() == SCHEMA_VERSION
    ('sqlite', True)
    """
    database = Database(database_url(where, create=create))
    try:
        version = database.schema_version()
        if version is None and create:
            database.create_tables()
            version = database.schema_version()  # of the process that was first
        require_version(version, database.shown)
    except BaseException:
        database.close()
        raise
    return database


def status(where: str | Path | None = None) -> DatabaseStatus:
    """Return the status of a database with any schema version. Raises StoreError as `open_database` does."""
    with Database(database_url(where, create=False)) as database:
        version = database.schema_version()
        with database.reading() as connection:
            there = [
                table for table in metadata.sorted_tables if sa.inspect(connection).has_table(table.name)
            ]
            count = sa.func.count()
            rows = {
                table.name: connection.execute(sa.select(count).select_from(table)).scalar_one()
                for table in there
            }
        return DatabaseStatus(database.shown, database.dialect, version, SCHEMA_VERSION, rows)


def _sqlite_engine(url: sa.URL) -> sa.Engine:
    path = Path(str(url.database))
    engine = sa.create_engine(
        url,
        creator=lambda: _open_sqlite(path),
        json_serializer=encode_json,
        json_deserializer=column_json,
        pool_pre_ping=True,  # a connection that was closed for lack of memory is opened again
        hide_parameters=True,
    )

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        connection.exec_driver_sql(connection.get_execution_options().get("sqlite_begin", "BEGIN"))

    return engine


def _open_sqlite(path: Path) -> sqlite3.Connection:
    try:
        connection = open_own(path, APPLICATION_ID, partial(_foreign_error, path), durable=True)
    except UnicodeDecodeError:  # of the file's content
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise StoreError(f"The database {path} cannot be opened: {reason}.", hint=RIGHTS) from error
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON").fetchone()  # deleted texts are overwritten with zeros
    except BaseException:
        connection.close()
        raise
    return connection


def _foreign_error(path: Path, names: set[str]) -> StoreError:
    if "evals" in names:
        hint = "To bring its results into a database of SGI: sgi runs db import-evals FILE."
        return StoreError(f"{path} is a database of another program, with a table `evals`.", hint=hint)
    return StoreError(f"{path} is a database of another program.", hint=ANOTHER)


def _postgresql_engine(url: sa.URL) -> sa.Engine:
    return sa.create_engine(
        url.set(query={"connect_timeout": "10", "application_name": "sgi", **url.query}),
        json_serializer=encode_json,
        json_deserializer=lambda body: column_json(body.decode()),  # psycopg hands over bytes
        pool_pre_ping=True,  # a server that came back is used again
        hide_parameters=True,
    )
