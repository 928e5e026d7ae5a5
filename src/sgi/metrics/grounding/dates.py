"""Extracts dates and times of day."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from sgi.metrics.grounding.facts import DateFact
from sgi.metrics.grounding.language_tables import any_of, first_letters, language_of
from sgi.metrics.grounding.number_words import runs_of_letters

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sgi.metrics.grounding.language_tables import Language

_NOON, _DAY_MINUTES = 12, 24 * 60
_MONTHS, _DAYS = 12, 31
_CENTURY, _DECADE = 100, 10
_PIVOT = 50  # two digits below are of this century
_EARLIEST, _LATEST = 1300, 2100  # numbers that are years without more
_HALF = r"[AaPp](?:\.[ ]?[Mm]\b\.?|[Mm]\b)"
_NUMERIC = re.compile(
    r"(?=\d)(?<![\w/.-])(?:(?P<year>\d{4})(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})(?![\d/-]|\.\d)"
    r"|(?P<one>\d{1,2})(?P<sign>[-/.])(?P<two>\d{1,2})(?P=sign)(?P<last>\d{4}|\d\d)(?![\d/-]|\.\d))"
)
_TIME = re.compile(
    rf"(?=[\dnm])(?<![\d:.,$€£])"
    rf"(?:(?P<hour>\d{{1,2}})(?:[ ]:[ ]|:)(?P<minute>[0-5]\d|0)(?::[0-5]\d)?(?![\d:])"
    rf"(?:\s?(?P<half>{_HALF}))?"
    rf"|(?P<only>\d{{1,2}})(?:\.(?P<minutes>[0-5]\d))?\s?(?P<which>{_HALF})|(?P<word>\b(?:noon|midnight)\b))"
)
_YEAR = re.compile(r"(?=[12])(?<![\w.,/#$€£¥₹+-])(?P<year>[12]\d{3})(?![\w%/]|[.,:]\d|-\d{3}\b|[ ]\d{3}\b)")
_AFTERNOON = 12 * 60 + 59  # a text with "17:00" has 24 hours
_HALF_DAY = re.compile(_HALF)
_ROMAN = {"I": 1, "V": 5, "X": 10}


class _Patterns(NamedTuple):
    named: re.Pattern[str]
    era: re.Pattern[str]
    clock: re.Pattern[str] | None
    counted: re.Pattern[str]


@lru_cache(maxsize=8)
def _patterns(language: Language) -> _Patterns:
    month = rf"(?:{any_of(language.month_numbers)})\b\.?"
    day = rf"\d{{1,2}}(?:{language.day_end})?(?![\d:%]|[.,]\d)"
    year = r"(?:[12]\d{3}|['’]\d\d)(?![\d%])"
    link = rf"(?:{language.day_link})"
    until = rf"(?:[ ]?[-–][ ]?{day})?"  # "May 3-5": the first day is checked
    spellings = {unit for unit in language.units if unit.isalpha()}
    flags = re.IGNORECASE
    return _Patterns(
        re.compile(
            rf"(?<!\w)(?=[\d{first_letters(language.month_numbers)}])(?:"
            rf"(?<![.,/-])(?P<day>{day}){until}{link}(?P<month>{month})(?:,?{link}(?P<year>{year}))?"
            rf"|(?P<first>{month})[ ](?P<then>{day}){until}(?:,?[ ](?P<last>{year}))?"
            rf"|(?P<only>{month}),?{link}(?P<of>{year}))",
            flags,
        ),
        re.compile(
            rf"(?<!\w)(?=['’\w])(?:{language.century}|['’]?{language.decade}"
            rf"|(?<![.,])(?P<era>\d{{1,4}})[ ]?(?:(?P<before>{language.before_christ})|(?:CE|AD)\b))",
            flags,
        ),
        re.compile(language.clock, flags) if language.clock else None,
        re.compile(rf"[ -](?:{any_of(spellings)})\b"),
    )


def dates(text: str) -> tuple[DateFact, ...]:
    """Return the dates and times of day of a text in order; none of them overlap.

    Reads ISO and numeric dates, dates with names of months, years, decades, centuries, eras and times. A
    weekday or a month alone is a word like others. A number from 1300 to 2099 without a unit is a year.

    >>> [(date.year, date.last_year, date.month) for date in dates("From May 1914 to the 1920s")]
    [(1914, 1914, 5), (1920, 1929, None)]
    """
    language = language_of(text)
    patterns = _patterns(language)
    found = [fact for fact in _candidates(text, language, patterns) if fact is not None]
    if any(
        fact.minute is not None and fact.minute > _AFTERNOON and not _HALF_DAY.search(fact.text)
        for fact in found
    ):
        found = [replace(fact, half_day_known=True) if fact.minute is not None else fact for fact in found]
    facts: list[DateFact] = []
    for fact in sorted(found, key=lambda fact: (fact.start, -fact.end)):
        if not facts or fact.start >= facts[-1].end:
            facts.append(fact)
    return tuple(facts)


def _candidates(text: str, language: Language, patterns: _Patterns) -> Iterator[DateFact | None]:
    yield from (_numeric(match) for match in _NUMERIC.finditer(text))
    yield from (_time(match) for match in _TIME.finditer(text))
    if not runs_of_letters(text).isdisjoint(language.month_numbers):
        yield from (_named(match, language) for match in patterns.named.finditer(text))
    yield from (_era(match, language.ordinals) for match in patterns.era.finditer(text))
    if patterns.clock is not None:
        yield from (
            _at(match, int(match["hour"]), match["minute"]) for match in patterns.clock.finditer(text)
        )
    for match in _YEAR.finditer(text):
        year = int(match["year"])
        if _EARLIEST <= year < _LATEST and not patterns.counted.match(text, match.end()):
            yield _fact(match, year=year)


def _fact(match: re.Match[str], **parts: int | bool | None) -> DateFact | None:
    month, day = parts.get("month"), parts.get("day")
    if (month is not None and not 1 <= month <= _MONTHS) or (day is not None and not 1 <= day <= _DAYS):
        return None
    parts.setdefault("last_year", parts.get("year"))
    text = match[0].rstrip(", ")
    return DateFact(text, match.start(), match.start() + len(text), **parts)  # type: ignore[arg-type]


def _numeric(match: re.Match[str]) -> DateFact | None:
    if match["year"]:
        return _fact(match, year=int(match["year"]), month=int(match["month"]), day=int(match["day"]))
    one, two, year = int(match["one"]), int(match["two"]), _full_year(match["last"])
    if one > _MONTHS or (match["sign"] == "." and two <= _MONTHS):
        return _fact(match, year=year, month=two, day=one)
    return _fact(match, year=year, month=one, day=two, swappable=two <= _MONTHS and one != two)


def _time(match: re.Match[str]) -> DateFact | None:
    if match["word"]:
        minute = 0 if match["word"].lower() == "midnight" else _DAY_MINUTES // 2
        return _fact(match, minute=minute, half_day_known=True)
    half = (match["half"] or match["which"] or "").lower()
    return _at(match, int(match["hour"] or match["only"]), match["minute"] or match["minutes"], half)


def _at(match: re.Match[str], hour: int, minute: str | None, half: str = "") -> DateFact | None:
    if hour > (_NOON if half else 2 * _NOON):
        return None
    if half:
        hour = hour % _NOON + (_NOON if half.startswith("p") else 0)
    minutes = (60 * hour + int(minute or 0)) % _DAY_MINUTES
    return _fact(match, minute=minutes, half_day_known=bool(half) or hour > _NOON)


def _named(match: re.Match[str], language: Language) -> DateFact | None:
    name = match["month"] or match["first"] or match["only"]
    if name.islower() and language.nouns_have_capitals and not match["year"]:
        return None
    day, year = match["day"] or match["then"], match["year"] or match["last"] or match["of"]
    return _fact(
        match,
        month=language.month_numbers[name.lower().rstrip(".")],
        day=int(re.sub(r"\D", "", day)) if day else None,
        year=_full_year(year.lstrip("'’")) if year else None,
    )


def _era(match: re.Match[str], ordinals: Mapping[str, int]) -> DateFact | None:
    if match["nth"]:
        written = match["nth"].lower()
        nth = int(written) if written.isdigit() else ordinals.get(written) or _roman(written.upper())
        return _fact(match, year=_CENTURY * (nth - 1), last_year=_CENTURY * nth - 1)
    if match["tens"]:
        year = _full_year(match["tens"])
        return _fact(match, year=year, last_year=year + (_CENTURY if year % _CENTURY == 0 else _DECADE) - 1)
    return _fact(match, year=int(match["era"]) * (-1 if match["before"] else 1))


def _roman(numeral: str) -> int:
    values = [_ROMAN[letter] for letter in numeral]
    return sum(-one if one < after else one for one, after in zip(values, [*values[1:], 0], strict=True))


def _full_year(digits: str) -> int:
    """Read "1998" or "98"."""
    year = int(digits)
    return year if len(digits) > 2 else year + (2000 if year < _PIVOT else 1900)  # noqa: PLR2004 - two digits
