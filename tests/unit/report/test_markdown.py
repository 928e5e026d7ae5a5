"""Tables and text for Markdown files."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from sgi.report.markdown import _UNSEEN as SHOWN
from sgi.report.markdown import escaped, table

CELLS = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)


@given(CELLS)
def test_escaped_text_is_one_line_without_what_steers_a_reader(text):
    shown = escaped(text)
    assert len(shown.splitlines()) <= 1
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)


MARKED = st.lists(
    st.sampled_from([*"\\`*_{}[]()<>|#~!&:;.-+=\"' ab1", "](", "&amp;", "http://a.b", "1.", "# "])
)


@given(st.one_of(CELLS, MARKED.map("".join)))
def test_a_reader_of_markdown_sees_the_text_and_nothing_else(text):
    shown = escaped(text)
    (inline,) = MarkdownIt("commonmark", {"html": True}).parseInline(shown)
    assert {token.type for token in inline.children} <= {"text", "text_special"}
    assert "".join(token.content for token in inline.children).strip() == _plain(text).strip()


@given(MARKED.map("".join))
def test_a_line_of_text_stays_a_paragraph(text):
    blocks = MarkdownIt("commonmark", {"html": True}).enable("table").parse(escaped(text.strip()))
    assert {token.type for token in blocks} <= {"paragraph_open", "inline", "paragraph_close"}


def _plain(text):
    return "".join(" " if c in "\t\n\r\u2028\u2029" else SHOWN.get(ord(c), c) for c in text)


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
