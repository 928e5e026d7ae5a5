"""Latency, tokens and cost are plain decimals with their unit, whatever their size and sign."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sgi.analysis.amounts import format_amount, format_beside, format_exactly

units = st.sampled_from(["ms", "tokens", "$"])
sizes = st.floats(0, 1e15) | st.floats(-12, 3).map(lambda power: 10**power)
SHAPE = re.compile(r"[-+]?(\$?)([0-9]{1,3}(?:,[0-9]{3})*(?:\.[0-9]+)?)(?: (ms|tokens))?")


def number_of(text):
    return float(SHAPE.fullmatch(text)[2].replace(",", ""))


@given(sizes, units)
@example(12_034.0, "ms")
@example(1e6, "tokens")
@example(0.000015, "$")
@example(12_345.0, "$")
@example(0.99996, "ms")
@example(99.96, "ms")
def test_the_text_is_a_plain_decimal_with_the_unit_that_reads_back(size, unit):
    text = format_amount(size, unit)
    shape = SHAPE.fullmatch(text)
    assert shape is not None, text
    assert (shape[1] or shape[3]) == unit
    step = {"$": 0.01}.get(unit, 0.1 if size < 100 else 1) if size >= 1 else size / 100
    assert number_of(text) == pytest.approx(size, abs=0.501 * step + 1e-12, rel=1e-15)


@given(sizes, units)
def test_only_the_sign_differs_between_a_number_and_its_negative(size, unit):
    text = format_amount(size, unit)
    assert format_amount(size, unit, sign="+") == f"+{text}"
    negative = f"-{text}" if number_of(text) else text
    assert format_amount(-size, unit) == negative


@given(st.floats(1e-11, 1) | st.floats(-1, -1e-11), units)
def test_a_small_number_is_not_displayed_as_zero(value, unit):
    text = format_amount(value, unit, sign="+")
    assert number_of(text) > 0
    assert (text[0] == "-") == (value < 0)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.000015, "$", "+$0.000015"),
        (0.00213456, "$", "+$0.00213"),
        (12_345.0, "$", "+$12,345.00"),
        (-0.1, "$", "-$0.10"),
        (-0.04, "ms", "-0.04 ms"),
        (-50.26, "ms", "-50.3 ms"),
        (-1234.6, "tokens", "-1,235 tokens"),
        (-1e-14, "ms", "+0 ms"),
        (None, "ms", "unknown"),
    ],
)
def test_examples(value, unit, text):
    assert format_amount(value, unit, sign="+") == text


values = st.floats(-1e12, 1e12) | st.floats(-1, 1)
any_unit = st.sampled_from(["ms", "tokens", "$", "", "score"])


@given(values, values, any_unit)
@example(2000.04, 2000.0, "ms")
@example(0.79999, 0.8, "")
@example(1e-14, 0.0, "$")
def test_a_number_is_displayed_on_its_own_side_of_the_limit(value, limit, unit):
    text, beside = format_exactly(limit, unit), format_beside(value, limit, unit)
    number, other = (float(re.sub("[^-.0-9]", "", part)) for part in (beside, text))
    assert other == limit
    assert (number < other, number > other) == (value < limit, value > limit)
    assert "e" not in (beside + text).replace("tokens", "").replace("score", "")


@given(st.floats(0, 1e12), st.floats(1e-9, 1e-3), units)
def test_a_number_near_the_limit_is_never_displayed_as_the_limit(limit, step, unit):
    if limit + step != limit:
        assert format_beside(limit + step, limit, unit) != format_exactly(limit, unit)
