from __future__ import annotations

import pytest

from sgi.metrics.grounding.facts.derived_support import derived_support
from sgi.metrics.grounding.facts.extract import numbers_of
from sgi.metrics.grounding.facts.number_support import number_support


def quantity(text):
    return numbers_of(text).quantities[0]


@pytest.mark.parametrize(
    ("passage", "expected"),
    [
        ("The types are red, green and blue.", "The types are red, green and blue"),
        ("Three types; types red, green\nor blue", "types red, green\nor blue"),
        ("Of types,, as types a, b and c, e", "as types a, b and c"),
        ("The types are red, green, blue.", None),
        ("The types are red,, green and blue.", None),
    ],
)
def test_a_list_has_commas_and_a_conjunction_before_its_last_item(passage, expected):
    claim = "There are three types."
    support = derived_support(claim, quantity(claim), passage)

    assert (support.text if support else None) == expected


@pytest.mark.parametrize(
    ("claim", "passage", "how"),
    [
        ("Together 5 kg.", "1 kg, 3 kg, 4 kg, 2 kg, 1 kg", "1 kg + 4 kg"),
        ("It is 2 kg more.", "1 kg, 9 kg, 3 kg, 7 kg", "3 kg - 1 kg"),
        ("In total 1 cup.", "\u2153 cup and \u2154 cup", "\u2153 cup + \u2154 cup"),
        ("It took 4 years.", "From 1914, in 1916. From 1918, in 1922, in 1926.", "1922 - 1918"),
    ],
)
def test_of_several_pairs_the_first_is_named(claim, passage, how):
    assert derived_support(claim, quantity(claim), passage).how == how


@pytest.mark.parametrize(
    ("passage", "how"),
    [
        ("9 kg, 8 kg, 7 kg, 9 kg", "9 kg and 7 kg"),
        ("9 kg. 7 kg", None),
        ("7 kg, 9 m", None),
    ],
)
def test_a_range_has_both_ends_in_one_clause(passage, how):
    claim = "It weighs 7 to 9 kg."
    support = number_support(claim, quantity(claim), passage)

    assert (support.how if support else None) == how


@pytest.mark.parametrize(
    ("claim", "passage_numbers"),
    [
        # A tenth of the number.
        ("about 200 kg", ("180 kg", "181 kg", "219 kg", "220 kg")),
        ("about 25 kg", ("22.5 kg", "27.5 kg")),
        ("about 2 km", ("1,800 m", "2,200 m")),
        # Half of the last digit that is not a zero, if that is less.
        ("about 7 kg", ("6.5 kg", "7.5 kg")),
        ("about 213 kg", ("212.5 kg", "213.5 kg")),
    ],
)
def test_about_allows_so_much(claim, passage_numbers):
    assert {number_support(claim, quantity(claim), f"It was {text}.").how for text in passage_numbers} <= {
        "rounded",
        "converted",
    }


@pytest.mark.parametrize(
    ("claim", "passage_numbers"),
    [
        ("about 200 kg", ("179 kg", "221 kg")),
        ("about 25 kg", ("22.4 kg", "27.6 kg")),
        ("about 2 km", ("1,799 m", "2,201 m")),
        ("about 7 kg", ("6.4 kg", "7.6 kg")),
        ("about 213 kg", ("212.4 kg", "213.6 kg")),
        ("200 kg", ("199 kg", "201 kg")),
    ],
)
def test_about_allows_no_more(claim, passage_numbers):
    assert {number_support(claim, quantity(claim), f"It was {text}.") for text in passage_numbers} == {None}
