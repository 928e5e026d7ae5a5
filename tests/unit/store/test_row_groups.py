from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sgi.kernel.sample import Sample
from sgi.store import schema
from sgi.store.bulk_rows import insert_rows
from sgi.store.row_query import RowQuery, group_name, row_page
from sgi.store.run_queries import find_run
from sgi.store.samples import sample_row
from sgi.store.scored_runs import system_column
from support.runs import add_run

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=3,
)
NASTY = st.text(st.sampled_from('ab"\\/%_\0\x1f\x7f\n\t\ud800\ufdd0é𝄞null 1'), max_size=6)


@pytest.fixture
def database(database):
    add_run(database)
    return database


def only_sample(database, sample):
    """Put this sample in the place of the one there is."""
    with database.writing() as connection:
        connection.execute(schema.samples.delete())
        insert_rows(connection, schema.samples, [sample_row("data of r1", 0, sample)])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(JSON | NASTY, NASTY, NASTY)
def test_a_row_is_found_in_its_group_and_in_no_other(database, value, column, other):
    only_sample(database, Sample(id="q1", metadata={column: value, "big": 2**70}))
    record = find_run(database, "r1")
    kept = json.loads(json.dumps(value))
    name = group_name(kept) if kept is not None else "(none)"
    assert row_page(database, record, RowQuery(group=(column, name))).total == 1
    assert row_page(database, record, RowQuery(group=(column, other))).total == (other == name)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(NASTY, NASTY, NASTY)
def test_every_part_of_a_text_finds_it(database, before, text, after):
    only_sample(database, Sample(id="q1", question=f"{before}{text}{after}", response=""))
    record = find_run(database, "r1")
    assert row_page(database, record, RowQuery(text=text)).total == 1
    assert row_page(database, record, RowQuery(text=f"{text}-")).total == 0


def test_a_column_called_label_goes_before_the_label(database):
    record = find_run(database, "r1")
    only_sample(database, Sample(id="q1", label=True, metadata={"label": "mine"}))
    assert row_page(database, record, RowQuery(group=("label", "mine"))).total == 1
    assert row_page(database, record, RowQuery(group=("label", "1"))).total == 0


def test_a_group_name_that_nests_too_deep_to_be_json(database):
    record = find_run(database, "r1")
    assert row_page(database, record, RowQuery(group=("kind", "[" * 100_000))).total == 0


def test_one_column_called_label_goes_before_the_labels_of_all_rows(database):
    samples = [Sample(id="a", label=True), Sample(id="b", label=True, metadata={"label": "mine"})]
    add_run(database, "r2", samples=samples, scores={"sgi": (1.0, 2.0)})
    record = find_run(database, "r2")
    assert row_page(database, record, RowQuery(group=("label", "1"))).total == 0
    # Not among the rows that are looked through, the column still is one of the run.
    assert row_page(database, record, RowQuery(group=("label", "(none)"), text="a")).total == 1


def test_a_value_that_is_called_label_is_no_column(database):
    only_sample(database, Sample(id="q1", label=True, metadata={"kind": "label", "in": {"label": 2}}))
    record = find_run(database, "r1")
    assert row_page(database, record, RowQuery(group=("label", "1"))).total == 1


@pytest.mark.parametrize(
    ("rows", "column"),
    [
        (({"model": "m"}, {"model": "m", "x": 1}, {"model": "M"}), "model"),
        (({"model": 1}, {"model": 12}), "model"),
        (({"model": "m"}, {"model": " m"}, {"model": ""}, {"other": {"model": "n"}}), ""),
        (({"model": "m"}, {"other": {"model": "m"}, "model": "n"}), "model"),
        (({"model": "m"}, {"other": 'is "model":"m",', "model": "n"}), "model"),
        (({"model": "\0"}, {"model": "\0"}), ""),
        (({"system": "s", "method": ["a"]}, {"system": "s", "method": ["a", "b"]}), "method"),
    ],
)
def test_two_names_of_systems_are_found(database, rows, column):
    with database.writing() as connection:
        connection.execute(schema.samples.delete())
        samples = [Sample(id=f"q{number}", metadata=row) for number, row in enumerate(rows)]
        stored = [sample_row("data of r1", place, sample) for place, sample in enumerate(samples)]
        insert_rows(connection, schema.samples, stored)
    assert system_column(database, find_run(database, "r1")) == column
