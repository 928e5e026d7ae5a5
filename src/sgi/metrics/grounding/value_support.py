"""Compares quantities, dates and identifiers of a sentence with the values of a passage."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from itertools import combinations
from math import isclose
from typing import TYPE_CHECKING, NamedTuple

from sgi.metrics.grounding.dates import dates
from sgi.metrics.grounding.facts import (
    CURRENCY,
    DEGREE,
    ORDINAL,
    POINTS,
    SHARE,
    Bound,
    DateFact,
    Fact,
    Identifier,
    Quantity,
    Unit,
    merge_spans,
    overlaps,
    scale_between,
    symbols,
)
from sgi.metrics.grounding.language_tables import language_of, once_per_text
from sgi.metrics.grounding.number_words import may_have_number_words
from sgi.metrics.grounding.quantities import identifiers, quantities
from sgi.metrics.grounding.words import folded_words, same_things

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.metrics.grounding.language_tables import Language

_HALF_DAY = 12 * 60
_BEYOND = 1.3  # a value is at most this many times its bound: "more than 300" for 330
_ABOUT = 0.05
_ROUND = 100
_CONVERTED = 0.02  # relative error of a rounded conversion
_MOST_SUMMANDS = 12  # values of a passage that are added or subtracted
_YEARS = {"year": 1, "decade": 10, "century": 100}
_DIGIT = re.compile(r"\d")
_CODE_PART = re.compile(r"[^\W_]+")
_INSIDE_BEFORE, _INSIDE_AFTER = re.compile(r"\d[.-]$"), re.compile(r"[.-]\d")
_GAPS = {"": "", "-": "", "_": "", " ": "", "(": "", ")": "", ".": ".", "/": "/"}
_MOST_PARTS = 6


class Values(NamedTuple):
    """The quantities, dates and identifiers of a text; none of them overlap."""

    quantities: tuple[Quantity, ...]
    dates: tuple[DateFact, ...]
    identifiers: tuple[Identifier, ...]


_NO_VALUES = Values((), (), ())


class Match(NamedTuple):
    """The words of a passage that state or contradict a fact, with the rule."""

    text: str
    start: int
    end: int
    how: str

    @classmethod
    def at(cls, fact: Fact, how: str) -> Match:
        """Build the match from the passage's fact that states or contradicts the checked fact."""
        return cls(fact.text, fact.start, fact.end, how)


@once_per_text
def values_of(text: str) -> Values:
    """Return the values of a text, cached.

    >>> values = values_of("GPT-4 cost $20 in May 2023.")
    >>> [fact.text for facts in values for fact in facts]
    ['$20', 'May 2023', 'GPT-4']
    """
    has_digit = _DIGIT.search(text) is not None
    if not has_digit and not may_have_number_words(text, language_of(text)):
        return _NO_VALUES
    date_facts = dates(text)
    covered = merge_spans((date.start, date.end) for date in date_facts)
    codes = tuple(
        code
        for code in (identifiers(text) if has_digit else ())
        if not overlaps(code.start, code.end, covered)
    )
    taken = merge_spans([*covered, *((code.start, code.end) for code in codes)])
    return Values(quantities(text, taken), date_facts, codes)


def value_support(sentence: str, fact: Fact, passage: str) -> Match | None:
    """Return where a passage states a value of a sentence, or implies it in one step; None if it does not.

    A sum or difference counts only if the sentence has a word such as "total" or "by", or is of points.

    >>> text = "The tower is 330 m tall. It was built from 1887 to 1889. Rates rose from 2% to 3%."
    >>> sentence = "It is 0.33 km, took two years, and rates rose by 1 percentage point."
    >>> claims = values_of(sentence).quantities
    >>> [match.how for match in (value_support(sentence, claim, text) for claim in claims)]
    ['converted', '1889 - 1887', '3 - 2']
    """
    if isinstance(fact, Identifier):
        place = _place_of(fact.text, passage)
        if place is None and any(f" {form} " in folded_words(passage) for form in same_things(fact.text)):
            return Match("", 0, 0, "same name")
        return Match(passage[slice(*place)], *place, "equal") if place else None
    if isinstance(fact, DateFact):
        return _date_support(fact, passage)
    if not isinstance(fact, Quantity):
        return None
    return _number_support(fact, passage) or _derived(sentence, fact, values_of(passage))


