"""Finds figures: numbers with their units, in digits and in words."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from sgi.metrics.grounding.facts import CURRENCY, DEGREE, ORDINAL, SHARE, TIME, overlaps, symbols
from sgi.metrics.grounding.language_tables import ENGLISH, any_of, first_letters
from sgi.metrics.grounding.number_words import runs_of_letters, spelt_numbers
from sgi.metrics.grounding.unit_reader import (
    LOOK_BACK,
    NEXT_WORD,
    Figure,
    patterns_of,
    rated,
    scaled,
    unit_at,
    with_unit,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.metrics.grounding.language_tables import Language


_LABEL_DIGITS = 2
_MOST_DIGITS = 24  # longer runs of digits are codes
_LOOSE_DECIMAL = re.compile(r"\.[ ](\d{1,2})(?=[ ]?(?:%|percent|million|billion|trillion|thousand)\b|[ ]?%)")
_LETTER_BEFORE = re.compile(r"[^\W\d_]$|[\w][/@_]$|[#@]$|[^\W\d_][.-]$")
_MINUS = re.compile(r"(?:^|[ \u00a0\u202f\u2009(\t\n:=])[-−]$")
_MIN_ORDINAL, _TWENTY = 3, 20
_THE = re.compile(r"\b(?:the|his|her|its|their)\s$", re.IGNORECASE)
_SURE_PARTS = frozenset((2, 4))  # a half and a quarter; "a third" may be a rank
_OF_A = re.compile(r"[ -](?:an?|of an?|of)[ ](?=[^\W\d_])")
_OF = re.compile(r"\s(?:of|de|d'|der|des|von|di|van)\b")
_LIST_MARK = re.compile(r"(?:^|[:.!?\n]\s*|\s\()\(?$")
_NO_VALUE = re.compile(r"24/7|\d0['’]?s\b")  # always, and ages or decades in two digits


def figures(text: str, language: Language, excluded: Sequence[tuple[int, int]]) -> list[Figure]:
    """Return the figures of a text in order, without the excluded parts; figures do not overlap."""
    found = [*_figures_in_digits(text, language, excluded), *_from_words(text, language, excluded)]
    numbers: list[Figure] = []
    for number in sorted(found, key=lambda one: (one.start, -one.end)):
        if not numbers or number.start >= numbers[-1].end:
            numbers.append(number)
    return numbers


def _figures_in_digits(
    text: str, language: Language, excluded: Sequence[tuple[int, int]]
) -> Iterator[Figure]:
    patterns = patterns_of(language)
    done = 0
    for match in NUMBER.finditer(text):
        start, end = match.span()
        if start < done or end - start > _MOST_DIGITS or overlaps(start, end, excluded):
            continue
        symbol = patterns.symbol_before.search(text[max(0, start - 5) : start])
        if symbol is None and _names_a_part(text, start, end, language):
            continue
        if symbol is None and _LETTER_BEFORE.search(text[max(0, start - 2) : start]):
            continue
        value, step, other = read_number(match, language)
        loose = _LOOSE_DECIMAL.match(text, end) if match["plain"] and value == int(value) else None
        if loose:  # tokenised text: "1. 7 million"
            value, step, end = value + float(f"0.{loose[1]}"), 0.1 ** len(loose[1]), loose.end()
            other = value
        if _MINUS.search(text[max(0, start - 2) : start]):
            value, other = -value, -other
        number = Figure(start, end, value, step, other)
        if match["list"]:
            yield from _listed(match)
            continue
        if match["feet"]:
            yield number._replace(units=symbols()["′"])
            continue
        measured = _measured(text, number, language, symbol)
        done = measured.end
        if not _ranks_a_part(text, measured, language):
            yield measured


def _ranks_a_part(text: str, number: Figure, language: Language) -> bool:
    """Return whether an ordinal only ranks a part of a text: "the 2nd passage"."""
    following = NEXT_WORD.match(text, number.end)
    return number.units == (ORDINAL,) and following is not None and following[1].lower() in language.labels


def _listed(match: re.Match[str]) -> Iterator[Figure]:
    """Yield the numbers of a list without spaces: "1,2,3"."""
    for part in re.finditer(r"\d+", match[0]):
        value = float(part[0])
        yield Figure(match.start() + part.start(), match.start() + part.end(), value, 1.0, value)


def _names_a_part(text: str, start: int, end: int, language: Language) -> bool:
    """Return whether a number only names a part of a text ("step 2", "1."), or has no exact value."""
    if _NO_VALUE.match(text, start):
        return True
    if (
        end - start <= _LABEL_DIGITS
        and text[end : end + 1] in {".", ")"}
        and not text[end + 1 : end + 2].isalnum()
    ):
        before = text[max(0, start - 4) : start]
        if _LIST_MARK.search(before):
            return True
    return patterns_of(language).label.search(text[max(0, start - LOOK_BACK) : start]) is not None


def _measured(text: str, number: Figure, language: Language, symbol: re.Match[str] | None) -> Figure:
    """Read the currency, scale, unit, rate and noun around a number in digits."""
    patterns = patterns_of(language)
    ordinal = patterns.ordinal.match(text, number.end)
    if ordinal and symbol is None:
        return number._replace(end=ordinal.end(), units=(ORDINAL,))
    number = scaled(text, number, language)
    if symbol is not None:
        number = number._replace(start=number.start - len(symbol[0]), units=symbols()[symbol[1]])
        after = patterns.symbol_after.match(text, number.end)  # "$20 USD"
        if after and symbols().get(after[1], number.units)[0].dimension == CURRENCY:
            number = number._replace(end=after.end())
        return rated(text, number, language)
    return with_unit(text, number, language)


def _from_words(text: str, language: Language, excluded: Sequence[tuple[int, int]]) -> Iterator[Figure]:
    yield from _ordinals(text, language, excluded)  # first: "twenty-second" is no duration
    for spelt in spelt_numbers(text, language):
        before = text[max(0, spelt.start - 2) : spelt.start]
        if overlaps(spelt.start, spelt.end, excluded) or before[:1].isdigit():
            continue
        value = float(spelt.value)
        number = Figure(spelt.start, spelt.end, value, float(spelt.step), value)
        yield _with_part(text, number, language) or with_unit(text, number, language)
    yield from _parts_alone(text, language, excluded)
    for match in _ones(language).finditer(text):
        units, end = unit_at(text, match.end(), language)
        is_time = (
            bool(units)
            and units[0].dimension == TIME
            and (language.code != ENGLISH or units[0].name == "day")
        )
        if units and not is_time and not overlaps(*match.span(), excluded):
            yield rated(text, Figure(match.start(), end, 1.0, 1.0, 1.0, units), language)


def _with_part(text: str, number: Figure, language: Language) -> Figure | None:
    """Read "three quarters" and "two and a half"."""
    match = patterns_of(language).part.match(text, number.end)
    if match is None or text[number.end] not in " -":
        return None
    below = language.parts[match["part"].lower()]
    is_added = match[0].strip(" -").lower() != match["part"].lower()
    value = number.value + 1 / below if is_added else number.value / below
    if not is_added and value >= 1:
        return None
    return _part(text, number._replace(end=match.end(), value=value, other=value, step=0.01), language)


def _part(text: str, number: Figure, language: Language) -> Figure:
    """Give a part the unit after it: "half an hour", "a quarter mile"; without one it is a share."""
    match = _OF_A.match(text, number.end)
    units, end = unit_at(text, match.end() - 1 if match else number.end, language)
    if units and units[0].dimension != DEGREE and (match or units[0].dimension != SHARE):
        return number._replace(end=end, units=units)
    if number.value > 1:
        return number
    percent = symbols()["%"]
    return number._replace(value=100 * number.value, other=100 * number.value, units=percent)


def _parts_alone(text: str, language: Language, excluded: Sequence[tuple[int, int]]) -> Iterator[Figure]:
    """Read "half of", "a third of"; other uses of these words are ranks, sides or coins."""
    if runs_of_letters(text).isdisjoint(language.parts):
        return
    for match in _part_words(language).finditer(text):
        if not overlaps(*match.span(), excluded):
            value = 1 / language.parts[match["part"].lower()]
            number = _part(text, Figure(match.start(), match.end(), value, 0.01, value), language)
            is_share = number.units[:1] == symbols()["%"]
            if (
                not is_share
                or language.parts[match["part"].lower()] in _SURE_PARTS
                or _OF.match(text, match.end())
            ):
                yield number


@lru_cache(maxsize=8)
def _part_words(language: Language) -> re.Pattern[str]:
    return re.compile(
        rf"(?<![\w-])(?:(?:an?|{'|'.join(sorted(language.one))})[ -])?(?P<part>{any_of(language.parts)})\b",
        re.IGNORECASE,
    )


def _ordinals(text: str, language: Language, excluded: Sequence[tuple[int, int]]) -> Iterator[Figure]:
    """Read ranks in words; "first" and "second" often only order the sentences."""
    if runs_of_letters(text).isdisjoint(language.ordinals):
        return
    for match in _ordinal_words(language).finditer(text):
        tens = language.numbers.get((match["tens"] or "").lower(), 0)
        value = float(language.ordinals[match["rank"].lower()] + tens)
        number = Figure(match.start(), match.end(), value, 1.0, value, (ORDINAL,))
        is_rank = value >= _MIN_ORDINAL or _THE.search(text[max(0, match.start() - 6) : match.start()])
        if (
            value > 1
            and is_rank
            and not overlaps(*match.span(), excluded)
            and not _ranks_a_part(text, number, language)
        ):
            yield number


@lru_cache(maxsize=8)
def _ordinal_words(language: Language) -> re.Pattern[str]:
    tens = "|".join(sorted((word for word, number in language.numbers.items() if number >= _TWENTY), key=len))
    return re.compile(
        rf"(?<![\w-])(?=[{first_letters([*language.ordinals, *language.numbers])}])"
        rf"(?:(?P<tens>{tens})-)?(?P<rank>{any_of(language.ordinals)})\b",
        re.IGNORECASE,
    )


@lru_cache(maxsize=8)
def _ones(language: Language) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(sorted(language.one))})(?=[ -])", re.IGNORECASE)


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
    """A number in a text: its value, the step of its last digit, and its other possible value."""

    value: float
    step: float
    other: float


def read_number(match: re.Match[str], language: Language) -> Numeral:
    """Parse a match of `NUMBER`; the language decides whether "1.250" means 1.25 or 1,250.

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
