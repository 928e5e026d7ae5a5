"""A run and a comparison as Markdown."""

from __future__ import annotations

import html
import io
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.console import Console

from sgi.reporting.run_markdown import LONGEST, comparison_markdown, run_markdown
from sgi.reporting.safe_text import escape, plain
from sgi.reporting.table import Cell, Table
from sgi.reporting.views.headline import headline_notes
from sgi.reporting.views.row_view import LowestRows
from support.views import bare_view, comparison_view, head, headline, run_view, sample

WILD = "a|b\n# head\n- item <script>alert(1)</script> [x](javascript:y) `c` *d* \x00\x1b\u202e\ud800"


def use_texts(monkeypatch, text):
    """Every text and one metric of the views is this one from now on."""
    monkeypatch.setattr("support.views.HOSTILE", text)
    monkeypatch.setattr("support.views.HOSTILE_METRIC", text)
    monkeypatch.setattr("support.views.METRICS", ("sgi", "bleu", text))


def page_of(row):
    return run_markdown(
        run_view(worst=(LowestRows("sgi", higher_is_better=True, samples=(row,)),), disagreement=None)
    )


def test_everything_that_the_view_holds_stands_on_the_page(monkeypatch):
    use_texts(monkeypatch, "x")
    page = run_markdown(
        run_view(worst=(*run_view().worst, LowestRows("none", higher_is_better=False, samples=())))
    )
    for text in (
        "# nightly x\n",
        "- run: `01J00000000000000000000000`\n- data: data x.jsonl\n- rows: 120\n- rejected: 2 rows",
        "- state: finished\n- started: 2026-01-01 12:00:00 UTC\n- finished: 2026-01-01 12:01:00 UTC\n",
        "- tags: \\<b\\>, weekly\n",
        "| sgi | 0.5000 | [0.4000, 0.6000] | 120 / 120 |",
        "| bleu | 50.00 % | [40.00, 60.00] | 120 / 120 |",
        "| x | 50.00 % | [40.00, 60.00] | 40 / 120 | 1 undefined, 79 failed |",
        "- x: x 3 (60.0 %), wrong 2 (40.0 %)\n",
        "| sgi | 0.750 | [0.700, 0.800] | 60 / 48 |",
        "| length alone (shorter = label 1) | 0.600 | – | 60 / 48 |",
        *(f"- {escape(note)}\n" for note in headline_notes(headline())),
        "- sgi over 108 rows. Largest of 2 bins: 0.5 to 1, with 66.7 % of label 1; 1 to 1.5, with 58.3 %",
        "- The angles θ(r, c) and θ(r, q) of 120 rows: 79 (65.8 %) above the diagonal",
        "- sgi against bleu over 120 rows, Spearman's ρ 0.50. 1 row ranks much higher by sgi",
        "## By topic x\n",
        "| x | 70 | sgi | 0.5000 | – | – | [0.4000, 0.6000] | 70 / 70 |",
        "|  |  | bleu | 50.00 % | – | – |",
        "| x by topic x | x |\n",
        "| sgi | 1.00 (120) | – (120) |",
        "| sgi | 0.750 | 0.050 | 0.212 | 0.247 | 108 |",
        "## Disagreements between sgi and bleu\n",
        "- `row-0`: rank difference +0.80: 1.2000 and 0.1000, label 1\n  - question: Question 0? x\n",
        "  - reference: x\n  - passage 1: x\n  - passage 2: Passage of 0.\n",
        "## Rows with the lowest sgi\n\n- `row-0`: 0.7857, label 1\n",
        "## Rows with the lowest bleu\n\n- `row-1`: 25.00 %, label 0\n",
        "| 80 | failed | x | x |",
        "| x | 3 | 1 | 0 | 0 | 1,000 | 50 | unknown |",
        "`sgi v1 x`\n\nsgi 0.1, numpy 2.4\n",
    ):
        assert text in page, text
    assert "rows by none" not in page
    assert len(list(headline_notes(headline()))) == 3
    assert page.endswith("numpy 2.4\n")


