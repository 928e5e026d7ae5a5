"""Numbers in texts: positions, values, and other numbers of the same form."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

NUMBER = re.compile(r"(?<![\w.,/:–-])\d{1,12}(?:,\d{3})*(?:\.\d{1,6})?(?![\w/:–]|[.,]\d)", re.ASCII)
"""A number that is not part of a word, a fraction, a time or a version."""
YEAR = re.compile(r"(?<![\w.,/$€£-])(?:1[0-9]{3}|20[0-9]{2})(?![\w/]|[.,]\d)", re.ASCII)
"""Four digits that can be a year."""
WORDS = (
    *("zero", "one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)
"""The numbers from 0 to 12 as words."""

_ANY = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?", re.ASCII)
_SPELT = re.compile(rf"\b({'|'.join(WORDS)})\b", re.IGNORECASE)
_TRIES = 60


def values_of(texts: Iterable[str]) -> frozenset[str]:
    """Return the numbers in texts as normalised digits, with words up to twelve; see `plain`.

    >>> sorted(values_of(["1,500.0 people in three towns", "item 7b"]))
    ['1500', '3', '7']
    """
    values: set[str] = set()
    for text in texts:
        values.update(map(plain, _ANY.findall(text)))
        values.update(str(WORDS.index(word.lower())) for word in _SPELT.findall(text))
    return frozenset(values)


def plain(number: str) -> str:
    """Normalise a number: remove commas and leading and trailing zeros.

    >>> plain("1,500.50"), plain("007")
    ('1500.5', '7')
    """
    whole, _, rest = number.replace(",", "").partition(".")
    rest = rest.rstrip("0")
    return (whole.lstrip("0") or "0") + (f".{rest}" if rest else "")


def another(number: str, known: frozenset[str], draw: Random) -> str | None:
    """Return a random number with the same digits before and after the point, not in ``known``, or None.

    >>> from random import Random
    >>> another("1,500.5", frozenset({"1500.5"}), Random(0))
    '6,604.8'
    """
    for _ in range(_TRIES):
        digits = "".join(str(draw.randrange(10)) if sign.isdigit() else sign for sign in number)
        if number[0] != "0" and digits[0] == "0":
            digits = str(draw.randrange(1, 10)) + digits[1:]
        if plain(digits) not in known and plain(digits) != plain(number):
            return digits
    return None
