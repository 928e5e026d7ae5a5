from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
import sqlalchemy as sa

from sgi.kernel.errors import StoreError
from sgi.kernel.metric import Scores, Status
from sgi.kernel.registry import metric
from sgi.kernel.sample import Sample
from sgi.reporting.views import all_row_views as run_views_module
from sgi.reporting.views.all_row_views import RunViews
from sgi.store import row_query, schema
from sgi.store.database import Database, open_database
from sgi.store.manage_runs import delete_run
from sgi.store.run_queries import find_run
from sgi.store.run_writer import RunStart, create_run, open_recorder
from support.kept_runs import rows, store_run
from support.runs import bare_summary

NAMES = ("tables", "points", "labelled", "extremes")


@pytest.fixture
def finished(database_url, tmp_path):
    """A database with a finished run of 120 real rows, and the run's id."""
    run = store_run(database_url, tmp_path, rows(120), name="monday")
    with open_database(database_url) as database:
        yield database, run


def never():
    raise AssertionError("the rows are read again")


def stored(database):
    with database.reading() as connection:
        return dict(connection.execute(sa.select(schema.run_views.c.view, schema.run_views.c.state)).all())


def test_a_stored_view_equals_a_fresh_one_bit_for_bit_and_reads_no_rows(finished):
    database, run = finished
    record = find_run(database, run)
    fresh = RunViews(database, record)
    fresh.make_all()
    assert set(stored(database)) == set(NAMES)
    again = RunViews(database, record, never)
    other_rule = RunViews(database, dataclasses.replace(record, cluster="topic"))
    for name in NAMES:
        assert getattr(again, name) == getattr(fresh, name)
        assert type(getattr(again, name)) is type(getattr(fresh, name))
    assert other_rule.tables != fresh.tables, "stored for the clusters of the run alone"
    assert again.points.plane.points[7].theta_rc.hex() == fresh.points.plane.points[7].theta_rc.hex()
    assert again.labelled[0].reliability.confidence == fresh.labelled[0].reliability.confidence


@pytest.fixture
def growing(tmp_path):
    """A database, and the recorder of a run of 4 rows in 2 batches, none of which is there yet."""
    with open_database(tmp_path / "sgi.db") as database:
        yield (
            database,
            create_run(database, RunStart("d", "d", 4, {}, "", "", {}, [metric("squad_em"), metric("bleu")])),
        )


def commit(recorder, start, values, failed=()):
    samples = [Sample(id=str(start + n), question="q", response="r", label=bool(n)) for n in range(2)]
    column = np.array(values, dtype=np.float64)
    made = Scores.of(column)
    if failed:
        made = Scores.assemble(
            2,
            [
                (np.array([0]), Scores.of(column[:1])),
                (np.array([1]), Scores.without_value(Status.FAILED, ["no reply"])),
            ],
        )
    scores = {"squad_em": made, "bleu": Scores.of(column / 2)}
    recorder.commit(start, samples, scores, truncated={}, failures={})


def test_the_views_of_a_growing_run_are_made_anew_after_each_batch(growing):
    database, recorder = growing
    seen = []
    for start, values in ((0, [0.0, 1.0]), (2, [1.0, 1.0])):
        commit(recorder, start, values)
        views = RunViews(database, find_run(database, recorder.run))
        seen.append((views.tables.distributions[0].counts, find_run(database, recorder.run).changes))
    assert [changes for _, changes in seen] == [1, 2]
    assert seen[0][0] != seen[1][0]
    assert stored(database) == {}, "they would hold until the next batch"


def test_a_batch_that_is_scored_again_makes_other_views_though_no_row_is_more(growing):
    database, recorder = growing
    commit(recorder, 0, [0.0, 1.0], failed=(1,))
    commit(recorder, 2, [0.0, 1.0])
    recorder.finish(bare_summary(4))
    before = RunViews(database, find_run(database, recorder.run))
    before.make_all()
    then = stored(database)
    again = open_recorder(database, find_run(database, recorder.run))
    assert again.reopen_failed() == 1
    commit(again, 0, [0.0, 1.0])
    record = find_run(database, recorder.run)
    assert (record.scored, record.finished) == (4, False)
    assert RunViews(database, record).tables.reasons == ()
    again.finish(bare_summary(4))
    after = RunViews(database, find_run(database, recorder.run))
    assert len(before.tables.reasons) == 1
    assert after.tables.reasons == ()
    after.make_all()
    assert all(stored(database)[name] != then[name] for name in NAMES)


def test_a_deleted_run_leaves_no_views(finished):
    database, run = finished
    RunViews(database, find_run(database, run)).make_all()
    delete_run(database, run)
    assert stored(database) == {}


@pytest.mark.parametrize("body", [b"", b"not compressed", b"x\x9cKL\x04\x00\x01'\x00\xc6"])
def test_a_damaged_view_is_computed_again(finished, body):
    database, run = finished
    record = find_run(database, run)
    fresh = RunViews(database, record).tables
    with database.writing() as connection:
        connection.execute(sa.update(schema.run_views).values(body=body))
    assert RunViews(database, record).tables == fresh


def test_a_database_that_cannot_be_written_still_shows_the_run(finished, monkeypatch):
    database, run = finished

    def full(self):
        raise StoreError("The disk is full.")

    monkeypatch.setattr(Database, "writing", full)
    assert RunViews(database, find_run(database, run)).tables.groups


def test_the_views_of_many_rows_are_made_when_the_run_ends(finished, monkeypatch):
    database, run = finished
    run_views_module.make_views(database, run)
    assert stored(database) == {}, "few rows are read when they are looked at"
    for module in (run_views_module, row_query):
        monkeypatch.setattr(module, "MANY_ROWS", 120)
    run_views_module.make_views(database, run)
    orders = [json.loads(name[5:])[0] for name in stored(database) if name.startswith("rows ")]
    assert sorted(orders) == sorted(find_run(database, run).metrics)
    assert {*NAMES} < set(stored(database))
