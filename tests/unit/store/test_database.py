from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from sgi.kernel.errors import MissingExtra, SchemaAhead, SchemaBehind, StoreError, UsageError
from sgi.store import database as module
from sgi.store import schema
from sgi.store.database import APPLICATION_ID, HEAD, open_database, status, upgrade
from support.runs import HOSTILE, add_run


def names(database):
    with database.reading() as connection:
        return connection.execute(sa.select(schema.datasets.c.name)).scalars().all()


def add(connection, name):
    values = {"hash": name, "name": name, "rows": 0, "created_at": "now"}
    connection.execute(sa.insert(schema.datasets).values(values))


def write(database, *steps):
    """Do these steps in one block."""
    with database.writing() as connection:
        for step in steps:
            step(connection)


def set_revision(where, revision):
    with open_database(where) as database, database.writing() as connection:
        connection.execute(sa.text("UPDATE sgi_version SET version_num = :new"), {"new": revision})


def test_what_is_written_is_read_again(database_url):
    with open_database(database_url) as database:
        assert database.dialect == sa.make_url(database_url).get_backend_name()
        with database.writing() as connection:
            add(connection, "a")
        assert names(database) == ["a"]
    with open_database(database_url, create=False) as database:
        assert names(database) == ["a"]
        assert database.revision() == HEAD


def test_an_exception_undoes_the_block(database_url):
    with open_database(database_url) as database:
        with pytest.raises(ZeroDivisionError):
            write(database, lambda connection: add(connection, "a"), lambda _: 1 / 0)
        assert names(database) == []


def test_a_broken_constraint_can_be_told_apart(database_url):
    with open_database(database_url) as database:
        with pytest.raises(StoreError) as caught:
            write(database, *[lambda connection: add(connection, "a")] * 2)
        assert isinstance(caught.value.__cause__, IntegrityError)
        assert "\n" not in str(caught.value)
        assert names(database) == []
        with database.writing() as connection:
            add(connection, "a")
            with pytest.raises(IntegrityError), connection.begin_nested():
                add(connection, "a")
            add(connection, "b")
        assert names(database) == ["a", "b"]


def test_foreign_keys_hold(database_url):
    stray = sa.insert(schema.batches).values(run="?", start=0, rows=1, truncated={}, failures={})
    with open_database(database_url) as database, pytest.raises(StoreError, match=r"(?i)foreign key"):
        write(database, lambda connection: connection.execute(stray))


def test_deleting_a_run_deletes_what_is_of_it(database_url):
    with open_database(database_url) as database:
        add_run(database)
        with database.writing() as connection:
            connection.execute(sa.delete(schema.runs))
        assert status(database_url).rows == {
            **dict.fromkeys(schema.metadata.tables, 0),
            "datasets": 1,
            "samples": 1,
        }


def test_json_and_texts_of_any_kind_come_back(database_url):
    body = {"text": HOSTILE, HOSTILE: [1, 2**70, -0.1, None, True], "inf": None}
    with open_database(database_url) as database:
        add_run(database)
        with database.writing() as connection:
            connection.execute(sa.update(schema.runs).values(spec=body))
        with database.reading() as connection:
            assert connection.execute(sa.select(schema.runs.c.spec)).scalar_one() == body


def test_none_in_a_json_column_is_null(database_url):
    with open_database(database_url) as database:
        add_run(database)
        with database.writing() as connection:
            connection.execute(sa.update(schema.runs).values(summary=None))
        with database.reading() as connection:
            assert connection.exec_driver_sql("SELECT count(*) FROM runs WHERE summary IS NULL").scalar() == 1


def test_a_reader_sees_one_state(database_url):
    with open_database(database_url) as database, open_database(database_url) as other:
        with database.reading() as connection:
            count = sa.select(sa.func.count()).select_from(schema.datasets)
            before = connection.execute(count).scalar()
            with other.writing() as writer:
                add(writer, "a")
            assert connection.execute(count).scalar() == before == 0
        assert names(database) == ["a"]


