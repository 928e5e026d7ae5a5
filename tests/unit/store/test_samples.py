from __future__ import annotations

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from sgi.kernel.errors import StoreDamagedError
from sgi.kernel.sample import Sample
from sgi.store import schema
from sgi.store.bulk_rows import insert_rows
from sgi.store.database import open_database
from sgi.store.samples import sample_of, sample_row
from support.runs import HOSTILE, add_run

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=8) | st.sampled_from(
    ["", HOSTILE, "\0", "\ufdd00000"]
)


def with_equal_lengths(given):
    passages = {"contexts", "context_ids", "context_scores"} & given.keys()
    length = min((len(given[name]) for name in passages), default=0)
    return given | {name: given[name][:length] for name in passages}


LISTS = st.lists(ANY_TEXT, max_size=3).map(tuple)
JSON = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY_TEXT
SAMPLES = st.builds(
    lambda given: Sample(**with_equal_lengths(given)),
    st.fixed_dictionaries(
        {"id": ANY_TEXT},
        optional={
            "question": ANY_TEXT,
            "contexts": LISTS,
            "response": ANY_TEXT,
            "reference": ANY_TEXT,
            "alternatives": LISTS,
            "label": st.booleans(),
            "context_ids": st.lists(ANY_TEXT.filter(str.strip), max_size=1),
            "context_scores": st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=1),
            "relevance": st.dictionaries(ANY_TEXT, st.integers(-(2**31), 2**31 - 1), max_size=2),
            "gold_passages": LISTS,
            "citations": st.lists(st.fixed_dictionaries({"passage": ANY_TEXT.filter(str.strip)}), max_size=2),
            "answerable": st.booleans(),
            "turns": st.lists(
                st.fixed_dictionaries({"role": st.just("user"), "text": ANY_TEXT, "contexts": LISTS}),
                max_size=2,
            ),
            "metadata": st.dictionaries(ANY_TEXT, JSON | st.lists(JSON, max_size=2), max_size=3),
        },
    ),
)


@pytest.fixture(scope="module")
def databases(tmp_path_factory, postgres):
    with (
        postgres.database() as url,
        open_database(tmp_path_factory.mktemp("samples") / "sgi.db") as lite,
        open_database(url) as full,
    ):
        yield lite, full


@given(st.lists(SAMPLES, max_size=5, unique_by=lambda sample: sample.id))
def test_samples_come_back_from_both_databases(databases, samples):
    for database in databases:
        with database.writing() as connection:
            connection.execute(sa.delete(schema.datasets))
            insert_rows(connection, schema.datasets, [("d", "d", len(samples), "now")])
            rows = [sample_row("d", k, sample) for k, sample in enumerate(samples)]
            insert_rows(connection, schema.samples, rows)
            query = sa.select(schema.samples).order_by(schema.samples.c.position)
            found = [sample_of(row) for row in connection.execute(query).mappings()]
        assert found == samples
        assert [one.model_fields_set for one in found] == [one.model_fields_set for one in samples]


def test_absent_is_null_and_blank_is_not():
    names = [column.name for column in schema.samples.columns]
    absent, blank = (
        dict(zip(names, sample_row("d", 0, sample), strict=True))
        for sample in (Sample(id="1"), Sample(id="1", question="", contexts=()))
    )
    assert (absent["question"], absent["contexts"]) == (None, None)
    assert (blank["question"], blank["contexts"]) == ("", "[]")


def test_rows_with_nothing_to_share_stand_for_themselves(database_url):
    with open_database(database_url) as database:
        add_run(database, samples=(Sample(id="1"), Sample(id="2"), Sample(id="3", question="")))
        with database.reading() as connection:
            assert len(set(connection.execute(sa.select(schema.samples.c.cluster)).scalars())) == 3


def test_a_sample_that_is_not_valid_is_reported_as_damage():
    row = dict.fromkeys(schema.samples.columns.keys()) | {"id": "1", "context_ids": ["a", "a"]}
    with pytest.raises(StoreDamagedError, match=r"context_ids.*'a'"):
        sample_of(row)
