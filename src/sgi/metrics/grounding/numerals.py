"""Reads numbers in digits."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, NamedTuple

from sgi.metrics.grounding.analysed_text import ENGLISH

if TYPE_CHECKING:
    from sgi.metrics.grounding.language_tables import Language

_VULGAR = {
    sign: int(above) / int(below)
    for sign in "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
    for above, _, below in [unicodedata.normalize("NFKD", sign).partition("\N{FRACTION SLASH}")]
}
_PARTS = "".join(_VULGAR)
_DECIMAL_POINTS = str.maketrans(",·٫", "...")
NUMBER = re.compile(
    rf"(?=[\d.{_PARTS}])(?:"  # saves time: most characters begin no number
    r"(?P<feet>[1-9])['’′](?P<inches>1[01]|\d)(?:[\"”″]|''|(?![\w.,'’]))"
    r"|(?P<grouped>(?<![\d.,])[1-9]\d{0,2}"
    r"(?:(?P<mark>[,.'’ \u00a0\u202f\u2009])\d{3}(?:(?P=mark)\d{3})*)(?!\d)"
    r"(?P<decimals>[.,]\d+(?!\d*[.,]\d))?)"
    r"|(?P<list>\d{1,2}(?:,\d{1,2}){2,}(?![\w,]))"
    r"|(?P<spaced>\d{1,3}(?:[ ]?,[ ]\d{3}(?!\d))+(?![ ]?,[ ]?\d|,?[ ](?:and|or|&)[ ]\d)|\d+[ ]\.[ ]\d+)"
    r"|(?P<part>\d{1,3}/\d{1,3}(?![\d/]))|(?P<with_part>\d{1,4}[ -]\d{1,2}/\d{1,2}(?![\d/]))"
    rf"|(?P<plain>\d+(?:[.,·٫]\d+)?|(?<![\w.])\.\d+)(?P<more>[ ]?[{_PARTS}])?|(?P<lone>[{_PARTS}]))"
)
"""A number in digits: feet and inches, thousands with marks, a list, tokenised text, a fraction, others."""


class Numeral(NamedTuple):
    """A number, the value of one step of its last digit, and another reading of its marks."""

    value: float
    step: float
    other: float


def read_number(match: re.Match[str], language: Language) -> Numeral:
    """Read a match of `NUMBER`; the mark of three last digits is read by the rules of the language.

    >>> from sgi.metrics.grounding.language_tables import language_named
    >>> [read_number(NUMBER.match("1.250"), language_named(code)).value for code in ("en", "de")]
    [1.25, 1250.0]
    """
    if match["feet"]:
        value = int(match["feet"]) + int(match["inches"]) / 12
        return Numeral(value, 1 / 12, value)
    if match["lone"]:
        return Numeral(_VULGAR[match["lone"]], 0.01, _VULGAR[match["lone"]])
    if match["part"] or match["with_part"]:
        return _fraction(match["part"] or match["with_part"])
    if match["spaced"]:
        written = match["spaced"].replace(" ", "").replace(",", "")
        return Numeral(float(written), 1.0 if "." not in written else 0.1, float(written))
    if match["grouped"]:
        return _grouped(match["grouped"], match["mark"], match["decimals"] or "", language)
    written = (match["plain"] or "0").translate(_DECIMAL_POINTS)
    more = _VULGAR[match["more"].strip()] if match["more"] else 0.0
    value = float(written) + more
    return Numeral(value, 0.01 if more else 10.0 ** -len(written.partition(".")[2]), value)


def _fraction(written: str) -> Numeral:
    whole, _, part = written.replace("-", " ").rpartition(" ")
    above, _, below = part.partition("/")
    value = float(whole or 0) + (float(above) / float(below) if float(below) else 0.0)
    return Numeral(value, 0.01, 100 * value)  # 7/10 may be a share


def _grouped(written: str, mark: str, decimals: str, language: Language) -> Numeral:
    whole = re.sub(r"\D", "", written[: len(written) - len(decimals)])
    value = float(f"{whole}.{decimals[1:] or 0}")
    may_be_decimal = mark == "." or (mark == "," and language.code != ENGLISH)
    if not may_be_decimal or written.count(mark) > 1 or decimals:
        return Numeral(value, 10.0 ** -max(len(decimals) - 1, 0), value)
    decimal = float(written.replace(",", "."))
    is_decimal = (mark == ".") == (language.code == ENGLISH)
    return Numeral(decimal, 0.001, value) if is_decimal else Numeral(value, 1.0, decimal)
