from __future__ import annotations

import json

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from sgi.kernel.errors import StoreError
from sgi.store import schema
from sgi.store.bulk_rows import CHUNK, chunks, decode_json, decode_text, encode_json, encode_text, insert_rows
from sgi.store.database import open_database
from sgi.store.run_names import free_name
from support.runs import HOSTILE, add_run


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


ANY_TEXT = st.text(st.characters(exclude_categories=())) | st.text("a\0\ud800\udfff\ufdd00f\\u", max_size=12)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)


def fits(text):
    """Whether PostgreSQL takes it: UTF-8 without NUL."""
    return "\0" not in text and text.encode().decode() == text


@given(ANY_TEXT)
def test_any_text_fits_and_comes_back(text):
    assert fits(encode_text(text))
    assert decode_text(encode_text(text)) == text


@given(ANY_TEXT, ANY_TEXT)
def test_different_texts_stay_different(one, other):
    assert (encode_text(one) == encode_text(other)) == (one == other)


@given(JSON)
def test_any_json_fits_and_comes_back(value):
    text = encode_json(value)
    assert fits(text)
    assert "\\u0000" not in text.replace("\\\\", "")
    assert decode_json(text) == value
    json.loads(text)


@given(st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0\ufdd0")))
def test_usual_text_stays_as_it_is(text):
    assert encode_text(text) is text or encode_text(text) == text
    assert decode_text(text) == text


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_are_not_finite_become_null(value):
    assert encode_json([value]) == "[null]"
    assert encode_json([value, 2**70]) == f"[null,{2**70}]"
    assert encode_json([value, "\ud800"]) == '[null,"\ufdd0d800"]'


def test_both_databases_keep_what_fits(database_url):
    texts = [HOSTILE, "\0", "\ud800", "\ufdd0", "\\u0000", "", " ", "x" * 1_000_000]
    with open_database(database_url) as database:
        add_run(database)
        for text in texts:
            with database.writing() as connection:
                connection.execute(
                    sa.update(schema.runs).values(signature=encode_text(text), spec={text: [text]})
                )
            with database.reading() as connection:
                row = connection.execute(sa.select(schema.runs.c.signature, schema.runs.c.spec)).one()
            assert decode_text(row.signature) == text
            assert row.spec == {text: [text]}
