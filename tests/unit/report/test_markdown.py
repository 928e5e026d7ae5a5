"""Tables and text for Markdown files."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.report.markdown import escaped, table

CELLS = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)


@given(CELLS)
def test_escaped_text_is_one_line_without_what_steers_a_reader(text):
    shown = escaped(text)
    assert len(shown.splitlines()) <= 1
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)


@given(CELLS)
def test_no_mark_stands_without_its_backslash(text):
    bare = re.sub(r"\\[\\`*_{}\[\]<>|#~]", "", escaped(text))
    assert not re.search(r"[\\`*_{}\[\]<>|#~]", bare)


@given(st.lists(st.tuples(CELLS, CELLS), max_size=5))
def test_a_table_has_a_line_for_each_row_whatever_it_holds(rows):
    lines = table(["name", "value"], rows).split("\n")
    assert len(lines) == 2 + len(rows)
    for line in lines:
        assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == 3


def test_words_stand_to_the_left_and_numbers_to_the_right():
    rule = table(["model", "sample", "n"], [["a", "full", "3"]], left=["sample"]).split("\n")[1]
    assert [cell[:1] + cell[-1:] for cell in rule.strip("|").split("|")] == [":-", ":-", "-:"]


def test_a_short_row_is_refused():
    with pytest.raises(ValueError, match="1 cells stands in a table of 2"):
        table(["a", "b"], [["only"]])
