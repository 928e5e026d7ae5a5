from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgi.reporting.formatting import shorten
from sgi.reporting.html import TEXT_BUDGET, comparison_report, fit_to_budget, run_report
from sgi.reporting.html_page import content_hash
from sgi.reporting.views.comparison import ChangedSample
from sgi.reporting.views.comparison import comparison_view as view_of
from sgi.reporting.views.evidence_view import MAX_CHECKS, MAX_SENTENCES, MAX_UNUSED, SIGNAL_MEANINGS
from sgi.reporting.views.row_view import LowestRows
from sgi.reporting.views.run_view import RunView
from sgi.store.database import open_database
from sgi.store.row_query import RowQuery
from sgi.store.row_query import row_page as page_of
from sgi.store.run_queries import find_run
from support.evidence_maps import CONTEXTS, RESPONSE, TALL, details, fact, hostile_details, sentence
from support.kept_runs import rows, store_run
from support.views import (
    HOSTILE,
    HOSTILE_ID,
    METRICS,
    bare_view,
    comparison_view,
    head,
    row_page,
    run_view,
    sample,
    score,
)

if TYPE_CHECKING:
    from pathlib import Path

_VOID = {"meta", "br", "input", "link", "img", "hr"}
_MEGA = 1_000_000


class _Page(HTMLParser):
    """Elements as a browser reads them: what runs, what it is allowed, and whether every element ends."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.scripts: list[str] = []
        self.blocks: dict[str, Any] = {}
        self.styles: list[str] = []
        self.headings: list[str] = []
        self.ids: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self._block: str | None = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        given = dict(attrs)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        self.ids += [given["id"]] if "id" in given else []
        self._block = given.get("id") if given.get("type") == "application/json" else None
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        inside = self.open[-1] if self.open else ""
        if inside == "script" and self._block:
            self.blocks[self._block] = json.loads(data)
        elif inside == "script":
            self.scripts.append(data)
        elif inside == "style":
            self.styles.append(data)
        elif inside == "h2":
            self.headings.append(data)


@pytest.fixture(scope="module")
def report() -> str:
    return run_report(run_view(), row_page(), export=None)


@pytest.fixture(scope="module")
def page(report: str) -> _Page:
    return _Page(report)


def test_every_element_ends_and_no_id_stands_twice(page: _Page) -> None:
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))


def test_only_our_scripts_and_style_are_there_and_the_policy_names_each(page: _Page) -> None:
    policy = next(value for tag, name, value in page.attributes if tag == "meta" and "default-src" in value)
    assert len(page.scripts) == 5
    assert len(page.styles) == 1
    assert re.findall(r"'sha256-[^']+'", policy) == [
        content_hash(text) for text in (*page.scripts, *page.styles)
    ]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_the_page_has_no_handler_no_style_and_no_address_outside(page: _Page) -> None:
    for tag, name, value in page.attributes:
        assert not name.startswith("on")
        assert name not in {"style", "src", "action", "formaction", "srcset"}
        if name == "href":
            assert tag == "a"
            assert value.startswith("#")


def test_sections_stand_in_their_order(page: _Page) -> None:
    assert page.headings == [
        "Rows to check first",
        "Summary",
        "Distributions",
        "Angle plane",
        "Groups",
        "Agreement between metrics",
        "All rows",
        "Metrics against labels",
        "Means, corrected by an audit",
        "Rows without a value",
        "Judge usage and cost",
        "Row",
        "Provenance",
    ]


def test_contents_lead_to_what_is_there(page: _Page) -> None:
    targets = {value[1:] for tag, name, value in page.attributes if tag == "a" and name == "href"}
    assert targets <= set(page.ids)


def test_hostile_texts_are_shown_and_nothing_of_them_is_markup(report: str) -> None:
    shown = report.split("</style>", 1)[1].split('<script type="application/json"', 1)[0]
    assert "<script" not in shown
    assert "<img" not in shown
    assert "{{ 7*7 }}" in shown
    assert "]]&gt;" in shown
    assert not {"\x00", "\x07", "\u202e", "\u2066", "\ud800"} & set(report)


def test_rows_come_as_columns(page: _Page) -> None:
    found = page.blocks["data-rows"]
    assert found["metrics"] == list(METRICS)
    assert found["positions"] == list(range(120))
    assert found["ids"][2] == HOSTILE_ID.replace("\u202e", "\N{REPLACEMENT CHARACTER}")
    assert found["labels"][:2] == [1, 0]
    assert found["labels"][9] is None
    judged = found["columns"][2]
    assert judged["values"][:3] == [1.0, None, None]
    status, reason = judged["lacking"]["1"]
    assert status == "failed"
    assert found["reasons"][reason].startswith("</script>")
    assert found["detailed"] == [0, 1, 2, 3]


def test_the_first_rows_are_there_without_scripts(report: str) -> None:
    table = report.split('id="rows-table"', 1)[1].split("</table>", 1)[0]
    assert table.count("<tr>") == 51
    assert "120 of 120 rows are in this file" in report


def test_rows_beyond_the_file_are_told_of_with_where_they_are() -> None:
    source = run_report(bare_view(), row_page(10, of=50_000), export='all "rows".jsonl')
    assert "10 of 50,000 rows are in this file" in source
    assert '<a href="all &#34;rows&#34;.jsonl">' in source
    command = run_report(bare_view(), row_page(10, of=50_000), export=None)
    assert "sgi runs export 01J00000000000000000000000" in command


def test_a_row_is_told_once_and_linked_to_after_that(report: str) -> None:
    assert report.count('<details class="row" id="row-1">') == 1
    assert report.count('href="#row-1"') == 2


def test_what_is_not_known_has_no_section() -> None:
    page = _Page(run_report(bare_view(), row_page(0), export=None))
    assert page.headings == ["Summary", "All rows", "Row", "Provenance"]
    assert len(page.scripts) == 4  # no chart, so nothing that draws


@pytest.mark.parametrize("part", ["plane", "correlation", "scatter", "disagreement"])
def test_each_part_can_be_missing(part: str) -> None:
    page = _Page(run_report(run_view(**{part: None}), row_page(3), export=None))
    assert ("Angle plane" in page.headings) == (part != "plane")
    assert "Agreement between metrics" in page.headings


def test_a_stopped_run_says_why() -> None:
    source = run_report(
        run_view(record=head(stopped=f"out of money {HOSTILE}", scored=5, finished_at=None)),
        row_page(3),
        export=None,
    )
    assert "out of money &lt;/script&gt;" in source
    assert "5 of 120" in source


def test_a_megabyte_of_response_is_cut_and_says_so() -> None:
    long = [sample(at, response="x" * _MEGA) for at in range(8)]
    source = run_report(
        run_view(worst=(LowestRows("sgi", higher_is_better=True, samples=tuple(long)),)),
        row_page(3),
        export=None,
    )
    assert len(source.encode()) < 6 * _MEGA
    assert " characters)" in source


def test_the_table_of_many_long_rows_keeps_its_size() -> None:
    source = run_report(bare_view(), row_page(10_000, response="word " * 100), export=None)
    assert len(source.encode()) < 7 * _MEGA


@given(st.lists(st.text(max_size=400), max_size=4), st.integers(200, 2000))
@settings(max_examples=25)
def test_fitted_rows_keep_to_the_budget_or_to_the_least_length(texts: list[str], budget: int) -> None:
    fitted_rows = fit_to_budget([sample(at, response=text) for at, text in enumerate(texts)], budget=budget)
    for text, row in zip(texts, fitted_rows, strict=True):
        assert row.response in {text, shorten(text, 200)}


def test_endless_details_are_cut_too() -> None:
    deep: Any = "end"
    for _ in range(100):
        deep = [deep]
    details = {"many": list(range(10_000)), "deep": deep, "x" * 1000: "y" * TEXT_BUDGET}
    (row,) = fit_to_budget([sample(0, contexts=("c",) * 1000, scores={"m": score(1.0, details=details)})])
    assert len(row.contexts) == 201
    assert "800 more" in row.contexts[-1]
    made = dict(row.scores["m"].details)
    assert len(made["many"]) == 201
    assert len(json.dumps(made)) < TEXT_BUDGET


def test_the_comparison_has_both_answers_and_both_headlines() -> None:
    text = comparison_report(comparison_view(), run_view().headline, run_view(3).headline)
    page = _Page(text)
    assert page.open == []
    assert page.headings == ["Runs", "Differences", "Changed rows", "Notes", "Summaries", "Provenance"]
    assert "+10.00 pp" in text
    assert "&lt; 0.0001" in text
    assert "McNemar" in text
    assert "Rows only in before, left out: 1" in text
    assert "<script>window" not in text
    assert list(page.blocks["data-charts"]) == ["differences"]


def test_a_changed_row_without_an_answer_says_why() -> None:
    silent = sample(1, response="", reason=f"timed out {HOSTILE}")
    changed = (ChangedSample("bleu", -0.5, sample(1), silent),)
    assert "No response: timed out &lt;" in comparison_report(
        comparison_view(changed), run_view().headline, run_view().headline
    )


def test_equal_views_make_equal_files(report: str) -> None:
    assert run_report(run_view(), row_page(), export=None) == report


def test_reports_of_real_runs(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'sgi.db'}"
    store_run(database, tmp_path, rows(24), name="first")
    store_run(database, tmp_path, rows(24, answer="There are {k} {topic}."), name="second")
    with open_database(database, create=False) as opened:
        first, second = find_run(opened, "first"), find_run(opened, "second")
        views = RunView(opened, first), RunView(opened, second)
        source = run_report(views[0], page_of(opened, first, RowQuery(size=10_000)), export=None)
        compared = comparison_report(view_of(opened, first, second), *(view.headline for view in views))
    page = _Page(source)
    assert "Angle plane" in page.headings
    assert len(page.blocks["data-rows"]["ids"]) == 24
    assert {"plane", "correlation", "distribution-0"} <= set(page.blocks["data-charts"])
    assert "used for the score" in source
    assert "There are 1 rivers." in compared
    assert _Page(compared).open == []


def _with_evidence(body: dict[str, Any]) -> str:
    row = sample(1, contexts=CONTEXTS, response=RESPONSE, scores={"grounding": score(0.01, details=body)})
    worst = LowestRows("grounding", higher_is_better=True, samples=(row,))
    return run_report(bare_view(worst=(worst,)), row_page(0), export=None)


def test_a_row_of_grounding_shows_what_is_unsupported_and_why() -> None:
    source = _with_evidence(details())
    assert "Sentence 1 of 3 is contradicted. Sentence 2 of 3 is unsupported." in source
    reason = "passage 3 has 330 m (other value)"
    why = f'title="{reason}">312 m<span class="unseen"> ({reason}) </span></mark>'
    assert f'It is <mark class="contradicted" {why}' in source
    assert '<mark class="absent" title="in no passage">sold to Spanish investors<' in source
    assert '<q>…the river that the city has its name of. The tower is <mark class="stated">330 m<' in source
    assert "passage 1: <span" in source
    assert "numbers -2.08, known +0.25" in source
    assert "log_odds" not in source.split("<script", 1)[0]
    assert _Page(source).open == []


def test_a_map_that_cannot_be_read_is_shown_as_it_is_kept() -> None:
    source = _with_evidence(details() | {"unused": "none"}).split("<script", 1)[0]
    assert "log_odds" in source
    assert "support score" not in source


def test_a_hostile_evidence_map_is_shown_as_text() -> None:
    source = _with_evidence(hostile_details(HOSTILE))
    page = _Page(source)
    assert page.open == []
    assert "Sentence 1 of 1 is contradicted." in source
    shown = source.split("</style>", 1)[1].split('<script type="application/json"', 1)[0]
    assert "<script" not in shown
    assert "<img" not in shown
    assert not {"\x00", "\x07", "\u202e", "\u2066", "\ud800"} & set(source)
    assert not [name for _, name, _ in page.attributes if name.startswith("on") or name == "style"]


def test_a_map_of_a_megabyte_is_cut_with_the_rest_of_its_row() -> None:
    source = _with_evidence(hostile_details("x " * (2 * _MEGA)))
    assert len(source.encode()) < 6 * _MEGA
    assert " characters)" in source


def test_an_unsupported_sentence_without_a_mark_says_why() -> None:
    weak = sentence(TALL, score=0.3, contributions={"known": -1.0, "copied": -0.5})
    source = _with_evidence(details(sentences=(weak,)))
    assert f'<p class="faint">Why: {SIGNAL_MEANINGS["known"]}; {SIGNAL_MEANINGS["copied"]}.</p>' in source
    assert "Why:" not in _with_evidence(details())


@pytest.mark.parametrize(
    ("verdict", "start", "words"),
    [
        ("contradicted", '<li class="unsupported"', "Contradicted"),
        ("unsupported", '<li class="unsupported"', "Unsupported"),
        ("partly", '<li class="partly"', "Partly supported"),
        ("supported", "<li", "Supported"),
    ],
)
def test_each_verdict_on_a_sentence_is_named(verdict: str, start: str, words: str) -> None:
    page = _with_evidence(details(sentences=(sentence(TALL, verdict=verdict),)))
    assert re.search(
        rf'{start} data-passage="\d" data-sentence="\d" tabindex="0">\n<p class="text" dir="auto">It is 312',
        page,
    )
    assert f'<strong class="verdict">{words}</strong>, support score <span class="value">0.99</span>' in page


def test_a_map_that_is_too_large_shows_its_first_part_and_says_so() -> None:
    n = 150
    full = sentence(TALL, passage=0, checks=(fact("Spanish"),) * n)
    body = details(
        sentences=(full, *[sentence(TALL)] * (n - 1)), passages=tuple(range(n)), unused=tuple(range(n))
    )
    source = _with_evidence(body).split("<script", 1)[0]
    first = f"the first {MAX_SENTENCES} of {n} sentences"
    assert f'<p class="strong">Only {first} are shown.</p>' in source
    assert f"<li>and {n - MAX_UNUSED} more passages</li>" in source
    assert source.count(f"<li>and {n - MAX_CHECKS} more facts</li>") == 1
    assert "log_odds" not in source
