"""Creation of the tables, and refusal of databases with other versions of them."""

from __future__ import annotations

import subprocess
import sys
from hashlib import blake2b

import pytest
import sqlalchemy as sa

from sgi.kernel.errors import SchemaVersionError, StoreError
from sgi.store import database as database_module
from sgi.store import schema
from sgi.store.database import Database, open_database, status
from sgi.store.database_location import database_url as url_of
from sgi.store.schema import SCHEMA_VERSION, create_tables
from support.database_steps import names
from support.runs import add_run, contents

KNOWN = ("0016", "93313684e87e5250")


def test_a_change_of_the_tables_needs_a_new_version(tmp_path):
    """If you changed a table: raise SCHEMA_VERSION, and copy the version and the new digest to KNOWN."""
    with open_database(tmp_path / "sgi.db") as database, database.reading() as connection:
        statements = connection.exec_driver_sql("SELECT sql FROM sqlite_master WHERE sql > '' ORDER BY name")
        words = " ".join(statement for (statement,) in statements).split()
    assert (SCHEMA_VERSION, blake2b(" ".join(words).encode(), digest_size=8).hexdigest()) == KNOWN


WRITER = """
import sys, sqlalchemy as sa
from sgi.store import schema
from sgi.store.database import open_database
print("ready", flush=True)
sys.stdin.readline()
with open_database(sys.argv[1]) as database:
    for step in range(10):
        with database.writing() as connection:
            count = connection.execute(sa.select(sa.func.count()).select_from(schema.datasets)).scalar()
            name = f"{sys.argv[2]}-{step}"
            row = {"hash": name, "name": name, "rows": count, "created_at": ""}
            connection.execute(sa.insert(schema.datasets).values(row))
"""


def test_processes_that_create_a_database_at_once_all_write_to_it(database_url):
    start = [sys.executable, "-W", "error", "-c", WRITER, database_url]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    running = [subprocess.Popen([*start, str(k)], **pipes) for k in range(3)]
    assert [process.stdout.readline() for process in running] == [b"ready\n"] * 3
    for process in running:
        process.stdin.write(b"go\n")
        process.stdin.flush()
    errors = [process.communicate(timeout=120)[1] for process in running]
    assert [process.returncode for process in running] == [0] * 3, errors
    with open_database(database_url) as database:
        assert len(names(database)) == 30


CRASH = """
import os, sys
import sqlalchemy as sa
from sgi.store.database import open_database

@sa.event.listens_for(sa.Engine, "after_cursor_execute")
def crash(connection, cursor, statement, *_):
    if sys.argv[2] in statement:
        os._exit(9)

open_database(sys.argv[1])
"""


@pytest.mark.parametrize("step", ["CREATE TABLE scores", "INSERT INTO sgi_version"])
def test_a_crash_during_creation_leaves_an_empty_database(database_url, step):
    crashed = subprocess.run([sys.executable, "-c", CRASH, database_url, step], check=False)
    assert crashed.returncode == 9
    found = status(database_url)
    assert (found.schema, found.rows) == (None, {})
    with open_database(database_url) as database:
        add_run(database)
    assert status(database_url).rows["scores"] == 1


def test_an_error_during_creation_leaves_an_empty_database(database_url, monkeypatch):
    def fail(connection):
        create_tables(connection)
        connection.exec_driver_sql("SELECT nonsense")

    monkeypatch.setattr(database_module, "create_tables", fail)
    with pytest.raises(StoreError, match="nonsense"):
        open_database(database_url)
    found = status(database_url)
    assert (found.schema, found.rows) == (None, {})


def test_the_tables_are_created_once(database_url):
    with open_database(database_url) as database:
        add_run(database)
        before = contents(database)
        database.create_tables()
        assert contents(database) == before
    assert set(status(database_url).rows) == set(schema.metadata.tables)


@pytest.mark.parametrize("version", ["0001", "0014", "0017", "9999", "x" * 5000, None])
def test_another_version_is_refused_and_not_changed(database_url, version):
    """0001 to 0014 are the versions of migrations that SGI had before."""
    with open_database(database_url) as database:
        add_run(database)
        with database.writing() as connection:
            connection.exec_driver_sql("DELETE FROM sgi_version")
            if version is not None:
                connection.execute(sa.text("INSERT INTO sgi_version VALUES (:new)"), {"new": version})
        before = contents(database)
    for create in (True, False):
        with pytest.raises(SchemaVersionError) as caught:
            open_database(database_url, create=create)
        error = caught.value
        assert (error.place, error.needed) == (database.shown, SCHEMA_VERSION)
        assert (version or "unknown").startswith(error.found.rstrip("…"))
        assert all(value in error.message for value in (error.place, error.found, error.needed))
        assert "SGI_DATABASE_URL" in error.hint
    assert status(database_url).schema == (version or "unknown")
    with Database(url_of(database_url, create=False)) as database:
        assert contents(database) == before
