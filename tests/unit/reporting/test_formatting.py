"""Words and numbers as pages and commands write them."""

from __future__ import annotations

import pytest

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
from sgi.stats.intervals import Interval

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