@once_per_text
def _codes(text: str) -> dict[str, tuple[int, int]]:
    """Return the place of each run of parts that may be an identifier, written without hyphens and spaces."""
    parts = list(_CODE_PART.finditer(text))
    codes: dict[str, tuple[int, int]] = {}
    for first, part in enumerate(parts):
        if _INSIDE_BEFORE.search(text[max(0, part.start() - 2) : part.start()]):
            continue
        key, end = part[0].casefold(), part.end()
        for following in [*parts[first + 1 : first + _MOST_PARTS], None]:
            if not _INSIDE_AFTER.match(text, end):
                codes.setdefault(key, (part.start(), end))
            gap = text[end : following.start()] if following else "none"
            if following is None or gap not in _GAPS:
                break
            key, end = key + _GAPS[gap] + following[0].casefold(), following.end()
    return codes


def _place_of(identifier: str, passage: str) -> tuple[int, int] | None:
    """Return where a passage has an identifier; its parts may be joined by a hyphen, a space or nothing."""
    key = re.sub(r"[-_\s()#]", "", identifier.casefold())
    codes = _codes(passage)
    return codes.get(key) or codes.get(f"{key}s")


def _number_support(number: Quantity, passage: str) -> Match | None:
    values = values_of(passage)
    for other in values.quantities:
        how = agreement(number, other)
        if how:
            return Match.at(other, how)
    if not number.units:  # "from 9 to 17" and "9:00-17:00"
        low, high = (_at_full_hour(values, end) for end in (number.low, number.high))
        if low and high:
            return _pair(low, high, "same date")
    if not number.units or number.units[0].dimension == "ordinal":
        for date in values.dates:
            if date.year is not None and number.low in {date.year, date.day if date.month else None}:
                return Match.at(date, "equal")
    if number.is_range and number.units:
        ends = [
            next((other for other in values.quantities if other.units and agreement(end, other)), None)
            for end in (_single(number, number.low), _single(number, number.high))
        ]
        if ends[0] and ends[1]:
            first, last = sorted((ends[0], ends[1]), key=lambda end: end.start)
            return Match(f"{first.text}, {last.text}", first.start, last.end, "both ends")
    return None


def _at_full_hour(values: Values, hour: float) -> DateFact | None:
    return next((date for date in values.dates if date.minute == 60 * hour), None)


def _single(number: Quantity, value: float) -> Quantity:
    return replace(number, low=value, high=value, other=value, bound=Bound.EXACT)


def agreement(number: Quantity, other: Quantity) -> str:
    """Return the rule by which a passage's quantity supports one of a sentence; "" if it does not."""
    if number.per and other.per and number.per != other.per:
        return ""
    if (ORDINAL in number.units) != (ORDINAL in other.units):
        return ""
    if _counts_another_thing(number, other) or _counts_another_thing(other, number):
        return ""
    opposite = {number.bound, other.bound} == {Bound.LEAST, Bound.MOST}
    best = ""
    both_degrees = number.dimension == other.dimension == DEGREE
    for unit in number.units if both_degrees else _meanings(number.units):
        for their in other.units if both_degrees else _meanings(other.units):
            scale = (1.0, 0.0) if unit is None or their is None else scale_between(unit, their)
            if scale is not None and not opposite:
                best = best or _equal(number, other, scale)
            if unit is None and their is not None and their.name == "percent" and 0 < number.high <= 1:
                best = best or _equal(number, other, (0.01, 0.0))
            if their is None and unit is not None and unit.name == "percent" and 0 < other.high <= 1:
                best = best or _equal(number, other, (100.0, 0.0))
    return best


def _counts_another_thing(number: Quantity, other: Quantity) -> bool:
    """Return whether one number has a unit and one counts things ("three attempts"), but ages."""
    return bool(number.units) and not other.units and other.noun != "" and number.units[0].name != "year"


