from __future__ import annotations

from decimal import Decimal

import pytest

from sgi.metrics.grounding.facts.fact import Bound
from sgi.metrics.grounding.facts.quantities import quantities


@pytest.mark.parametrize(
    ("text", "number", "unit"),
    [
        ("1,234 people", "1234", ""),
        ("-5 °C", "-5", "°C"),
        ("1½ lbs", "1.5", "pound"),
        ("1 1/2 cups", "1.5", "cup"),
        ("two hundred and fifty thousand", "250000", ""),
        ("half an hour", "0.5", "hour"),
        ("three quarters", "0.75", "share"),
        ("two-thirds of women", "0.6666666666666666666666666667", "share"),
        ("3.5bn", "3500000000", ""),
        ("10k runners", "10000", ""),
        ("5 per cent", "5", "percent"),
        ("12 percentage points", "12", "percent"),
        ("the thirteenth", "13", "ordinal"),
        ("60 miles per hour", "60", "mph"),
        ("120 square feet", "120", "foot²"),
        ('a 4" pipe', "4", "inch"),
        ("1 hour 30 minutes", "1.5", "hour"),
        ("350 degrees Fahrenheit", "350", "°F"),
        ("１２ kg", "12", "kg"),
    ],
)
def test_a_number_is_read_with_its_unit(text, number, unit):
    (quantity,) = quantities(text)

    assert (quantity.low, quantity.high, quantity.unit) == (Decimal(number), Decimal(number), unit)


@pytest.mark.parametrize(
    ("text", "low", "high", "unit"),
    [
        ("10-15 minutes", 10, 15, "minute"),
        ("between 5 and 8 hours", 5, 8, "hour"),
        ("2 or 3 days", 2, 3, "day"),
        ("$5 million to $10 million", 5_000_000, 10_000_000, "usd"),
        ("325-350°F", 325, 350, "°F"),
    ],
)
def test_a_range_is_one_quantity(text, low, high, unit):
    (quantity,) = quantities(text)

    assert (quantity.low, quantity.high, quantity.unit, quantity.is_range) == (low, high, unit, True)


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("about 5 kg", Bound.ABOUT),
        ("at least 5 kg", Bound.LEAST),
        ("50+ people", Bound.LEAST),
        ("up to 5 kg", Bound.MOST),
        ("of 5 kg", Bound.EXACT),
    ],
)
def test_a_bound_is_read(text, bound):
    (quantity,) = quantities(text)

    assert quantity.bound is bound


@pytest.mark.parametrize(
    "text",
    [
        "COVID-19 and B12",
        "passage 1, passages 2, 3 and 4",
        "(Passage 1:4) [1] [2, 3] #5",
        "1. Mix\n2) Stir\n- 3. Bake",
        "call 555-1234 or 1-800-555-1234",
        "version 1.2.3",
        "one of the best",
        "9" * 30,
    ],
)
def test_what_names_something_is_no_quantity(text):
    assert quantities(text) == ()


def test_the_counted_thing_and_the_precision_are_kept():
    first, second = quantities("3.10 million old cities and 3 of the rivers")

    assert (first.nouns, first.step) == (("old", "city"), Decimal(10_000))
    assert (second.nouns, second.step) == (("river",), 1)


def test_two_sizes_share_their_unit():
    assert [(quantity.low, quantity.unit) for quantity in quantities("6 by 8 feet")] == [
        (6, "foot"),
        (8, "foot"),
    ]
