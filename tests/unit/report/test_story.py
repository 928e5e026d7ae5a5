"""What rows were made of, as pages tell it."""

from __future__ import annotations

import pytest

from sgi.report.story import as_tree


def cells(rows, key):
    made = as_tree(rows)
    return [row[made.columns.index(key)] for row in made.rows]


def test_verdicts_are_yes_or_no_where_all_are_zero_or_one():
    rows = [{"text": "a", "verdict": 1}, {"text": "b", "verdict": 0.0}, {"text": "c", "verdict": None}]
    assert cells(rows, "verdict") == ["yes", "no", "–"]
    assert cells([*rows, {"verdict": 0.5}], "verdict") == ["1", "0.0000", "–", "0.5000"]


@pytest.mark.parametrize(("key", "value", "told"), [("count", 1, "1"), ("found", True, "yes")])
def test_other_columns_say_what_they_hold(key, value, told):
    assert cells([{key: value}], key) == [told]


def test_what_is_no_table_stays_what_it_is():
    assert as_tree([{"a": [1]}, {}]) == [{"a": ["1"]}, {}]
    assert as_tree([]) == []
