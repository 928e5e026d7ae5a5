from __future__ import annotations

import pytest
import sqlalchemy as sa

from sgi.kernel.errors import StoreError
from sgi.store import schema
from sgi.store.bulk_rows import CHUNK, chunks, insert_rows
from sgi.store.run_names import free_name


def rows(*names):
    return ((name, name, 0, "now") for name in names)


def hashes(connection):
    return (
        connection.execute(sa.select(schema.datasets.c.hash).order_by(schema.datasets.c.hash)).scalars().all()
    )


def test_rows_of_any_number(database):
    names = [f"{k:06}" for k in range(2 * CHUNK + 1)]
    with database.writing() as connection:
        insert_rows(connection, schema.datasets, rows())
        insert_rows(connection, schema.datasets, rows(*names))
        assert hashes(connection) == names


def test_rows_that_are_there_are_left_only_on_request(database):
    with database.writing() as connection:
        insert_rows(connection, schema.datasets, rows("a"))
        insert_rows(connection, schema.datasets, rows("a", "b", "b"), unless_there=True)
        assert hashes(connection) == ["a", "b"]
    with pytest.raises(StoreError, match=r"(?i)unique"), database.writing() as connection:
        insert_rows(connection, schema.datasets, rows("c", "a"))
    with database.reading() as connection:
        assert hashes(connection) == ["a", "b"]


def test_signs_that_drivers_read_are_only_text(database):
    names = ["%s", "%", "?", ":x", "'", '"', "%(a)s", "\\"]
    with database.writing() as connection:
        insert_rows(connection, schema.datasets, rows(*names))
        assert set(hashes(connection)) == set(names)


def test_chunks_hold_no_more_than_asked():
    endless = iter(int, 1)
    assert next(chunks(endless, 3)) == [0, 0, 0]
    assert list(chunks([])) == []


def test_names_that_are_free():
    assert free_name("a-2", {"a"}) == "a-2"
    assert free_name("a-2", {"a-2"}) == "a-2-2"