def _meanings(units: Sequence[Unit]) -> Sequence[Unit | None]:
    """Return the units that a spelling may mean; "degrees" are also those of both scales of temperature."""
    if units and units[0].dimension == DEGREE:
        return (units[0], *symbols()["°C"], *symbols()["°F"])
    return units or (None,)


def _equal(number: Quantity, other: Quantity, scale: tuple[float, float]) -> str:
    ratio, offset = scale
    how = "equal" if scale == (1.0, 0.0) else "converted"

    def close(mine: float, value: float) -> bool:
        return _close(number, other, mine, value * ratio + offset, how == "converted")

    if number.is_range:
        return how if close(number.low, other.low) and close(number.high, other.high) else ""
    if other.is_range:
        if close(number.low, other.low) or close(number.low, other.high):
            return "end of a range"
        inside = other.low * ratio + offset < number.low < other.high * ratio + offset
        return "inside a range" if number.bound is Bound.ABOUT and inside else ""
    if (
        close(number.low, other.low)
        or close(number.low, other.other)
        or isclose(number.other, other.low * ratio + offset)
    ):
        known = (other.low * ratio + offset, other.other * ratio + offset)
        is_exact = any(isclose(number.low, value, rel_tol=1e-9) for value in known)
        return how if is_exact or isclose(number.other, known[0]) or how == "converted" else "rounded"
    return _within_bound(number, other.low * ratio + offset) if other.bound is Bound.EXACT else ""


def _close(number: Quantity, other: Quantity, mine: float, value: float, converted: bool) -> bool:
    """Return whether a value of a sentence is one of a passage, as exact as the sentence says it."""
    if isclose(mine, value, rel_tol=1e-9):
        return True
    if converted:
        is_temperature = number.dimension in {DEGREE, "temperature"}
        coarse = _round_step(number, mine) / (1 if is_temperature else 2)
        most = max(coarse, _CONVERTED * abs(value))
        return abs(mine - value) <= (most if is_temperature else min(most, 2 * _ABOUT * abs(value)))
    if number.bound is Bound.ABOUT:
        return abs(mine - value) <= max(_round_step(number, mine) / 2, _ABOUT * abs(value))
    # The sentence may round: "3.1 million" for 3,123,456; "0.3" for 0.27.
    coarse = number.step > other.step and (number.step != 1 or other.step < 1)
    return coarse and abs(mine - value) <= number.step / 2


def _round_step(number: Quantity, value: float) -> float:
    """Return the step of the last digit that is not a trailing zero: 100 for "300"."""
    step = number.step
    while (
        value and step < abs(value) and isclose(value / (10 * step), round(value / (10 * step)), abs_tol=1e-9)
    ):
        step *= 10
    return step


def _within_bound(number: Quantity, value: float) -> str:
    least = number.bound is Bound.LEAST and number.low <= value <= number.low * _BEYOND
    most = number.bound is Bound.MOST and value <= number.low <= value * _BEYOND
    is_round = number.low < _ROUND * _round_step(number, number.low)  # "over 300", not "over 294"
    return "bound" if number.low > 0 and is_round and (least or most) else ""


def _derived(sentence: str, number: Quantity, values: Values) -> Match | None:
    """Return two values of a passage whose sum or difference is the number: a duration, points, an amount."""
    if number.is_range or number.low <= 0:
        return None
    return _years_between(number, values) or _sum_or_difference(sentence, number, values)


def _years_between(number: Quantity, values: Values) -> Match | None:
    span = number.low * _YEARS.get(number.units[0].name, 0) if number.units else 0
    years = {
        date.year: date for date in values.dates if date.year is not None and date.year == date.last_year
    }
    for year, date in years.items() if span else ():
        later = years.get(int(year + span))
        if later is not None and span == int(span):
            return _pair(date, later, f"{later.year} - {year}")
    return None


@lru_cache(maxsize=8)
def _operations(language: Language) -> tuple[re.Pattern[str], re.Pattern[str]]:
    flags = re.IGNORECASE
    return re.compile(rf"\b(?:{language.sums})\b", flags), re.compile(
        rf"\b(?:{language.differences})\b", flags
    )


