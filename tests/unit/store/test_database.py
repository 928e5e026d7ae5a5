from __future__ import annotations

import os
import stat
import threading
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from sgi.kernel.errors import MissingExtraError, StoreError, UsageError
from sgi.store import schema
from sgi.store.database import APPLICATION_ID, open_database, status
from support.database_steps import add, names, write
from support.runs import HOSTILE, add_run


def test_what_is_written_is_read_again(database_url):
    with open_database(database_url) as database:
        assert database.dialect == sa.make_url(database_url).get_backend_name()
        with database.writing() as connection:
            add(connection, "a")
        assert names(database) == ["a"]
    with open_database(database_url, create=False) as database:
        assert names(database) == ["a"]


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
    stray = sa.insert(schema.batches).values(run="?", start=0, rows=1)
    with open_database(database_url) as database, pytest.raises(StoreError) as caught:
        write(database, lambda connection: connection.execute(stray))
    assert isinstance(caught.value.__cause__, IntegrityError)


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


@pytest.mark.usefixtures("real_databases")
def test_the_settings_of_sqlite(sqlite_url):
    with open_database(sqlite_url) as database, database.reading() as connection:
        pragmas = ("journal_mode", "foreign_keys", "synchronous", "application_id")
        found = [connection.exec_driver_sql(f"PRAGMA {pragma}").scalar() for pragma in pragmas]
        assert found == ["wal", 1, 2, APPLICATION_ID]


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
    ("place", "kind"),
    [
        ("mysql://root@localhost/x", "mysql"),
        ("sqlite://", "sqlite"),
        ("sqlite:///:memory:", "sqlite"),
        ("sqlite:///x.db?mode=ro", "sqlite"),
        ("postgresql+asyncpg://localhost/x", "postgresql+asyncpg"),
        ("postgresql://u:secret@localhost:port/x", ""),
        ("://secret", ""),
        *((f"{kind}u:secret@localhost/x", "") for kind in ("postgres//", "postgresql:/", "Postgres:")),
    ],
)
def test_a_place_of_no_known_kind(place, kind):
    with pytest.raises(UsageError) as caught:
        open_database(place)
    assert kind in caught.value.message
    assert "secret" not in str(caught.value)
    assert "postgresql://" in caught.value.hint


def test_postgresql_without_its_driver(monkeypatch):
    monkeypatch.setattr("sgi.store.database_location.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError) as caught:
        open_database("postgres://localhost/x")
    assert caught.value.extra == "postgres"


def test_reading_creates_nothing(tmp_path, postgres_url):
    for read in (partial(open_database, create=False), status):
        with pytest.raises(StoreError, match=r"none\.db") as caught:
            read(tmp_path / "none.db")
        assert "SGI_DATABASE_URL" in caught.value.hint
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(StoreError, match="empty"):
        open_database(postgres_url, create=False)
    assert status(postgres_url).rows == {}


def test_a_commit_waits_for_the_disk_although_the_server_does_not(postgres_url):
    show = sa.text("SHOW synchronous_commit")
    with open_database(postgres_url) as database:
        with database.writing() as connection:
            assert connection.scalar(show) == "on"
        with database.reading() as connection:
            assert connection.scalar(show) == "off"  # the server's own default is unchanged


def test_a_server_that_waits_for_its_replicas_still_does(postgres_url):
    url = f"{postgres_url}&options=-csynchronous_commit%3Dremote_apply"
    with open_database(url) as database, database.writing() as connection:
        assert connection.scalar(sa.text("SHOW synchronous_commit")) == "remote_apply"
