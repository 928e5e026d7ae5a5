from __future__ import annotations

import threading

import numpy as np
import pytest
import sqlalchemy as sa

from sgi.kernel.errors import StoreError, UnknownNameError, UsageError
from sgi.kernel.metric import Scores, Status
from sgi.kernel.protocols import Usage
from sgi.kernel.registry import metric
from sgi.kernel.sample import Sample
from sgi.kernel.sample_parts import NO_COSTS, NO_RANKING
from sgi.store import schema
from sgi.store.bulk_rows import insert_rows
from sgi.store.database import open_database
from sgi.store.manage_runs import change_run, count_scores, data_files, delete_run
from sgi.store.run_queries import find_run, list_runs
from sgi.store.samples import StoredAnswer
from sgi.store.writer import Setup, create_run, open_writer
from support.runs import add_run, contents

METRICS = (metric("squad_em"), metric("squad_token_f1"))
SAMPLES = tuple(Sample(id=f"q{n}", response="r", reference="r") for n in range(4))


def begun(database, name=None, dataset="hash"):
    """A run that is being written, over data that others may share."""
    start = Setup(dataset, "rows.jsonl", 4, {}, "spec", "signature", {}, METRICS, name=name)
    return create_run(database, start)


def commit(writer, start=0, rows=2):
    scores = {one.canonical: Scores.of(np.ones(rows)) for one in METRICS}
    writer.put(start, SAMPLES[start : start + rows], scores)


def test_two_that_want_one_name_at_once(postgres_url):
    with open_database(postgres_url) as database:
        add_run(database, "r1")
        add_run(database, "r2")
        with database.writing() as connection:
            connection.execute(sa.update(schema.runs).where(schema.runs.c.id == "r1").values(name="wanted"))
            caught = []
            rival = threading.Thread(target=lambda: caught.append(tried(database)))
            rival.start()
            rival.join(0.5)
            assert rival.is_alive(), "it waits for the first"
        rival.join(10)
        assert isinstance(caught[0], UsageError)
        assert "wanted" in caught[0].message


def tried(database):
    try:
        change_run(database, "r2", name="wanted")
    except UsageError as error:
        return error
    return None


@pytest.mark.parametrize(
    "step",
    [
        lambda d: delete_run(d, "r9"),
        lambda d: change_run(d, "r9"),
    ],
)
def test_a_run_that_is_not_there(database, step):
    add_run(database, "r1")
    with pytest.raises(UnknownNameError) as caught:
        step(database)
    assert (caught.value.kind, caught.value.name) == ("run", "r9")


def test_name_and_tags_change_together_and_what_is_left_out_stays(database):
    add_run(database, "r1", name="old")
    change_run(database, "r1", name="new", tags=[" b", "a"])
    assert (find_run(database, "r1").name, find_run(database, "r1").tags) == ("new", ("a", "b"))
    change_run(database, "r1")
    change_run(database, "r1", tags=["c"])
    assert (find_run(database, "r1").name, find_run(database, "r1").tags) == ("new", ("c",))
    change_run(database, "r1", name=None)
    assert (find_run(database, "r1").name, find_run(database, "r1").tags) == (None, ("c",))
    add_run(database, "r2")
    change_run(database, "r2", tags=["b", " b"])
    change_run(database, "r1", tags=[])
    assert [record.tags for record in list_runs(database)] == [("b",), ()]


@pytest.mark.parametrize(
    ("name", "tags"),
    [("new", ["a,b"]), ("new", [""]), *((name, ["a"]) for name in ("other", "last", "", "a\0b"))],
)
def test_of_a_change_that_cannot_be_nothing_is_done(database, name, tags):
    add_run(database, "r1", name="mine")
    add_run(database, "r2", name="other")
    change_run(database, "r1", tags=["kept"])
    with pytest.raises(UsageError):
        change_run(database, "r1", name=name, tags=tags)
    assert (find_run(database, "r1").name, find_run(database, "r1").tags) == ("mine", ("kept",))


def test_a_change_whose_second_half_fails_is_undone(database, monkeypatch):
    def fails(*_):
        raise StoreError("The disk is full.")

    add_run(database, "r1", name="mine")
    monkeypatch.setattr("sgi.store.manage_runs.insert_rows", fails)
    with pytest.raises(StoreError):
        change_run(database, "r1", name="new", tags=["a"])
    assert find_run(database, "r1").name == "mine"


