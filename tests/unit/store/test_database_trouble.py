from __future__ import annotations

import os
import sqlite3

import pytest
import sqlalchemy as sa

from sgi.kernel.errors import StoreDamagedError, StoreError
from sgi.store.database import open_database, status
from support.database_steps import add, names, write
from support.runs import add_run


@pytest.mark.parametrize("name", [".", "a\0b", "x" * 300])
def test_a_place_that_can_hold_no_file(tmp_path, name):
    with pytest.raises(StoreError) as caught:
        open_database(f"{tmp_path}/{name}")
    assert str(tmp_path) in caught.value.message


@pytest.mark.parametrize("content", [b"no database at all" * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_file_that_is_no_database(tmp_path, content):
    path = tmp_path / "sgi.db"
    path.write_bytes(content)
    with pytest.raises(StoreDamagedError) as caught:
        open_database(path)
    assert str(path) in caught.value.message
    assert path.read_bytes() == content


def test_a_damaged_file(tmp_path):
    path = tmp_path / "sgi.db"
    with open_database(path) as database:
        add_run(database)
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * len(content[4096:])
    path.write_bytes(content)
    with pytest.raises(StoreDamagedError) as caught:
        open_database(path)
    assert str(path) in caught.value.message
    assert "copy" in caught.value.hint


def no_more_pages(connection):
    pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
    connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")


def test_a_full_disk_is_one_clear_error_and_loses_nothing_committed(tmp_path):
    with open_database(tmp_path / "sgi.db") as database:
        add_run(database)
        with pytest.raises(StoreError, match="disk is full") as caught:
            write(database, no_more_pages, lambda connection: add(connection, "x" * 100_000))
        assert "xxx" not in str(caught.value)
        assert names(database) == ["data of r1"]


def test_a_writer_that_waits_in_vain(tmp_path):
    with open_database(tmp_path / "sgi.db") as database, open_database(tmp_path / "sgi.db") as other:
        with other.reading() as connection:
            connection.exec_driver_sql("PRAGMA busy_timeout = 10")
        with database.writing(), pytest.raises(StoreError, match="locked"):
            write(other)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_one_may_not_write(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(StoreError, match="Permission denied"):
            open_database(tmp_path / "sgi.db")
    finally:
        tmp_path.chmod(0o700)


def test_someone_elses_file_is_left_alone(tmp_path):
    path = tmp_path / "theirs.db"
    with sqlite3.connect(path) as theirs:
        theirs.execute("CREATE TABLE evals (id)")
    theirs.close()
    before = path.read_bytes()
    for look in (open_database, status):
        with pytest.raises(StoreError, match=r"theirs\.db") as caught:
            look(path)
        assert "sgi runs db import-evals" in caught.value.hint
    with sqlite3.connect(path) as theirs:
        theirs.execute("ALTER TABLE evals RENAME TO precious")
    theirs.close()
    with pytest.raises(StoreError, match=r"theirs\.db"):
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
        with pytest.raises(StoreError, match=r"runs\.") as caught:
            open_database(url)
        assert "search_path" in caught.value.hint
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
    assert status(postgres_url).rows["runs"] == 0


def test_a_server_that_is_not_there():
    with pytest.raises(StoreError, match=r"postgresql://user@127\.0\.0\.1:1/x") as caught:
        open_database("postgres://user:secret@127.0.0.1:1/x?password=secret2")
    assert "secret" not in str(caught.value)


def test_a_wrong_password_is_not_told(postgres, postgres_url):
    postgres.execute("CREATE ROLE guarded LOGIN PASSWORD 'right'")
    rules = postgres.folder / "pg_hba.conf"
    rules.write_text(f"local all guarded scram-sha-256\n{rules.read_text()}")
    postgres.execute("SELECT pg_reload_conf()")
    try:
        url = postgres_url.replace("postgres@", "guarded:wr0ng@")
        with pytest.raises(StoreError, match="authentication failed") as caught:
            open_database(url)
        assert "wr0ng" not in str(caught.value)
        postgres.execute("ALTER SCHEMA public OWNER TO guarded", sa.make_url(postgres_url).database)
        with open_database(url.replace("wr0ng", "right")) as database:
            assert "right" not in database.shown
    finally:
        postgres.execute("DROP OWNED BY guarded", sa.make_url(postgres_url).database)
        postgres.execute("ALTER ROLE guarded NOLOGIN")


def test_a_database_that_does_not_exist(postgres):
    with pytest.raises(StoreError, match="nope"):
        open_database(postgres.url("nope"))


def test_a_lost_connection_is_one_clear_error_and_the_next_block_works(postgres, postgres_url):
    def end_this(connection):
        add(connection, "lost")
        me = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar()
        postgres.execute(f"SELECT pg_terminate_backend({me}, 10000)")

    with open_database(postgres_url) as database:
        add_run(database)
        with pytest.raises(StoreError, match="connection"):
            write(database, end_this, lambda connection: add(connection, "lost too"))
        assert names(database) == ["data of r1"]


def test_closing_twice_does_no_harm(database_url):
    database = open_database(database_url)
    database.close()
    database.close()
