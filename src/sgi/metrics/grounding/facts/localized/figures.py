"""Finds figures in texts of other languages than English: numbers with their sign, scale and unit."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from sgi.metrics.grounding.facts.fact import merge_spans, overlaps
from sgi.metrics.grounding.facts.figures import Figure
from sgi.metrics.grounding.facts.label_numbers import label_end
from sgi.metrics.grounding.facts.numerals import MOST_DIGITS, VULGAR, Numeral, fraction
from sgi.metrics.grounding.facts.units import NO_UNIT, ORDINAL, Unit, unit_named
from sgi.metrics.grounding.languages.number_words import spelt_numbers
from sgi.metrics.grounding.languages.record import words
from sgi.metrics.grounding.languages.word_parts import word_parts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.metrics.grounding.languages.record import Language

_VULGAR = "".join(VULGAR)
# "1.234,56", "1 234,56", "1'234.56"; English marks only where they cannot be others: "1,234,567.8", "3.5".
_FIGURE = re.compile(
    r"(?:(?P<grouped>\d{1,3}(?P<mark>[.' \u00a0\u202f\u2009])\d{3}(?:(?P=mark)\d{3}){0,6})(?!\d)"
    r"(?P<decimals>,\d+)?"
    r"|(?P<english>\d{1,3}(?:,\d{3}){2,6}(?:\.\d+)?)(?!\d)"
    rf"|(?P<plain>\d+(?:[.,]\d+)?))(?:[ ]?(?P<part>[{_VULGAR}]))?|(?P<lone>[{_VULGAR}])"
)
_MORE_DIGITS = re.compile(r"[.,:/-]\d|\w")
_LETTERS_BEFORE = re.compile(r"[^\W\d_]$|[^\W\d_][-‑]$|[\w][/@:_.,]$|[#/@]$")
_MINUS = re.compile(r"(?:^|[ (\t\n:])[-−]$")
_CURRENCY = re.compile(r"(?:(?:US|A|C)?([$€£¥₹])|\b(EUR|USD|GBP|CHF))[ \u00a0]?$")
_SIGN = re.compile(r"[ \u00a0]?([%‰€$£¥₹′″]|°[ ]?[CFK]?\b)")
_UNIT_WORD = re.compile(r"[ \u00a0-]?([^\W\d_]+(?:[/-][^\W\d_]+)?[²³]?\.?)(?:[ ]([^\W\d_]+))?")
_WORD = re.compile(r"[ \u00a0-]?([^\W\d_]+(?:[-'’][^\W\d_]+)*)")
# Symbols of units that are the same in all languages, and are no words in any of them.
_SYMBOLS = words(
    "mm cm km kg mg g ml dl l ha km² m² kw mw kwh hz khz mhz ghz gb mb kb tb kcal kj h min km/h m/s usd eur"
    " gbp m s w v"
)
_NOUN_WORDS, _LOOK_AHEAD, _LOOK_BEHIND = 3, 60, 5
_ONE = Decimal(1)
_GAPS = frozenset({" ", "\u00a0"})


class _Patterns(NamedTuple):
    scale: re.Pattern[str]
    link: re.Pattern[str]
    ordinal: re.Pattern[str]


@lru_cache(maxsize=8)
def _patterns(language: Language) -> _Patterns:
    scales = "|".join(sorted(language.scales, key=len, reverse=True))
    return _Patterns(
        re.compile(rf"[ \u00a0](?P<scale>{scales})\b\.?(?:[ ](?P<of>{scales})\b)?", re.IGNORECASE),
        re.compile(rf"[ \u00a0]{language.unit_link}", re.IGNORECASE),
        re.compile(language.ordinal_end, re.IGNORECASE),
    )


@lru_cache(maxsize=8)
def _units(language: Language) -> dict[str, Unit]:
    """Return the unit of each spelling."""
    units = {spelling: unit_named(name) for spelling, name in language.units.items()}
    return {spelling: unit for spelling, unit in units.items() if unit is not None}


def figures_in(text: str, language: Language, excluded: Sequence[tuple[int, int]] = ()) -> list[Figure]:
    """Return the figures of a text in order, except those in the excluded parts.

    >>> from sgi.metrics.grounding.languages.record import language_named
    >>> figures = figures_in("3,5 % von 1.234 und zwei Millionen Euro", language_named("de"))
    >>> [(str(one.numeral.value * one.scale), one.unit.name) for one in figures]
    [('3.5', 'percent'), ('1234', ''), ('2000000', 'eur')]
    """
    in_digits = list(_from_digits(text, language, excluded))
    covered = merge_spans([*excluded, *((figure.start, figure.end) for figure in in_digits)])
    return sorted([*in_digits, *_from_words(text, language, covered)])


def _from_digits(text: str, language: Language, excluded: Sequence[tuple[int, int]]) -> Iterator[Figure]:
    done = 0
    for match in _FIGURE.finditer(text):
        start, end = match.span()
        if start < done or overlaps(start, end, excluded):
            continue
        names = label_end(text, start)
        if names:
            done = names
            continue
        if _LETTERS_BEFORE.search(text[max(0, start - 3) : start]):
            continue
        numeral = _numeral(match)
        if numeral is None:
            continue
        figure = _measured(text, start, end, numeral, language)
        if figure is not None:
            done = figure.end
            yield figure


def _numeral(match: re.Match[str]) -> Numeral | None:
    if match["lone"]:
        return fraction(*VULGAR[match["lone"]])
    if match["grouped"]:
        written = match["grouped"].replace(match["mark"], "") + (match["decimals"] or "").replace(",", ".")
    elif match["english"]:
        written = match["english"].replace(",", "")
    else:
        written = match["plain"].replace(",", ".")
    if len(written) > MOST_DIGITS:
        return None
    number = Numeral(Decimal(written), _ONE.scaleb(-len(written.partition(".")[2])))
    if match["part"]:
        more = fraction(*VULGAR[match["part"]])
        return Numeral(number.value + more.value, more.step)
    return number


def _measured(text: str, start: int, end: int, numeral: Numeral, language: Language) -> Figure | None:
    """Read the sign, currency, scale and unit of a number in digits; None for codes and versions."""
    patterns = _patterns(language)
    ordinal = patterns.ordinal.match(text, end)
    if ordinal:
        return Figure(start, ordinal.end(), numeral, _ONE, ORDINAL, _nouns(text, ordinal.end(), language))
    follows = text[end : end + 2]
    if _MORE_DIGITS.match(follows) and not _UNIT_WORD.match(text, end):
        return None
    currency = _CURRENCY.search(text[max(0, start - _LOOK_BEHIND) : start])
    unit = unit_named((currency[1] or currency[2]).lower()) if currency else None
    if currency:
        start -= len(currency[0])
    elif _MINUS.search(text[max(0, start - 2) : start]):
        start, numeral = start - 1, Numeral(-numeral.value, numeral.step)
    scale = patterns.scale.match(text, end)
    factor = _ONE
    for word in scale.groups() if scale else ():  # "mil millones"
        factor *= language.scales[word.lower()] if word else 1
    end = scale.end() if scale else end
    if unit is not None:
        return Figure(start, end, numeral, factor, unit)
    return _with_unit(text, start, end, numeral, factor, language, glued=text[end : end + 1].isalpha())


def _with_unit(
    text: str, start: int, end: int, numeral: Numeral, factor: Decimal, language: Language, *, glued: bool
) -> Figure | None:
    unit, unit_end = _read_unit(text, end, language)
    if unit is NO_UNIT and not glued and (link := _patterns(language).link.match(text, end)):
        unit, linked_end = _read_unit(text, link.end(), language)
        unit_end = linked_end if unit is not NO_UNIT else end
    if glued and unit is NO_UNIT:
        return None
    nouns = _nouns(text, unit_end, language) if unit.dimension in {"", "share"} else ()
    return Figure(start, unit_end, numeral, factor, unit, nouns)


def _read_unit(text: str, end: int, language: Language) -> tuple[Unit, int]:
    """Return the unit that begins at ``end``, and its end."""
    sign = _SIGN.match(text, end)
    if sign:
        return unit_named(sign[1].replace(" ", "")) or NO_UNIT, sign.end()
    match = _UNIT_WORD.match(text, end)
    if not match:
        return NO_UNIT, end
    first = match[1].rstrip(".").lower()
    units = _units(language)
    if match[2]:
        unit = units.get(f"{first} {match[2].lower()}")
        if unit is not None:
            return unit, match.end()
    unit = units.get(first)
    if unit is None and match[1].rstrip(".") in {*_SYMBOLS, first.upper()} and first in _SYMBOLS:
        unit = unit_named(match[1].rstrip(".")) or unit_named(first)
    return (unit, match.start(1) + len(first)) if unit else (NO_UNIT, end)


def _nouns(text: str, end: int, language: Language) -> tuple[str, ...]:
    """Return the stems of the next words, up to a function word; they name the counted thing."""
    link = _patterns(language).link.match(text, end)
    place = link.end() if link else end
    nouns: list[str] = []
    while len(nouns) < _NOUN_WORDS and (match := _WORD.match(text, place)):
        pieces = word_parts(match[1], language)
        word = pieces[-1][2]
        if word in language.function_words:
            break
        nouns.append(language.stem(word))
        place = match.end()
        if text[place : place + 1] not in _GAPS:
            break
    return tuple(nouns)


def _from_words(text: str, language: Language, excluded: Sequence[tuple[int, int]]) -> Iterator[Figure]:
    for spelt in spelt_numbers(text, language):
        if (
            overlaps(spelt.start, spelt.end, excluded)
            or text[max(0, spelt.start - 2) : spelt.start][:1].isdigit()
        ):
            continue
        numeral = Numeral(Decimal(spelt.value), Decimal(spelt.step))
        figure = _with_unit(text, spelt.start, spelt.end, numeral, _ONE, language, glued=False)
        if figure is not None:
            yield figure
    ordinals = language.ordinals
    for start, end, word in word_parts(text, language) if ordinals else ():
        if word in ordinals and not overlaps(start, end, excluded):
            nouns = _nouns(text, end, language)
            if nouns:
                yield Figure(start, end, Numeral(Decimal(ordinals[word]), _ONE), _ONE, ORDINAL, nouns)