def test_threads_share_a_database(database_url):
    with open_database(database_url) as database:

        def write(number):
            for step in range(10):
                with database.writing() as connection:
                    add(connection, f"{number}-{step}")

        threads = [threading.Thread(target=write, args=(k,)) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(names(database)) == 80


WRITER = """
import sys, sqlalchemy as sa
from sgi.store import schema
from sgi.store.database import open_database
sys.stdin.readline()
with open_database(sys.argv[1]) as database:
    for step in range(10):
        with database.writing() as connection:
            count = connection.execute(sa.select(sa.func.count()).select_from(schema.datasets)).scalar()
            name = f"{sys.argv[2]}-{step}"
            row = {"hash": name, "name": name, "rows": count, "created_at": ""}
            connection.execute(sa.insert(schema.datasets).values(row))
"""


def test_processes_that_come_first_at_once_all_succeed(database_url):
    start = [sys.executable, "-W", "error", "-c", WRITER, database_url]
    pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
    running = [subprocess.Popen([*start, str(k)], **pipes) for k in range(4)]
    for process in running:
        process.stdin.write(b"go\n")
        process.stdin.flush()
    told = [process.communicate(timeout=120)[1] for process in running]
    assert [process.returncode for process in running] == [0] * 4, told
    with open_database(database_url) as database:
        assert len(names(database)) == 40


def test_an_up_to_date_database_needs_no_alembic(database_url):
    open_database(database_url).close()
    code = f"""
import sys
from sgi.store.database import open_database
open_database({database_url!r}).close()
assert "alembic" not in sys.modules
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_the_settings_of_sqlite(sqlite_url):
    with open_database(sqlite_url) as database, database.reading() as connection:
        pragmas = ("journal_mode", "foreign_keys", "synchronous", "application_id")
        found = [connection.exec_driver_sql(f"PRAGMA {pragma}").scalar() for pragma in pragmas]
        assert found == ["wal", 1, 1, APPLICATION_ID]


@pytest.mark.skipif(os.name != "posix", reason="permissions are told otherwise here")
def test_only_the_user_may_read(tmp_path):
    with open_database(tmp_path / "sgi.db") as database:
        add_run(database)
        assert [stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()] == [0o600] * 3


def test_the_place_is_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SGI_DATABASE_URL", raising=False)
    places = [None, "b.db", Path("c.db"), "sqlite:///d.db", f"sqlite:///{tmp_path}/e.db"]
    for place in places:
        open_database(place).close()
    monkeypatch.setenv("SGI_DATABASE_URL", "sqlite:///f.db")
    with open_database() as database:
        assert database.shown == "f.db"
    monkeypatch.setenv("HOME", str(tmp_path))
    open_database("~/g ?%.db").close()
    wanted = ["b.db", "c.db", "d.db", "e.db", "f.db", "g ?%.db", "sgi.db"]
    assert sorted(file.name for file in tmp_path.glob("*.db")) == wanted


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("mysql://root@localhost/x", "No database of the kind 'mysql'"),
        ("sqlite://", "No database of the kind 'sqlite'"),
        ("sqlite:///:memory:", "No database of the kind"),
        ("sqlite:///x.db?mode=ro", "No database of the kind"),
        ("postgresql+asyncpg://localhost/x", "No database of the kind"),
        ("postgresql://u:secret@localhost:port/x", "URL cannot be read"),
        ("://secret", "URL cannot be read"),
    ],
)
def test_a_place_of_no_known_kind(place, told):
    with pytest.raises(UsageError, match=told) as caught:
        open_database(place)
    assert "secret" not in str(caught.value)
    assert "postgresql://" in caught.value.hint


def test_postgresql_without_its_driver(monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match=r"semantic-grounding-index\[postgres\]"):
        open_database("postgres://localhost/x")


def test_reading_makes_nothing(tmp_path, postgres_url):
    with pytest.raises(StoreError, match=r"no database '.*none\.db'.*sgi run.*--db"):
        open_database(tmp_path / "none.db", create=False)
    for verb in (status, upgrade):
        with pytest.raises(StoreError, match="no database"):
            verb(tmp_path / "none.db")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(StoreError, match="is empty"):
        open_database(postgres_url, create=False)
    assert status(postgres_url).rows == {}


def test_a_folder_that_is_missing(tmp_path):
    with pytest.raises(StoreError, match=r"there is no folder .*deep.*Make it first"):
        open_database(tmp_path / "deep" / "sgi.db")


@pytest.mark.parametrize("name", [".", "a\0b", "x" * 300])
def test_a_place_that_can_hold_no_file(tmp_path, name):
    with pytest.raises(StoreError, match=r"cannot be opened"):
        open_database(f"{tmp_path}/{name}")


@pytest.mark.parametrize("content", [b"no database at all" * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_file_that_is_no_database(tmp_path, content):
    path = tmp_path / "sgi.db"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"sgi\.db cannot be used: file is not a database\. Name another"):
        open_database(path)
    assert path.read_bytes() == content


def test_a_damaged_file(tmp_path):
    path = tmp_path / "sgi.db"
    with open_database(path) as database:
        add_run(database)
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * len(content[4096:])
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"sgi\.db cannot be used: .*malformed\. The file is damaged"):
        open_database(path)


def no_more_pages(connection):
    pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
    connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")


def test_a_full_disk_is_one_clear_error_and_loses_nothing_committed(tmp_path):
    with open_database(tmp_path / "sgi.db") as database:
        add_run(database)
        with pytest.raises(StoreError, match=r"database or disk is full\. Make room") as caught:
            write(database, no_more_pages, lambda connection: add(connection, "x" * 100_000))
        assert "xxx" not in str(caught.value)
        assert names(database) == ["data of r1"]


def test_a_writer_that_waits_in_vain(tmp_path):
    with open_database(tmp_path / "sgi.db") as database, open_database(tmp_path / "sgi.db") as other:
        with other.reading() as connection:
            connection.exec_driver_sql("PRAGMA busy_timeout = 10")
        with database.writing(), pytest.raises(StoreError, match=r"locked\. Another process is writing"):
            write(other)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_one_may_not_write(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(StoreError, match=r"Permission denied.*read and write"):
            open_database(tmp_path / "sgi.db")
    finally:
        tmp_path.chmod(0o700)


def test_someone_elses_file_is_left_alone(tmp_path):
    path = tmp_path / "theirs.db"
    with sqlite3.connect(path) as theirs:
        theirs.execute("CREATE TABLE evals (id)")
    theirs.close()
    before = path.read_bytes()
    for look in (open_database, status, upgrade):
        with pytest.raises(StoreError, match=r"another program.*sgi db import-evals"):
            look(path)
    with sqlite3.connect(path) as theirs:
        theirs.execute("ALTER TABLE evals RENAME TO precious")
    theirs.close()
    with pytest.raises(StoreError, match="another program"):
        open_database(path)
    assert [file.name for file in tmp_path.iterdir()] == ["theirs.db"]
    assert len(before) == len(path.read_bytes())


def test_someone_elses_tables_on_postgresql_are_left_alone(postgres, postgres_url):
    with postgres.database() as url:
        engine = sa.create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
        with engine.begin() as connection:
            connection.exec_driver_sql(
                "CREATE TABLE runs (x int); CREATE TABLE others (x int); CREATE SCHEMA sgi"
            )
        with pytest.raises(StoreError, match=r"tables of another program: runs\..*search_path"):
            open_database(url)
        beside = f"{url}&options=-csearch_path%3Dsgi"
        with open_database(beside) as database:
            add_run(database)
        assert status(beside).rows["runs"] == 1
        with engine.begin() as connection:
            assert connection.exec_driver_sql("SELECT count(*) FROM runs").scalar() == 0
        engine.dispose()


def test_postgresql_beside_tables_of_an_application(postgres_url):
    engine = sa.create_engine(postgres_url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "CREATE TABLE alembic_version (version_num text); CREATE TABLE users (x int)"
        )
    engine.dispose()
    open_database(postgres_url).close()
    assert status(postgres_url).revision == HEAD


def test_older_and_newer_schemas_are_refused(database_url, monkeypatch):
    set_revision(database_url, "9999")
    for look in (open_database, upgrade):
        with pytest.raises(SchemaAhead, match=r"newer version .*9999.*pip install -U"):
            look(database_url)
    found = status(database_url)
    assert (found.revision, found.head) == ("9999", HEAD)
    monkeypatch.setattr(module, "REVISIONS", ("9999", HEAD))
    with pytest.raises(SchemaBehind, match="sgi db upgrade"):
        open_database(database_url)


def test_upgrading_what_is_up_to_date_changes_nothing(database_url):
    with open_database(database_url) as database:
        add_run(database)
    assert upgrade(database_url) == (HEAD, HEAD)
    found = status(database_url)
    assert (found.revision, found.head, found.rows["scores"]) == (HEAD, HEAD, 1)


def test_a_server_that_is_not_there():
    with pytest.raises(
        StoreError, match=r"postgresql://user@127\.0\.0\.1:1/x cannot be used: .*server runs"
    ) as caught:
        open_database("postgres://user:secret@127.0.0.1:1/x?password=secret2")
    assert "secret" not in str(caught.value)


def test_a_wrong_password_is_not_told(postgres, postgres_url):
    postgres.execute("CREATE ROLE guarded LOGIN PASSWORD 'right'")
    rules = postgres.folder / "pg_hba.conf"
    rules.write_text(f"local all guarded scram-sha-256\n{rules.read_text()}")
    postgres.execute("SELECT pg_reload_conf()")
    try:
        url = postgres_url.replace("postgres@", "guarded:wr0ng@")
        with pytest.raises(StoreError, match=r"authentication failed.*Check the user") as caught:
            open_database(url)
        assert "wr0ng" not in str(caught.value)
        postgres.execute("ALTER SCHEMA public OWNER TO guarded", sa.make_url(postgres_url).database)
        with open_database(url.replace("wr0ng", "right")) as database:
            assert "right" not in database.shown
    finally:
        postgres.execute("DROP OWNED BY guarded", sa.make_url(postgres_url).database)
        postgres.execute("ALTER ROLE guarded NOLOGIN")


def test_a_database_that_does_not_exist(postgres):
    with pytest.raises(StoreError, match=r"database .*nope.* does not exist\. Make it first"):
        open_database(postgres.url("nope"))


def test_a_lost_connection_is_one_clear_error_and_the_next_block_works(postgres, postgres_url):
    def end_this(connection):
        add(connection, "lost")
        me = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar()
        postgres.execute(f"SELECT pg_terminate_backend({me}, 10000)")

    with open_database(postgres_url) as database:
        add_run(database)
        with pytest.raises(StoreError, match=r"cannot be used: .*connection.*before is kept"):
            write(database, end_this, lambda connection: add(connection, "lost too"))
        assert names(database) == ["data of r1"]


def test_closing_twice_does_no_harm(database_url):
    database = open_database(database_url)
    database.close()
    database.close()
