from __future__ import annotations

import pytest

from sgi.metrics.grounding.facts.date_support import date_support
from sgi.metrics.grounding.facts.dates import dates


@pytest.mark.parametrize(
    ("text", "year", "month", "day"),
    [
        ("July 4, 1776", 1776, 7, 4),
        ("4 July 1776", 1776, 7, 4),
        ("1776-07-04", 1776, 7, 4),
        ("25.12.2001", 2001, 12, 25),
        ("in May", None, 5, None),
        ("300 BC", -300, None, None),
    ],
)
def test_a_date_is_read(text, year, month, day):
    (date,) = dates(text)

    assert (date.year, date.month, date.day) == (year, month, day)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [("1990s", 1990, 1999), ("19th century", 1800, 1900), ("the fifth century BC", -500, -401)],
)
def test_a_decade_or_century_spans_years(text, first, last):
    (date,) = dates(text)

    assert (date.year, date.last_year) == (first, last)


@pytest.mark.parametrize(
    ("text", "minute"), [("5 p.m.", 1020), ("14:30", 870), ("12 am", 0), ("10:15 AM", 615), ("at 24:00", 0)]
)
def test_a_time_of_day_is_read(text, minute):
    (date,) = dates(text)

    assert date.minute == minute


@pytest.mark.parametrize(
    "text", ["he may march", "2000 mg", "1500 calories", "1234.5", "13/13/2001", "25:61", "3:1", ""]
)
def test_what_looks_like_a_date_is_none(text):
    assert dates(text) == ()


@pytest.mark.parametrize(
    ("claim", "passage", "supported"),
    [
        ("07/04/1776", "7 April 1776", True),
        ("07/04/1776", "July 5, 1776", False),
        ("July 4, 1776", "in 1776", False),
        ("July 4, 1776", "In 1776, on July 4, they signed", True),
        ("the 1990s", "in 1994", True),
        ("the 19th century", "the 1850s", True),
        ("5 pm", "at 17:00", True),
        ("5 pm", "at 5 am", False),
        ("on Monday", "on Mondays", True),
    ],
)
def test_a_date_is_borne_out_by_one_at_least_as_exact(claim, passage, supported):
    (date,) = dates(claim)

    assert (date_support(date, passage) is not None) is supported
