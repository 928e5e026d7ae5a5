from __future__ import annotations

import json

import pytest

from sgi.engine.export import export, export_chunks
from sgi.kernel.errors import StoreError
from sgi.store.database import open_database
from sgi.store.manage_runs import delete_run
from sgi.store.run_queries import find_run
from sgi.store.writer import open_writer
from support.kept_runs import rows, store_run


@pytest.fixture
def kept(database_url, tmp_path):
    """A database with a run of 600 rows, which are three batches, and its record."""
    run = store_run(database_url, tmp_path, rows(600), metrics=["squad_em", "content_f1"])
    with open_database(database_url) as database:
        yield database, find_run(database, run)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_chunks_are_batches_and_together_the_file(kept, tmp_path, kind):
    chunks = list(export_chunks(*kept, kind))
    assert len(chunks) == 3
    assert export(*kept, tmp_path / f"rows.{kind}") == 600
    assert (tmp_path / f"rows.{kind}").read_bytes() == b"".join(chunks)
    if kind == "jsonl":
        ids = [json.loads(line)["id"] for line in b"".join(chunks).splitlines()]
        assert ids == [f"item-{n}" for n in range(600)]
    else:
        assert b"".join(chunks).count(b"squad_em_status") == 1, "one header"


def test_a_run_that_is_deleted_meanwhile_does_not_end_as_if_it_were_whole(kept):
    database, record = kept
    chunks = export_chunks(database, record, "csv")
    next(chunks)
    delete_run(database, record.id)
    with pytest.raises(StoreError):
        next(chunks)


def test_rows_that_are_missing_are_an_error(kept):
    database, record = kept
    writer = open_writer(database, record)
    with database.writing() as connection:
        writer._delete_batch(connection, 512, 88)
    with pytest.raises(StoreError, match="512"):
        list(export_chunks(database, record, "csv"))