def test_the_files_that_runs_were_asked_for_with(database):
    add_run(database, "r1")
    assert data_files(database) == frozenset()
    for path in ("/up/upload-1.csv", "/up/upload-2.csv", "/up/upload-2.csv"):
        start = Setup("hash", "rows.jsonl", 4, {"data": path}, "spec", "signature", {}, METRICS)
        create_run(database, start)
    assert data_files(database) == {"/up/upload-1.csv", "/up/upload-2.csv"}


def test_what_is_deleted_leaves_nothing_and_the_others_as_they_were(database):
    add_run(database, "r1")
    before = contents(database)
    add_run(database, "r2", name="gone", scores={"sgi": (1.0,), "bleu": (None,)})
    change_run(database, "r2", tags=["x"])
    with database.writing() as connection:
        number = connection.execute(sa.select(sa.func.max(schema.run_metrics.c.id))).scalar_one()
        insert_rows(connection, schema.details, [(number, 0, "{}")])
        insert_rows(connection, schema.evidence, [(number, 0, "{}")])
        insert_rows(connection, schema.answers, [("r2", 0, "a", None, None, 0.1, *NO_COSTS, *NO_RANKING)])
        insert_rows(connection, schema.usage, [("r2", "j", 1, 0, 0, 1, 1, None, "a", 0)])
    assert count_scores(database, "r2") == 2
    delete_run(database, "r2")
    assert contents(database) == before
    assert count_scores(database, "r2") == 0


def test_data_stays_while_another_run_is_of_it(database):
    first, second = begun(database, "first"), begun(database, "second")
    commit(first)
    delete_run(database, first.run)
    assert len(contents(database)["samples"]) == 2
    commit(second)
    delete_run(database, second.run)
    assert not any(contents(database).values())


def test_a_run_that_begins_on_the_data_meanwhile_keeps_it(postgres_url):
    with open_database(postgres_url) as database:
        add_run(database, "r1")
        done = threading.Event()

        def delete():
            delete_run(database, "r1")
            done.set()

        with database.writing() as connection:
            row = {
                "spec": {},
                "spec_hash": "",
                "signature": "",
                "versions": {},
                "created_at": "",
                "rejected": 0,
            }
            connection.execute(sa.insert(schema.runs).values(id="r2", dataset="data of r1", **row))
            rival = threading.Thread(target=delete)
            rival.start()
            assert not done.wait(0.5), "it waits for the run that begins"
        rival.join(10)
        assert done.is_set()
        assert [record.id for record in list_runs(database)] == ["r2"]
        assert len(contents(database)["samples"]) == 1


USED = {"judge": Usage(calls=1)}


@pytest.mark.parametrize(
    "step",
    [
        lambda writer: commit(writer, 2),
        lambda writer: writer.put_answers({2: StoredAnswer("a")}),
        lambda writer: writer.put_usage(USED),
        lambda writer: writer.finish({}),
    ],
    ids=["put", "put_answers", "put_usage", "finish"],
)
def test_the_writer_of_a_run_that_was_deleted_is_told(database, step):
    writer = begun(database, "nightly")
    commit(writer)
    delete_run(database, writer.run)
    with pytest.raises(StoreError, match=writer.run) as caught:
        step(writer)
    assert "another process" not in str(caught.value).casefold()
    assert not any(contents(database).values()), "nothing of it comes back"


def test_to_stop_a_run_that_was_deleted_is_no_fault(database):
    writer = begun(database)
    delete_run(database, writer.run)
    writer.stop("over")


def test_a_reopened_batch_of_a_run_that_was_deleted(database):
    writer = begun(database)
    failed = {one.canonical: Scores.without_value(Status.FAILED, ["down"] * 2) for one in METRICS}
    writer.put(0, SAMPLES[:2], failed)
    record = find_run(database, writer.run)
    again = open_writer(database, record, take_over=True)
    assert again.reopen_failed() == 1
    delete_run(database, record.id)
    with pytest.raises(StoreError, match=record.id):
        commit(again)
    with pytest.raises(StoreError, match=record.id):
        open_writer(database, record)