def _sum_or_difference(sentence: str, number: Quantity, values: Values) -> Match | None:
    adds, compares = (pattern.search(sentence) for pattern in _operations(language_of(sentence)))
    points = number.dimension == POINTS or (not number.units and number.noun == "point")
    if not (points or adds or compares):
        return None
    if not points and (number.dimension == SHARE or not (number.units or number.noun)):
        return None
    unit = number.units[0] if number.units else Unit("", "", 0.01 if points else 1.0)
    ends = [
        (quantity, end * (quantity.units[0].factor if quantity.units else 1.0) / unit.factor)
        for quantity in values.quantities
        if quantity.dimension == (SHARE if points else unit.dimension)
        and (unit.dimension != CURRENCY or quantity.units[0].name == unit.name)
        and (unit.dimension or points or quantity.noun == number.noun)
        for end in sorted({quantity.low, quantity.high})
    ][:_MOST_SUMMANDS]
    for (first, one), (second, two) in combinations(ends, 2):
        if (points or compares) and isclose(abs(two - one), number.low, rel_tol=1e-6):
            return _pair(first, second, f"{max(one, two):g} - {min(one, two):g}")
        if adds and first is not second and isclose(one + two, number.low, rel_tol=1e-6):
            return _pair(first, second, f"{one:g} + {two:g}")
    return None


def _pair(first: Fact, second: Fact, how: str) -> Match:
    start, end = min(first.start, second.start), max(first.end, second.end)
    return Match(first.text if first is second else f"{first.text}, {second.text}", start, end, how)


def _date_support(date: DateFact, passage: str) -> Match | None:
    values = values_of(passage)
    for other in values.dates:
        if states(date, other):
            return Match.at(other, "equal" if date.text == other.text else "same date")
    if date.year is not None and date.last_year is not None and date.month is None:
        for number in values.quantities:
            if not number.units and date.year <= number.low <= number.high <= date.last_year:
                return Match.at(number, "equal")
    if date.year is not None and date.month is not None:
        day = next((one for one in values.dates if _day_fits(date, one)), None)
        year = next((one for one in values.dates if _year_within(date, one)), None)
        if day and year:
            return _pair(day, year, f"{day.text} and {year.text}")
    return None


def states(date: DateFact, other: DateFact) -> bool:
    """Return whether ``other`` is the same date as ``date``, or a more exact form of it."""
    if date.minute is not None:
        return _same_time(date, other)
    if date.day is not None and other.year is None and (date.month, date.day) == (other.month, other.day):
        return True  # news leave out the year
    if date.year is not None and not _year_within(date, other):
        return False
    own, theirs = (date.month, date.day), (other.month, other.day)
    if _covers(own, theirs):
        return True
    return (other.swappable and _covers(own, theirs[::-1])) or (date.swappable and _covers(own[::-1], theirs))


def _day_fits(date: DateFact, other: DateFact) -> bool:
    return _covers((date.month, date.day), (other.month, other.day)) and other.year in {None, date.year}


def _covers(own: tuple[int | None, int | None], theirs: tuple[int | None, int | None]) -> bool:
    return all(mine is None or mine == other for mine, other in zip(own, theirs, strict=True))


def _year_within(date: DateFact, other: DateFact) -> bool:
    if other.year is None or other.last_year is None or date.year is None or date.last_year is None:
        return False
    return date.year <= other.year and other.last_year <= date.last_year


def _same_time(date: DateFact, other: DateFact) -> bool:
    if date.minute is None or other.minute is None:
        return False
    if date.half_day_known and other.half_day_known:
        return date.minute == other.minute
    return date.minute % _HALF_DAY == other.minute % _HALF_DAY


def comparable(date: DateFact, other: DateFact) -> bool:
    """Return whether two dates give the same parts, so that one can contradict the other."""
    if date.minute is not None or other.minute is not None:
        return date.minute is not None and other.minute is not None
    if date.year is not None and other.year is not None:
        # A decade does not contradict a more exact year in it.
        return not _year_within(other, date) or (other.month is not None and date.month is not None)
    return date.month is not None and other.month is not None and (date.day is None or other.day is not None)
