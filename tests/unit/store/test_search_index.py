from __future__ import annotations

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sgi.kernel.sample import Sample
from sgi.store import schema, search_index
from sgi.store.bulk_rows import insert_rows
from sgi.store.manage_runs import delete_run
from sgi.store.row_query import RowQuery, row_page
from sgi.store.run_queries import find_run
from sgi.store.samples import StoredAnswer, answer_row
from sgi.store.search_index import build_search_index, has_search_index, indexed_positions
from sgi.store.writer import count_change
from support.runs import HOSTILE, add_run

ALPHABET = "abAB \"'\\*%_-():&|!^\0\ud800\ufdd0äÄßſſK東京都é\n0"
TEXTS = st.text(st.sampled_from(ALPHABET), max_size=12)


@pytest.fixture
def database(database, monkeypatch):
    monkeypatch.setattr(search_index, "MANY_ROWS", 1)
    monkeypatch.setattr(search_index, "_PAUSE", 0)
    monkeypatch.setattr(search_index, "_ROWS", 2)
    return database


def both(database, text, run="r1"):
    """What the index finds, None if it cannot be used, and what is found by reading all texts."""
    record = find_run(database, run)

    def found():
        return [row.position for row in row_page(database, record, RowQuery(text=text)).rows]

    with database.reading() as connection:
        is_indexed = indexed_positions(connection, record, RowQuery(text=text).words) is not None
    with pytest.MonkeyPatch.context() as patch:
        indexed = found() if is_indexed else None
        patch.setattr(search_index, "indexed_positions", lambda *_: None)
        return indexed, found()


def tables(database):
    with database.reading() as connection:
        return {name for name in sa.inspect(connection).get_table_names() if name.startswith("search_")}


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=settings().max_examples // 2
)
@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=5), st.lists(TEXTS, max_size=4), st.data())
def test_the_index_finds_what_the_scan_finds(database, texts, searches, data):
    samples = [Sample(id=f"{k}", question=q, response=r) for k, (q, r) in enumerate(texts)]
    add_run(database, samples=samples, scores={"sgi": [1.0] * len(samples)})
    try:
        assert build_search_index(database, find_run(database, "r1"))
        every = "".join(question + response for question, response in texts)
        start = data.draw(st.integers(0, len(every)))
        for text in (*searches, every[start : start + data.draw(st.integers(1, 6))], f'"{every[:4]}"'):
            if RowQuery(text=text).words:
                found, scanned = both(database, text)
                assert found == scanned, text
    finally:
        delete_run(database, "r1")


def test_words_are_parts_of_texts_and_no_operators(database):
    wanted = {
        "RIVER long": [0],
        '"long river"': [0],
        '"river long"': [],
        "iv": [0, 1],
        "京": [2],
        "OR": [],
        "river OR": [],
        "STRASSE": [1],
        '5"': [2],
    }
    samples = [
        Sample(id="q0", question="A long river", response="Yes."),
        Sample(id="q1", question="Rivers?", response="strasse Straße"),
        Sample(id="q2", question='5" in 東京都', response="京都は"),
        Sample(id="q3", question=HOSTILE),
    ]
    add_run(database, samples=samples, scores={"sgi": [1.0] * 4})
    assert build_search_index(database, find_run(database, "r1"))
    assert {text: both(database, text) for text in wanted} == {
        text: (positions, positions) for text, positions in wanted.items()
    }


def test_an_index_goes_with_its_texts(database):
    add_run(database)
    with database.writing() as connection:
        connection.execute(sa.update(schema.runs).values(dataset="data of r1"))
    assert not has_search_index(database, find_run(database, "r1"))
    assert build_search_index(database, find_run(database, "r1"))
    assert has_search_index(database, find_run(database, "r1"))
    assert not build_search_index(database, find_run(database, "r1"))  # it is there
    assert "search_1" in tables(database)
    delete_run(database, "r1")
    assert tables(database) == {"search_indexes"}


def test_answers_of_a_target_have_their_own_index_and_a_change_makes_it_invalid(database):
    add_run(database, samples=[Sample(id="q1", question="Who?", response="given")])

    def answer(text, position=0):
        with database.writing() as connection:
            connection.execute(sa.delete(schema.answers))
            insert_rows(connection, schema.answers, [answer_row("r1", position, StoredAnswer(text))])
            count_change(connection, "r1")

    assert build_search_index(database, find_run(database, "r1"))
    assert both(database, "given") == ([0], [0])
    answer("first answer")
    assert both(database, "given") == (None, [])
    assert build_search_index(database, find_run(database, "r1"))
    assert both(database, "first") == ([0], [0])
    assert both(database, "given") == ([], [])
    answer("second answer")
    assert both(database, "first") == (None, [])
    assert build_search_index(database, find_run(database, "r1"))
    assert both(database, "second") == ([0], [0])
    with database.writing() as connection:
        connection.execute(sa.update(schema.runs).values(finished_at=None))
    assert both(database, "second") == (None, [0])
    assert not build_search_index(database, find_run(database, "r1"))


def test_a_build_that_stops_is_repeated_later_and_one_at_a_time(database, monkeypatch):
    add_run(database)
    record = find_run(database, "r1")
    assert not build_search_index(database, record, stopped=lambda: True)
    assert both(database, "Who") == (None, [0])
    assert not build_search_index(database, record)  # another process may be at work
    monkeypatch.setattr(search_index, "_ABANDONED", search_index.timedelta(0))
    assert build_search_index(database, record)
    assert both(database, "Who") == ([0], [0])


def test_a_build_never_writes_into_the_index_of_another(database):
    for run, response in (("r1", "first"), ("r2", "second")):
        samples = [Sample(id=str(k), response=response) for k in range(6)]
        add_run(database, run, samples=samples, scores={"sgi": [1.0] * 6})
    other, steps = find_run(database, "r2"), []

    def replace_index():
        steps.append(1)
        if len(steps) == 2:  # another process deletes the run, and builds another index
            delete_run(database, "r1")
            assert build_search_index(database, other)
        return False

    assert not build_search_index(database, find_run(database, "r1"), stopped=replace_index)
    assert len(steps) == 2
    assert both(database, "first", "r2") == ([], [])
    assert both(database, "second", "r2") == (list(range(6)),) * 2
