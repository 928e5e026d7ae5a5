"""Words and numbers as pages and commands write them."""

from __future__ import annotations

import pytest

import sgi
from sgi.analysis.compare import compare
from sgi.cli.printed_tables import changed_table
from sgi.engine.summary import MetricSummary
from sgi.kernel.metric import Status
from sgi.reporting.descriptions import middle_line
from sgi.reporting.formatting import (
    calibration_hint,
    format_class,
    format_interval,
    format_mean,
    number,
    span,
)
from sgi.reporting.safe_text import STEERING, code, plain
from sgi.reporting.tables import comparison_tables, refusal_tables
from sgi.reporting.views.headline import refusal_views
from sgi.stats.intervals import Interval
from support.scored_runs import column, run

SEEN = "a\t\n é東👩\u200d"


def made(**parts):
    counts = dict.fromkeys(Status, 0) | {Status.OK: 4}
    return MetricSummary("m", 0.25, Interval(0.2, 0.3, 0.95, "t"), 0.1, counts, None, **parts)


def test_what_steers_is_the_same_for_pages_and_commands():
    for point in range(0x3000):
        steers = plain(chr(point)) == "\N{REPLACEMENT CHARACTER}"
        assert steers == (point in STEERING and point != 13), hex(point)
    assert SEEN.translate(STEERING) == plain(SEEN) == SEEN
    assert plain("\ud800\uffff") == "\N{REPLACEMENT CHARACTER}" * 2


@pytest.mark.parametrize(
    ("parts", "percent", "expected"),
    [
        ({"is_share": True}, True, ("25.00 %", "[20.00, 30.00]")),
        ({"is_share": True}, False, ("0.2500", "[0.2000, 0.3000]")),
        ({"is_percentage": True}, False, ("0.25 %", "[0.20, 0.30]")),
        ({"total": 1.0}, True, ("1", "[0.8, 1.2]")),
    ],
)
def test_a_share_is_percent_unless_told(parts, percent, expected):
    found = made(**parts)
    assert (format_mean(found, percent=percent), format_interval(found, percent=percent)) == expected


def test_numbers_intervals_and_classes():
    assert (number(0.25), number(None), number(0.25, sign="+")) == ("0.2500", "–", "+0.2500")
    interval = Interval(0.1, 0.2, 0.95, "t")
    assert (span(interval), span(interval, is_share=True), span(None)) == (
        "[0.1000, 0.2000]",
        "[10.00, 20.00]",
        "–",
    )
    grades = made(classes={"A": 3, "B": 1})
    assert (format_class(grades, "A"), format_class(grades, "E")) == ("3 (75.0 %)", "0")


def test_names_in_commands_and_code():
    assert calibration_hint("g(x)").endswith("sgi judge calibrate RUN -m 'g(x)'")
    assert (code("halueval_qa.jsonl"), code("a`b\x00")) == (
        "`halueval_qa.jsonl`",
        "`a'b\ufffd`",
    )
    assert (middle_line("sgi(epsilon=0.001)"), middle_line("bleu")) == (1.0, None)


REFUSES, ANSWERS = "I don't know.", "In Rome."
ROWS = [
    {"id": str(number), "question": f"Question {number}?", "response": response, "answerable": answerable}
    for number, (response, answerable) in enumerate(
        [(REFUSES, True), *[(ANSWERS, True)] * 3, *[(REFUSES, False)] * 4, (ANSWERS, False)]
    )
]


@pytest.mark.parametrize("second", ["correct_refusal", "answered_unanswerable"])
def test_the_table_counts_refusals_and_answers_by_answerability(second):
    (view,) = refusal_views(sgi.evaluate(ROWS, ["needless_refusal", second]).summary().metrics)
    cells = [(part.refused, part.answered, part.share) for part in (view.answerable, view.unanswerable)]
    assert cells == [(1, 3, 0.25), (4, 1, pytest.approx(0.8))]
    part = view.unanswerable
    assert part.interval.low < 0.8 < part.interval.high
    assert part.answered_interval.low == pytest.approx(1 - part.interval.high)


def test_without_both_kinds_of_questions_there_is_no_table():
    assert refusal_tables(sgi.evaluate(ROWS, ["needless_refusal", "refusal"]).summary().metrics) == []


def test_questions_of_a_kind_may_be_absent():
    summary = sgi.evaluate(ROWS[:4], ["needless_refusal", "correct_refusal"]).summary()
    (table,) = refusal_tables(summary.metrics)
    assert table.rows[0][1:3] == ("1", "25.00 %")
    assert table.rows[1] == ("not answerable", "0", "–", "–", "0", "–", "–")


def test_differences_and_changed_rows_have_the_unit():
    base, new = (
        run(
            column("latency", [more + 1000.0 + k for k in range(20)], high=None, higher_is_better=False),
            column("cost", [0.00002 + more / 1e8] * 20, high=None, higher_is_better=False),
            name=name,
        )
        for name, more in (("old", 0), ("new", 250))
    )
    comparison = compare(base, new, changed=1)
    table = comparison_tables(comparison, ())[0].markdown()
    for text in ("1,010 ms", "1,260 ms", "+250 ms", "$0.00002 ", "$0.0000225", "+$0.0000025"):
        assert text in table
    assert "+250 ms" in changed_table(comparison, ()).markdown()
