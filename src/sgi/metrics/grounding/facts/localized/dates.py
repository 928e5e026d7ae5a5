"""Extracts dates and times of day from texts of other languages than English."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from sgi.metrics.grounding.facts.fact import DateFact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.metrics.grounding.languages.record import Language

_MONTHS, _LAST_DAY, _LAST_HOUR, _LAST_MINUTE = 12, 31, 24, 24 * 60
_NOON, _CENTURY, _PIVOT, _YEAR_DIGITS = 12, 100, 50, 4
_EARLIEST, _LATEST = 1300, 2100  # numbers that are years without a word like "in"
_ROMAN = {"I": 1, "V": 5, "X": 10}
_LOOK_BACK = 14
_NUMERIC = re.compile(
    r"(?P<iso>(?<![\d/.-])(?P<iso_year>\d{4})(?P<mark>[-/.])(?P<iso_month>\d{1,2})(?P=mark)"
    r"(?P<iso_day>\d{1,2})(?![\d/-]|\.\d))"
    r"|(?P<numeric>(?<![\d/.-])(?P<one>\d{1,2})(?P<sign>[-/.])[ ]?(?P<two>\d{1,2})(?P=sign)[ ]?"
    r"(?P<short>\d{4}|\d\d)(?![\d/-]|\.\d))"
    r"|(?P<time>(?<![\d:.,])(?P<colon_hour>\d{1,2}):(?P<colon_minute>[0-5]\d)(?::[0-5]\d)?(?![\d:]))"
    r"|(?P<year>(?<![\w.,/#$€£+-])(?P<alone>[12]\d{3})(?![\w%/]|[.,:]\d|-\d{1,3}\b))"
)
_NEXT_WORD = re.compile(r"[ ]([^\W\d_]+)")


class _Patterns(NamedTuple):
    named: re.Pattern[str]
    weekday: re.Pattern[str]
    century: re.Pattern[str]
    decade: re.Pattern[str]
    clock: re.Pattern[str]
    before_year: re.Pattern[str]
    before_christ: re.Pattern[str]


@lru_cache(maxsize=8)
def _patterns(language: Language) -> _Patterns:
    months = "|".join(sorted(language.month_numbers, key=len, reverse=True))
    days = "|".join(sorted(language.weekday_numbers, key=len, reverse=True))
    year = r"\d{4}(?![\d%])"
    flags = re.IGNORECASE
    return _Patterns(
        re.compile(
            rf"(?:(?<![\w.,/-])(?P<day>\d{{1,2}})(?:{language.day_end})?{language.day_link})?"
            rf"(?<!\w)(?P<month>{months})\b\.?(?:{language.day_link}(?P<year>{year}))?",
            flags,
        ),
        re.compile(rf"\b(?P<weekday>{days})\b", flags),
        re.compile(rf"(?<!\w){language.century}", flags),
        re.compile(rf"(?<!\w){language.decade}", flags),
        re.compile(rf"(?<![\w:.,]){language.clock}", flags),
        re.compile(rf"(?:(?<!\w)(?:{language.before_year})[ ]|[(–—-][ ]?)$", flags),
        re.compile(rf"[ ]?{language.before_christ}", flags),
    )


def dates_in(text: str, language: Language) -> tuple[DateFact, ...]:
    """Return the dates and times of day of a text in order; in numeric dates the day is first.

    >>> from sgi.metrics.grounding.languages.record import language_named
    >>> found = dates_in("Vom 3. Mai 1998 bis 04.06.2001 im 19. Jahrhundert", language_named("de"))
    >>> [(date.year, date.month, date.day) for date in found]
    [(1998, 5, 3), (2001, 6, 4), (1800, None, None)]
    """
    found = sorted(_candidates(text, language), key=lambda fact: (fact.start, -fact.end))
    facts: list[DateFact] = []
    for fact in found:
        if facts and fact.start < facts[-1].end:
            if fact.end - fact.start > facts[-1].end - facts[-1].start:
                facts[-1] = fact
            continue
        facts.append(fact)
    return tuple(facts)


def _candidates(text: str, language: Language) -> Iterator[DateFact]:
    patterns = _patterns(language)
    for match in _NUMERIC.finditer(text):
        fact = _numeric(text, match, language, patterns)
        if fact is not None:
            yield fact
    for match in patterns.named.finditer(text):
        fact = _month_date(text, match, language, patterns)
        if fact is not None:
            yield fact
    for match in patterns.weekday.finditer(text):
        yield _fact(match, weekday=language.weekday_numbers[match["weekday"].lower()])
    for match in patterns.century.finditer(text):
        yield from _century(text, match, patterns)
    for match in patterns.decade.finditer(text):
        tens = int(match["tens"])
        year = tens if tens >= _CENTURY else 1900 + tens
        yield _fact(match, year=year, last_year=year + (99 if year % _CENTURY == 0 else 9))
    for match in patterns.clock.finditer(text):
        hour, minute = int(match["hour"]), int(match["minute"] or 0)
        if hour <= _LAST_HOUR:
            yield _fact(match, minute=(60 * hour + minute) % _LAST_MINUTE, half_day_known=True)


def _fact(match: re.Match[str], **parts: int | bool | None) -> DateFact:
    parts.setdefault("last_year", parts.get("year"))
    text = match[0].rstrip(", ")
    return DateFact(text, match.start(), match.start() + len(text), **parts)  # type: ignore[arg-type]  # the class checks the names


def _numeric(text: str, match: re.Match[str], language: Language, patterns: _Patterns) -> DateFact | None:
    if match["iso"]:
        year, month, day = (int(match[part]) for part in ("iso_year", "iso_month", "iso_day"))
        return _day(match, year, month, day)
    if match["numeric"]:
        day, month, year = int(match["one"]), int(match["two"]), int(match["short"])
        if len(match["short"]) < _YEAR_DIGITS:
            year += 2000 if year < _PIVOT else 1900
        return _day(match, year, month, day)
    if match["time"]:
        hour, minute = int(match["colon_hour"]), int(match["colon_minute"])
        if hour > _LAST_HOUR:
            return None
        return _fact(match, minute=(60 * hour + minute) % _LAST_MINUTE, half_day_known=hour > _NOON)
    return _year(text, match, language, patterns)


def _day(match: re.Match[str], year: int | None, month: int, day: int) -> DateFact | None:
    if not (1 <= month <= _MONTHS and 1 <= day <= _LAST_DAY):
        return None
    return _fact(match, year=year, month=month, day=day)


def _year(text: str, match: re.Match[str], language: Language, patterns: _Patterns) -> DateFact | None:
    """Return the date of a year alone; None if the number counts something ("1998 people")."""
    year = int(match["alone"])
    before_christ = patterns.before_christ.match(text, match.end())
    if before_christ:
        return DateFact(
            text[match.start() : before_christ.end()], match.start(), before_christ.end(), -year, -year
        )
    follower = _NEXT_WORD.match(text, match.end())
    word = follower[1] if follower else ""
    if word.lower() in language.units or word.lower() in language.scales or year >= _LATEST:
        return None
    preposition = patterns.before_year.search(text[max(0, match.start() - _LOOK_BACK) : match.start()])
    counts = word[:1].isupper() if language.nouns_have_capitals else word[:1].islower()
    free = not word or word.lower() in language.function_words or not counts
    return _fact(match, year=year) if preposition or (free and year >= _EARLIEST) else None


def _month_date(text: str, match: re.Match[str], language: Language, patterns: _Patterns) -> DateFact | None:
    name = match["month"].lower()
    month, day = language.month_numbers[name], match["day"]
    year = int(match["year"]) if match["year"] else None
    if day:
        return _day(match, year, month, int(day))
    if year is None and name in language.weak_months:
        before = text[max(0, match.start() - _LOOK_BACK) : match.start()]
        if not patterns.before_year.search(before):
            return None
    return _fact(match, year=year, month=month)


def _century(text: str, match: re.Match[str], patterns: _Patterns) -> Iterator[DateFact]:
    nth = _number(match["nth"])
    if nth is None:
        return
    before = patterns.before_christ.match(text, match.end())
    if before:
        end = before.end()
        yield DateFact(
            text[match.start() : end], match.start(), end, -_CENTURY * nth, -_CENTURY * (nth - 1) - 1
        )
    else:
        yield _fact(match, year=_CENTURY * (nth - 1), last_year=_CENTURY * nth)


def _number(written: str) -> int | None:
    """Read digits or Roman numerals; None if they are not a century."""
    if written.isdecimal():
        return int(written)
    values = [_ROMAN[sign] for sign in written.upper() if sign in _ROMAN]
    if len(values) != len(written):
        return None
    return sum(-value if value < max(values[at:]) else value for at, value in enumerate(values))