def test_what_is_not_there_has_no_heading():
    unfinished = head(9, scored=0, finished_at=None, stopped="no such luck")
    page = run_markdown(bare_view(record=unfinished))
    assert re.findall("^#+ (?!nightly).*", page, re.MULTILINE) == ["## Summary", "## Provenance"]
    assert "No rows are scored yet.\n\n- Of 0 rows.\n" in page
    assert "- rows: 0 of 9\n" in page
    assert "- state: stopped: no such luck\n- started: 2026-01-01 12:00:00 UTC\n- tags" in page


def test_long_texts_are_cut_and_say_so():
    page = page_of(sample(0, response="x" * 5000, reference=None, label=None, contexts=()))
    assert f"  - response: {'x' * LONGEST} … (300 of 5,000 characters)\n" in page
    assert "x" * (LONGEST + 1) not in page
    assert "reference:" not in page
    assert "- `row-0`: 0.7857\n" in page


def test_a_row_without_an_answer_says_why():
    page = page_of(sample(0, response="", reason="HTTP 500", scores={}))
    assert "- `row-0`: –, label 1\n" in page
    assert "  - no response: HTTP 500\n" in page
    assert "  - response:" not in page


def markup(page):
    """A page without what stands in the type of code, and without what is escaped."""
    return re.sub(r"\\.", "", re.sub("`[^`\n]*`", "", re.sub(r"\\`", "", page)))


def parts(text):
    """Where Markdown begins something: headings, list items, rows of tables with their cells."""
    starts = (re.match(r"(#+|  -|-|\||)", line)[0] for line in text.splitlines())
    pipes = (len(re.findall(r"(?<!\\)\|", line)) for line in text.splitlines())
    return [(start, count if start == "|" else 0) for start, count in zip(starts, pipes, strict=True)]


@pytest.mark.parametrize("text", [WILD, "1. a", "- a", "=====", "    code"])
@pytest.mark.parametrize(
    "page", [lambda: run_markdown(run_view()), lambda: comparison_markdown(comparison_view())]
)
def test_hostile_texts_change_nothing_of_the_page(page, text, monkeypatch):
    use_texts(monkeypatch, "tame")
    tame = page()
    use_texts(monkeypatch, text)
    wild = page()
    assert parts(tame) == parts(wild)
    assert "<script" not in markup(wild)
    assert not set(wild) & set("\x00\x1b\u202e\ud800")
    wild.encode("utf-8")


@given(st.text())
def test_no_text_breaks_its_line(text):
    page = page_of(sample(0, id=text or "x", response=f"x{text}"))
    assert len(page.splitlines()) == len(page_of(sample(0)).splitlines())


def test_a_comparison_has_all_its_numbers(monkeypatch):
    use_texts(monkeypatch, "x")
    page = comparison_markdown(comparison_view())
    for text in (
        "# before x → after\n",
        "- base: before x (`01J00000000000000000000000`), data data x.jsonl\n",
        "- 120 pairs of rows\n- Rows only in before, left out: 1\n- Rows only in after, left out: 2\n",
        "- Metrics only in before: \\<b\\>\n",
        "| bleu | 40.00 % | 50.00 % | +10.00 pp | [5.00, 15.00] | \\< 0.0001 | \\< 0.0001 |",
        " | 2.00 pp | 120 | better |",
        "| x | – | – | – | – |",
        "| bleu | 3 | 9 | 0.1000 | exact binomial |",
        "| x | failed | ok | 120 |",
        "- `row-1`: bleu +80.00 pp\n  - question: Question 1? x\n  - before: No.\n  - after: ",
        "\n- x\n",
        "- base: `one`\n- new: `two`\n",
    ):
        assert text in page, text


def test_equal_signatures_stand_once_and_no_metric_is_told():
    view = comparison_view(())
    same = replace(view.comparison, new_signature="one", metrics=())
    page = comparison_markdown(replace(view, comparison=same, notes=()))
    assert page.count("`one`") == 1
    assert "No metric can be compared." in page
    assert "changed most" not in page


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
