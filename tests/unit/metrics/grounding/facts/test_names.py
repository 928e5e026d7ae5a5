from __future__ import annotations

import pytest

from sgi.metrics.grounding.facts.name_support import name_support
from sgi.metrics.grounding.facts.names import names, tells_names


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He met Millard Fillmore.", ["Millard Fillmore"]),
        ("books by J. K. Rowling and Dr. O'Neil", ["J. K. Rowling", "Dr. O'Neil"]),
        ("NASA and the U.S. Army on Windows 7", ["NASA", "U.S. Army", "Windows 7"]),
        ("However, Paris is nice. The Beatles sang.", ["Paris", "Beatles"]),
        ("Elements are fine. Bake it. NOTE: do NOT go.", []),
        ('I read "The Great Gatsby" in May on Monday.', ["The Great Gatsby"]),
        ("он жил в Санкт-Петербурге", ["Санкт-Петербурге"]),
        ("HE MET ADA TODAY", ["ADA"]),
        ("THE FILM IS BY JAMES CAMERON.", ["JAMES CAMERON"]),
        ("He fought in World War One.", ["World War One"]),
    ],
)
def test_names_are_read(text, expected):
    assert [name.text for name in names(text)] == expected


@pytest.mark.parametrize(
    "text",
    [
        "他见了艾达",
        "قابل آدا",
        "All The Words Of This Line Are In Title Case",
        "",
    ],
)
def test_a_text_whose_capitals_tell_nothing_has_none(text):
    assert not tells_names(text)
    assert names(text) == ()


@pytest.mark.parametrize(
    ("claim", "passage", "supported"),
    [
        ("Fillmore", "Millard Fillmore", True),
        ("Millard Fillmore", "FILLMORE, Millard, of New York", True),
        ("Millard Fillmore", "by Fillmore", False),
        ("John Fillmore", "by Millard Fillmore, and John ran", False),
        ("J. Rowling", "by Joanne Rowling", True),
        ("K. Rowling", "by Joanne Rowling", False),
        ("NASA", "the National Aeronautics and Space Administration", True),
        ("World Health Organization", "the WHO said", True),
        ("MRI", "magnetic fields in imaging", False),
        ("Bela Bartok", "Béla Bartók's", True),
        ("Italian", "in Italy", True),
        ("Ada", "Canada", False),
    ],
)
def test_a_name_is_borne_out(claim, passage, supported):
    (name,) = names(f"it was {claim} there")

    assert (name_support(name, passage) is not None) is supported


def test_long_texts_are_read_to_their_end():
    openers = "".join(f"Zork{number} hid. " for number in range(9000))

    assert names("zork ran. " * 10_000 + "Zork ran. " * 10_000) == ()
    assert len(names(openers + "It was Zork.")) == 9001


def test_a_text_in_small_letters_has_places_and_first_names():
    text = "ada, will and james labrie met dr watson in los angeles, paris and china's turkey; mark ended."
    assert [name.text for name in names(text)] == ["ada", "james labrie", "dr watson", "paris"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HE said that, and NOT she; the WHO said it.", ["WHO"]),
        ('He wrote "I cannot answer this" and "I Am Legend".', ["I Am Legend"]),
        ("It was World War I before Queen Anne I ruled.", ["World War I", "Queen Anne I"]),
        ("Employees of the European Commission left.", ["European Commission"]),
        ("Moderna, Merck and Pfizer fell.", ["Moderna", "Merck", "Pfizer"]),
        ("It is so in Document 2 and in Paragraph 3.", []),
    ],
)
def test_words_that_only_look_like_names_are_left_out(text, expected):
    assert [name.text for name in names(text)] == expected
