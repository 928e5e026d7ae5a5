"""Escaped text for Markdown, and tables in their three formats."""

from __future__ import annotations

import html
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.console import Console

from sgi.reporting.safe_text import escape, plain
from sgi.reporting.table import Cell, Table

CELLS = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)


@given(CELLS)
def test_escaped_text_is_one_line_without_what_steers_a_reader(text):
    shown = escape(text)
    assert len(shown.splitlines()) <= 1
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)


MARKED = st.lists(
    st.sampled_from(
        [*"\\`*_{}[]()<>|#~!&:;.-+=\"' ab1", "](", "&amp;", "http://a.b", "www.a", "@a", "1.", "# "]
    )
)


@given(st.one_of(CELLS, MARKED.map("".join)))
def test_a_reader_of_markdown_sees_the_text_and_nothing_else(text):
    shown = escape(text)
    (inline,) = MarkdownIt("commonmark", {"html": True}).parseInline(shown)
    assert {token.type for token in inline.children} <= {"text", "text_special"}
    read = "".join(token.content for token in inline.children)
    assert read.replace("\u200b", "").strip() == _plain(text).replace("\u200b", "").strip()


@given(MARKED.map("".join))
def test_github_finds_no_address_mention_or_issue(text):
    shown = escape(f"{text} @octocat octo/sgi#12 GH-3 https://a.example WWW.a.example mail@a.example")
    assert not re.search(r"(?i)(?<!\\)://|www(?<!\\)\.", shown)
    (inline,) = MarkdownIt("commonmark").parseInline(shown)
    assert not re.search(r"@\w|#\d|GH-\d", "".join(token.content for token in inline.children))


@given(MARKED.map("".join))
def test_a_line_of_text_stays_a_paragraph(text):
    blocks = MarkdownIt("commonmark", {"html": True}).enable("table").parse(escape(text.strip()))
    assert {token.type for token in blocks} <= {"paragraph_open", "inline", "paragraph_close"}


def _plain(text):
    return plain(text).replace("\t", " ").replace("\n", " ")


@given(st.lists(st.tuples(CELLS, CELLS), max_size=5))
def test_a_table_has_a_line_for_each_row_whatever_it_holds(rows):
    lines = Table(["name", "value"], rows).markdown().split("\n")
    assert len(lines) == 2 + len(rows)
    for line in lines:
        assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == 3


def test_words_stand_to_the_left_and_numbers_to_the_right():
    rule = Table(["model", "sample", "n"], [["a", "full", "3"]], left=["sample"]).markdown().split("\n")[1]
    assert [cell[:1] + cell[-1:] for cell in rule.strip("|").split("|")] == [":-", ":-", "-:"]


def test_a_short_row_is_refused():
    with pytest.raises(ValueError, match="1 cells, but the table has 2 columns"):
        Table(["a", "b"], [["only"]])


@given(st.lists(st.tuples(CELLS, CELLS), max_size=5))
def test_html_shows_the_texts_and_nothing_else(rows):
    page = Table(["<b>", "&"], rows, title="<i>").html()
    cells = re.findall(r"<(t[hd])(?: [^>]*)?>([^<]*)</\1>", page)
    assert [html.unescape(text) for _, text in cells] == [
        plain(text) for row in [("<b>", "&"), *rows] for text in row
    ]
    assert html.unescape(re.findall("<caption>([^<]*)</caption>", page)[0]) == "<i>"


def test_html_has_tooltips_and_classes():
    page = Table(["a", "b"], [["x", Cell("1", tooltip="<why>", css="strong")]]).html()
    assert '<td class="n" title="&lt;why&gt;"><span class="strong">1</span></td>' in page


def test_the_terminal_shows_one_line_per_row_without_markup():
    table = Table(["[bold]a[/]", "b"], [["x\ny", "\x1b[31m1"]]).terminal()
    console = Console(width=60, record=True, file=io.StringIO())
    console.print(table)
    assert [line.split() for line in console.export_text().splitlines()] == [
        ["[bold]a[/]", "b"],
        ["x\ufffdy", "\ufffd[31m1"],
    ]
