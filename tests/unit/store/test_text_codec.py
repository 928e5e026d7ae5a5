from __future__ import annotations

import json

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from sgi.store import schema
from sgi.store.database import open_database
from sgi.store.text_codec import restored, restored_json, stored, stored_json
from support.runs import HOSTILE, add_run

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
    assert fits(stored(text))
    assert restored(stored(text)) == text


@given(ANY_TEXT, ANY_TEXT)
def test_different_texts_stay_different(one, other):
    assert (stored(one) == stored(other)) == (one == other)


@given(JSON)
def test_any_json_fits_and_comes_back(value):
    text = stored_json(value)
    assert fits(text)
    assert "\\u0000" not in text.replace("\\\\", "")
    assert restored_json(text) == value
    json.loads(text)


@given(st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0\ufdd0")))
def test_usual_text_stays_as_it_is(text):
    assert stored(text) is text or stored(text) == text
    assert restored(text) == text


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_are_not_finite_become_null(value):
    assert stored_json([value]) == "[null]"
    assert stored_json([value, 2**70]) == f"[null,{2**70}]"
    assert stored_json([value, "\ud800"]) == '[null,"\ufdd0d800"]'


def test_both_databases_keep_what_fits(database_url):
    texts = [HOSTILE, "\0", "\ud800", "\ufdd0", "\\u0000", "", " ", "x" * 1_000_000]
    with open_database(database_url) as database:
        add_run(database)
        for text in texts:
            with database.writing() as connection:
                connection.execute(sa.update(schema.runs).values(signature=stored(text), spec={text: [text]}))
            with database.reading() as connection:
                row = connection.execute(sa.select(schema.runs.c.signature, schema.runs.c.spec)).one()
            assert restored(row.signature) == text
            assert row.spec == {text: [text]}
