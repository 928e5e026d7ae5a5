from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
import sqlalchemy as sa

from sgi.analysis.compare import compare
from sgi.engine.stored_runs import read_run
from sgi.kernel.errors import StoreError, UnknownNameError, UsageError
from sgi.kernel.metric import Scores, Status
from sgi.kernel.registry import metric
from sgi.kernel.sample import Sample
from sgi.reporting.views import run_view as module
from sgi.reporting.views import run_view as run_view_module
from sgi.reporting.views.comparison import comparison_view
from sgi.reporting.views.run_view import RunView, earlier_run
from sgi.store import row_query, schema
from sgi.store.database import Database, open_database
from sgi.store.manage_runs import delete_run
from sgi.store.run_queries import find_run
from sgi.store.writer import Setup, create_run, open_writer
from support.kept_runs import rows, store_run
from support.runs import bare_summary

NAMES = {
    *("groups", "correlation", "distributions", "reasons", "plane", "scatter"),
    *("labelled", "worst", "gaps"),
}
VIEWS = NAMES - {"gaps"} | {"disagreement", "worst_ids"}


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
    fresh = RunView(database, record)
    fresh.make_all()
    assert set(stored(database)) == NAMES
    again = RunView(database, record, read=never)
    other_rule = RunView(database, dataclasses.replace(record, cluster="topic"))
    for name in VIEWS:
        assert getattr(again, name) == getattr(fresh, name)
        assert type(getattr(again, name)) is type(getattr(fresh, name))
    assert other_rule.groups != fresh.groups, "stored for the clusters of the run alone"
    assert again.plane.points[7].theta_rc.hex() == fresh.plane.points[7].theta_rc.hex()
    assert again.labelled[0].reliability.confidence == fresh.labelled[0].reliability.confidence


@pytest.fixture
def growing(tmp_path):
    """A database, and the writer of a run of 4 rows in 2 batches, none of which is there yet."""
    with open_database(tmp_path / "sgi.db") as database:
        yield (
            database,
            create_run(database, Setup("d", "d", 4, {}, "", "", {}, [metric("squad_em"), metric("bleu")])),
        )


def commit(writer, start, values, failed=()):
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
    writer.put(start, samples, scores)


def test_the_views_of_a_growing_run_are_made_anew_after_each_batch(growing):
    database, writer = growing
    seen = []
    for start, values in ((0, [0.0, 1.0]), (2, [1.0, 1.0])):
        commit(writer, start, values)
        views = RunView(database, find_run(database, writer.run))
        seen.append((views.distributions[0].counts, find_run(database, writer.run).changes))
    assert [changes for _, changes in seen] == [1, 2]
    assert seen[0][0] != seen[1][0]
    assert stored(database) == {}, "they would hold until the next batch"


def test_a_batch_that_is_scored_again_makes_other_views_though_no_row_is_more(growing):
    database, writer = growing
    commit(writer, 0, [0.0, 1.0], failed=(1,))
    commit(writer, 2, [0.0, 1.0])
    writer.finish(bare_summary(4))
    before = RunView(database, find_run(database, writer.run))
    before.make_all()
    then = stored(database)
    again = open_writer(database, find_run(database, writer.run))
    assert again.reopen_failed() == 1
    commit(again, 0, [0.0, 1.0])
    record = find_run(database, writer.run)
    assert (record.scored, record.finished) == (4, False)
    assert RunView(database, record).reasons == ()
    again.finish(bare_summary(4))
    after = RunView(database, find_run(database, writer.run))
    assert len(before.reasons) == 1
    assert after.reasons == ()
    after.make_all()
    assert all(stored(database)[name] != then[name] for name in NAMES)


def test_a_deleted_run_leaves_no_views(finished):
    database, run = finished
    RunView(database, find_run(database, run)).make_all()
    delete_run(database, run)
    assert stored(database) == {}


@pytest.mark.parametrize("body", [b"", b"not compressed", b"x\x9cKL\x04\x00\x01'\x00\xc6"])
def test_a_damaged_view_is_computed_again(finished, body):
    database, run = finished
    record = find_run(database, run)
    fresh = RunView(database, record).groups
    with database.writing() as connection:
        connection.execute(sa.update(schema.run_views).values(body=body))
    assert RunView(database, record).groups == fresh


def test_a_database_that_cannot_be_written_still_shows_the_run(finished, monkeypatch):
    database, run = finished

    def full(self):
        raise StoreError("The disk is full.")

    monkeypatch.setattr(Database, "writing", full)
    assert RunView(database, find_run(database, run)).groups


def test_the_views_of_many_rows_are_made_when_the_run_ends(finished, monkeypatch):
    database, run = finished
    run_view_module.make_views(database, run)
    assert stored(database) == {}, "few rows are read when they are looked at"
    for each in (run_view_module, row_query):
        monkeypatch.setattr(each, "MANY_ROWS", 120)
    run_view_module.make_views(database, run)
    orders = [json.loads(name[5:])[0] for name in stored(database) if name.startswith("rows ")]
    assert sorted(orders) == sorted(find_run(database, run).metrics)
    assert set(stored(database)) > NAMES


