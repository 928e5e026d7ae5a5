from __future__ import annotations

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sgi.store import schema
from sgi.store.database import open_database
from sgi.store.manage_runs import change_run
from sgi.store.run_queries import count_runs, find_run, list_runs, page_of_runs, run_before
from support.runs import add_run

NAMES = {"r1": "Nightly 100%", "r2": None, "r3": "night_ly", "r4": "ÉCLAIR"}
TAGS = {"r1": ["nightly", "gpt-4o"], "r3": ["gpt-4o"], "r4": ["straße"]}


@pytest.fixture
def database(database):
    for number, (run, name) in enumerate(NAMES.items()):
        add_run(database, run, name=name, scores={"sgi": (1.0,), f"metric_{run}": (0.5,)})
        with database.writing() as connection:
            ours = schema.runs.c.id == run
            connection.execute(sa.update(schema.runs).where(ours).values(created_at=f"2026-01-0{number}"))
    for run, tags in TAGS.items():
        change_run(database, run, tags=tags)
    return database


def ids(database, **asked):
    return [record.id for record in list_runs(database, **asked)]


def test_all_runs_the_newest_first_each_with_its_metrics_and_tags(database):
    found = list_runs(database)
    assert [record.id for record in found] == ["r4", "r3", "r2", "r1"]
    assert [record.tags for record in found] == [("straße",), ("gpt-4o",), (), ("gpt-4o", "nightly")]
    assert [record.metrics for record in found] == [("sgi", f"metric_{r.id}") for r in found]
    assert find_run(database, "r1") == found[-1]


@pytest.mark.parametrize(
    ("search", "wanted"),
    [
        ("NIGHT", ["r3", "r1"]),
        ("%", ["r1"]),
        ("_", ["r3"]),
        ("STRASSE", ["r4"]),
        ("data of R2", ["r2"]),
        ("' OR 1=1 --", []),
        ("\0\ud800\\", []),
    ],
)
def test_search_is_text_in_any_case(database, search, wanted):
    assert ids(database, search=search) == wanted
    assert count_runs(database, search=search) == len(wanted)


def test_a_tag_is_the_whole_tag(database):
    assert ids(database, tag="gpt-4o") == ["r3", "r1"]
    assert ids(database, tag="gpt") == ids(database, tag="GPT-4o") == ids(database, tag="\0") == []
    assert ids(database, tag="gpt-4o", search="night_") == ["r3"]
    assert count_runs(database, tag="gpt-4o") == 2


def test_a_limit_keeps_the_newest(database):
    assert ids(database, limit=2) == ["r4", "r3"]
    assert ids(database, limit=0) == []


def test_the_metrics_of_other_runs_are_not_read(database):
    statements = []
    listen = lambda *event: statements.append((event[2], event[3]))
    sa.event.listen(database._engine, "before_cursor_execute", listen)
    list_runs(database, limit=1)
    (named,) = [params for statement, params in statements if "run_metrics" in statement]
    values = named.values() if isinstance(named, dict) else named
    assert list(values) == ["r4"]


def test_more_runs_than_a_statement_names(tmp_path):
    with open_database(tmp_path / "many.db") as database:
        with database.writing() as connection:
            row = {
                "dataset": "d",
                "spec": {},
                "spec_hash": "",
                "signature": "",
                "versions": {},
                "rejected": 0,
            }
            connection.execute(
                sa.insert(schema.datasets).values(hash="d", name="d", rows=0, created_at="2026")
            )
            runs = [row | {"id": f"r{k:04}", "created_at": "2026"} for k in range(1203)]
            connection.execute(sa.insert(schema.runs), runs)
        assert ids(database) == [f"r{k:04}" for k in reversed(range(1203))]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(st.text())
def test_no_search_text_fails(database, search):
    assert len(ids(database, search=search)) == count_runs(database, search=search) <= 4
    assert len(ids(database, tag=search)) == count_runs(database, tag=search) <= 4


def test_a_page_of_runs_is_read_in_one_transaction(database):
    begun = []
    sa.event.listen(database._engine, "begin", lambda _: begun.append(1))
    made = page_of_runs(database, page=9, size=3)
    assert len(begun) == 1
    assert [record.id for record in made.records] == ["r1"]
    assert (made.total, made.page, made.pages) == (4, 2, 2)
    assert list(made.tags.items()) == [("gpt-4o", 2), ("nightly", 1), ("straße", 1)]


def test_a_page_of_no_runs(database):
    made = page_of_runs(database, tag="none has it")
    assert (made.records, made.total, made.page, made.pages) == ((), 0, 1, 1)


def test_the_run_before_is_finished_and_has_data_of_the_same_name(database):
    datasets, runs = schema.datasets, schema.runs
    with database.writing() as connection:
        same = datasets.c.hash.in_(["data of r1", "data of r2", "data of r4"])
        connection.execute(sa.update(datasets).where(same).values(name="answers.jsonl"))
        connection.execute(sa.update(runs).where(runs.c.id == "r2").values(finished_at=None))
    assert run_before(database, find_run(database, "r4")).id == "r1"
    assert run_before(database, find_run(database, "r2")).id == "r1"
    assert run_before(database, find_run(database, "r1")) is None
    assert run_before(database, find_run(database, "r3")) is None
