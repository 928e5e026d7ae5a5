"""Reads digits and number words as exact numbers."""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal
from typing import NamedTuple

MOST_DIGITS = 24
"""Maximum digits of a number, within the default precision of `Decimal`; longer runs of digits are codes."""

VULGAR = {
    sign: (int(above), int(below))
    for sign in "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
    for above, _, below in [unicodedata.normalize("NFKD", sign).partition("\N{FRACTION SLASH}")]
}
"""Numerator and denominator of the fractions with one character."""

TEN = 10
"""The lowest number with two digits."""

_SMALL = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen
"""
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
"""Number words for tens."""

ONES = {word: number for number, word in enumerate(_SMALL.split())} | {
    word: 10 * number for number, word in enumerate(TENS, start=2)
}
"""Number words that are added."""

SCALES = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
"""Number words that multiply the number before them."""

_ORDINAL_ENDS = {"third": 3, "fifth": 5, "eighth": 8, "ninth": 9, "twelfth": 12, "first": 1, "second": 2}
ORDINALS = (
    _ORDINAL_ENDS
    | {
        f"{word}th": number
        for word, number in ONES.items()
        if word not in {"one", "two", "three", "five", "eight", "nine", "twelve"} and not word.endswith("y")
    }
    | {f"{word[:-1]}ieth": number for word, number in ONES.items() if word.endswith("y")}
)
"""Ordinal words."""

_PART_WORDS = {
    2: "half halves",
    3: "third thirds",
    4: "quarter quarters fourth fourths",
    5: "fifth fifths",
    6: "sixth sixths",
    8: "eighth eighths",
    10: "tenth tenths",
}
PARTS = {word: parts for parts, words in _PART_WORDS.items() for word in words.split()}
"""Words for fractions, with their denominator."""

_SAME = str.maketrans(
    {"，": ",", "．": ".", "٬": "'", "٫": "·", "’": "'", "\u00a0": "'", "\u202f": "'", "\u2009": "'"}
)
_GROUPED = re.compile(
    r"(?!0,)\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:'\d{3})+(?:[.,·]\d+)?|\d{1,2}(?:,\d{2})+,\d{3}"
)
_SEPARATOR = re.compile(r",(?=\d{3}(?!\d)|\d\d,)(?<!'\d{3},)|'")
_CONTINENTAL = re.compile(r"\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}")
_POINTED = re.compile(r"\d+(?:[.·]\d+)?")
_COMMA = re.compile(r"\d+,\d{1,2}|\d{2,},\d{4,}|0,\d+")


class Numeral(NamedTuple):
    """A number, and the value of one step of its last digit."""

    value: Decimal
    step: Decimal


def digits(text: str) -> Numeral | None:
    """Read digits with separators in any script; None for lists, versions and codes.

    Separators are read as in English; a comma is a decimal point if it cannot separate thousands ("3,5").

    >>> [digits(text).value for text in ("1,234.5", "1.234.567,5", "3,5", "１２", "٣٫٥")]
    [Decimal('1234.5'), Decimal('1234567.5'), Decimal('3.5'), Decimal('12'), Decimal('3.5')]
    """
    plain = text.translate(_SAME)
    if len(plain) > MOST_DIGITS:
        return None
    if _POINTED.fullmatch(plain):
        written = plain.replace("·", ".")
    elif _GROUPED.fullmatch(plain):
        written = _SEPARATOR.sub("", plain).replace("·", ".").replace(",", ".")
    elif _CONTINENTAL.fullmatch(plain):
        written = plain.replace(".", "").replace(",", ".")
    elif _COMMA.fullmatch(plain):
        written = plain.replace(",", ".")
    else:
        return None
    value = Decimal(written)
    return Numeral(value, Decimal(1).scaleb(-len(written.partition(".")[2])))


def fraction(above: int, below: int) -> Numeral:
    """Return a fraction with 28 digits and a step of 0.01."""
    return Numeral(Decimal(above) / Decimal(below), Decimal("0.01"))


def number_words(words: list[str]) -> Numeral | None:
    """Read English number words, lower-cased and without hyphens; None if they are not a number.

    >>> number_words("two hundred and fifty thousand".split()).value
    Decimal('250000')
    """
    total, group, last_scale = 0, 0, 10**15
    step = 1
    for place, word in enumerate(words):
        if word in ONES:
            # "twenty one" is a number, "one twenty" is not.
            tens, ones = divmod(group % 100, TEN)
            if (tens or ones) and not (tens > 1 and ones == 0 and 0 < ONES[word] < TEN):
                return None
            group, step = group + ONES[word], 1
        elif word in SCALES:
            scale = step = SCALES[word]
            if word == "hundred":
                group = (group or 1) * scale
            elif scale < last_scale and (group or not place):
                total, group, last_scale = total + (group or 1) * scale, 0, scale
            else:
                return None
        elif word not in {"and", "a"}:
            return None
    return Numeral(Decimal(total + group), Decimal(step))