def test_a_whole_view_has_every_part(kept):
    view = kept.view(worst=3)
    assert set(view.parts()["head"].metrics) == set(kept.record.metrics)
    assert {distribution.metric for distribution in view.distributions} == set(kept.record.metrics)
    assert len(view.plane.points) == view.plane.rows == 60
    assert [table.by for table in view.groups] == ["label", "topic"]
    assert len(view.correlation.metrics) == 4
    assert [len(lowest.samples) for lowest in view.worst] == [3, 3, 3, 3]
    assert {metric.metric for metric in view.labelled} == set(kept.record.metrics)
    assert view.reasons == ()
    assert view.usage == {}


def test_the_earlier_run_is_the_last_finished_one_with_data_of_the_same_name(tmp_path):
    path = tmp_path / "sgi.db"
    data = tmp_path / "same"
    data.mkdir()
    first = store_run(path, data, rows(12), metrics=["rouge_l", "bleu"])
    other = store_run(path, data, rows(15), name="other", metrics=["rouge_l"])
    third = store_run(path, data, rows(20), metrics=["rouge_l"])
    with open_database(path) as database:
        found = earlier_run(database, find_run(database, third))
        assert found is not None
        assert (found.id, found.label, [*found.changes]) == (first, first, ["rouge_l"])
        assert earlier_run(database, find_run(database, first)) is None
        assert earlier_run(database, find_run(database, other)) is None


def asked(scale, *, first=0, reference="a b c d e f g h i j", noise=0):
    """60 questions whose answers have a share of the words of the reference, by random numbers."""
    shares = np.random.default_rng(noise).uniform(0.3, 0.9, 60) * scale
    words = reference.split()
    return [
        {
            "question": f"Question {k + first}?",
            "response": " ".join([*words[: round(10 * share)], *["x"] * (10 - round(10 * share))]),
            "reference": reference,
        }
        for k, share in enumerate(shares)
    ]


@pytest.mark.parametrize(
    ("second", "obstacle"),
    [
        (asked(0.8), ""),
        (asked(1.0, noise=1), ""),
        (asked(1.0)[:58] + asked(0.5, first=60)[:20], ""),
        (asked(0.5, first=60), "other questions"),
        (asked(0.5, first=5), "other questions"),
        (asked(1.0, reference="b c d e f g h i j k"), "other references"),
    ],
)
def test_the_changes_say_what_a_comparison_says(tmp_path, second, obstacle):
    path, metrics = tmp_path / "sgi.db", ["squad_token_f1", "bleu"]
    runs = [store_run(path, tmp_path, data, metrics=metrics) for data in (asked(1), second)]
    with open_database(path) as database:
        records = [find_run(database, run) for run in runs]
        changes = earlier_run(database, records[1]).changes
        scored = [read_run(database, record) for record in records]
    if obstacle:
        assert {change.obstacle for change in changes.values()} == {obstacle}
        with pytest.raises(UsageError):
            compare(*scored)
        return
    for compared in compare(*scored).metrics:
        change = changes[compared.metric]
        assert (change.difference, change.verdict) == (compared.difference.difference, compared.verdict)


def test_of_large_runs_the_means_are_subtracted_without_a_verdict(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MAX_COMPARED", 11)
    path = tmp_path / "sgi.db"
    store_run(path, tmp_path, rows(12), metrics=["rouge_l"])
    second = store_run(path, tmp_path, rows(10), metrics=["rouge_l"])
    with open_database(path) as database:
        change = earlier_run(database, find_run(database, second)).changes["rouge_l"]
    assert change.difference
    assert change.verdict is None


LEXICAL = ("lexical_aggregate", "content_f1")


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    folder = tmp_path_factory.mktemp("two")
    runs = [
        store_run(folder / "sgi.db", folder, given, name=name, metrics=LEXICAL)
        for name, given in (
            ("monday", rows(30)),
            ("friday", rows(32, answer="Item {k} has {k} {topic}.")),
        )
    ]
    with open_database(folder / "sgi.db") as database:
        yield database, *(find_run(database, run) for run in runs)


def test_the_differences_are_those_of_the_engine(two):
    database, base, new = two
    view = comparison_view(database, base, new)
    assert view.comparison == compare(read_run(database, base), read_run(database, new), changed=5)
    assert (view.base.label, view.new.label) == ("monday", "friday")
    assert view.shares == set(LEXICAL)


def test_rows_that_changed_stand_beside_one_another(two):
    database, base, new = two
    view = comparison_view(database, base, new, changed=3)
    assert len(view.changed) == 6
    for row in view.changed:
        assert row.before.id == row.after.id
        assert row.before.response != row.after.response
        values = [side.scores[row.metric].value for side in (row.before, row.after)]
        assert row.difference == pytest.approx(values[1] - values[0])


def test_one_metric_can_be_asked_for(two):
    database, base, new = two
    whole = comparison_view(database, base, new).comparison
    part = comparison_view(database, base, new, metrics=["content_f1"]).comparison
    assert [found.metric for found in part.metrics] == ["content_f1"]
    assert part.metrics[0].adjusted_p == whole.metrics[1].adjusted_p
    with pytest.raises(UnknownNameError):
        comparison_view(database, base, new, metrics=["sgi"])
