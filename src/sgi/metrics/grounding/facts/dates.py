"""Extracts dates and times of day."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sgi.metrics.grounding.facts.fact import DateFact
from sgi.metrics.grounding.facts.numerals import ORDINALS
from sgi.metrics.grounding.facts.units import unit_named
from sgi.metrics.grounding.facts.words import FUNCTION_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_MONTH_NUMBERS = {name.lower(): number for number, name in enumerate(_MONTHS, start=1)} | {
    name[:3].lower(): number for number, name in enumerate(_MONTHS, start=1)
}
MONTH_WORDS = frozenset([*_MONTH_NUMBERS, "sept"])
"""Names of months and their short forms, in lower case."""

_WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
WEEKDAY_WORDS = frozenset(day.lower() for day in _WEEKDAYS) | frozenset(
    f"{day.lower()}s" for day in _WEEKDAYS
)
"""Names of weekdays, in lower case."""

_LOUD, _SMALL = "|".join(_MONTHS).upper(), "|".join(_MONTHS).lower()
_MONTH = rf"(?:{'|'.join(_MONTHS)}|(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b\.?|{_LOUD}|{_SMALL})"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?(?![\d:%])"
_YEAR = r"(?:\d{4}|['’]\d\d)(?![\d%])"
_ERA = r"(?:BCE?|B\.C\.(?:E\.)?|CE|C\.E\.|AD|A\.D\.)(?!\w)"
_ORDINAL = "|".join(sorted(ORDINALS, key=len, reverse=True))
_DIGITS = re.compile(r"\d+")
_WITH_DIGITS = re.compile(
    r"(?P<iso>(?<![\d/.-])(?P<iso_year>\d{4})(?P<mark>[-/.])(?P<iso_month>\d{1,2})(?P=mark)"
    r"(?P<iso_day>\d{1,2})(?![\d/-]|\.\d))"
    r"|(?P<numeric>(?<![\d/.-])(?P<one>\d{1,2})(?P<sign>[-/.])(?P<two>\d{1,2})(?P=sign)"
    r"(?P<short>\d{4}|\d\d)(?![\d/-]|\.\d))"
    r"|(?P<time>(?<![\d:.])(?P<hour>\d{1,2})(?:(?::|[ ]:[ ])(?P<minute>[0-5]\d)(?::[0-5]\d)?(?![\d:])"
    r"(?:\s?(?P<half>[AaPp](?:\.?|[ ]\.[ ])[Mm]\b(?:[ ]?\.)?))?"
    r"|\s?(?P<only>[AaPp](?:\.?|[ ]\.[ ])[Mm]\b(?:[ ]?\.)?)))"
    rf"|(?P<day_first>(?<![\w.,/-])(?P<day>{_DAY})[ ](?:of[ ])?(?P<month>{_MONTH})(?!\w),?"
    rf"(?:[ ](?P<year>{_YEAR}))?)"
    r"|(?P<century>(?<![\w.,])(?P<nth>\d{1,2})(?:st|nd|rd|th)(?:[ -]|[ ]?[–-][ ]?)[Cc]entur(?:y|ies)"
    r"(?P<before>\s(?:BCE?|B\.C\.))?)"
    r"|(?P<decade>(?<![\w.,])(?P<tens>\d{3}0)(?:[ ]?['’])?s\b)"
    rf"|(?P<era>(?<![\w.,])(?P<era_year>\d{{1,4}})\s?(?P<which>{_ERA}))"
    r"|(?P<plain>(?<![\w.,/#$€£+])(?P<alone>[12]\d{3})(?![\w%/]|[.,:]\d|-\d{1,3}\b))"
)
_WITH_NAMES = re.compile(
    rf"\b(?P<name>{_MONTH})(?!\w)(?:[ ](?P<name_day>{_DAY})(?:,?[ ](?P<name_year>{_YEAR}))?"
    rf"|,?[ ](?:of[ ])?(?P<only_year>{_YEAR}))?"
    rf"|\b(?P<weekday>{'|'.join(_WEEKDAYS)})s?\b"
    rf"|\b(?P<worded>{_ORDINAL}|{'|'.join(word.title() for word in ORDINALS)})[ -][Cc]entur(?:y|ies)\b"
    r"(?P<earlier>\s(?:BCE?|B\.C\.))?"
    rf"|\b(?:AD|A\.D\.)\s?(?P<anno>\d{{1,4}})\b"
    r"|\b(?P<twelve>noon|midday|midnight)\b"
)
_NAME_HINT = re.compile(
    r"day|noon|midnight|[Cc]entur|AD|A\.D\.|[JFMASOND](?:an|eb|ar|pr|ay|u[nlg]|ep|ct|ov|ec|[A-Z]{2})"
    r"|(?:uary|march|april|may|june|july|august|ember|october),? \d"
)
_BEFORE_MAY = re.compile(
    r"\b(?:in|since|until|till|by|of|from|to|last|next|early|late|mid|this|and|through|during"
    r"|between|before|after|each|every)[ -]$|[(,–-]\s?$",
    re.IGNORECASE,
)
_BEFORE_YEAR = re.compile(
    r"(?:\b(?:in|since|from|until|till|by|of|year|during|between|and|to|before|after|around|circa|early|late"
    r"|mid|through|or|season|spring|summer|autumn|fall|winter)|[(–—-])[ -]?$",
    re.IGNORECASE,
)
_FIRST_NAMES = frozenset({"Jan", "April", "May", "June", "August"})
_CAPITAL = re.compile(r"[ ][A-Z][a-z]")
_NEXT_WORD = re.compile(r"[ -]([^\W\d_]+)")
_NOON, _DAY_MINUTES = 12, 24 * 60
_CENTURY = 100
_LAST_DAY = 31
_YEAR_DIGITS = 4
_PIVOT = 50  # two digits below are of this century
_EARLIEST, _LATEST = 1300, 2100  # numbers that are years without a word like "in"


def dates(text: str) -> tuple[DateFact, ...]:
    """Return the dates and times of day of a text in order.

    Reads ISO dates, dates with English month names, numeric dates, years, decades, centuries, eras, months,
    weekdays and times. A four-digit number is a year after a word like "in" or if no counted thing follows.

    >>> [(date.year, date.last_year, date.month) for date in dates("From May 1914 to the 1920s")]
    [(1914, 1914, 5), (1920, 1929, None)]
    """
    candidates = sorted([*_digit_dates(text), *_named_dates(text)], key=lambda fact: (fact.start, -fact.end))
    facts: list[DateFact] = []
    for fact in candidates:
        if facts and fact.start < facts[-1].end:
            if fact.end - fact.start > facts[-1].end - facts[-1].start:
                facts[-1] = fact
            continue
        facts.append(fact)
    return tuple(facts)


def _digit_dates(text: str) -> Iterator[DateFact]:
    done = 0
    for run in _DIGITS.finditer(text):
        match = _WITH_DIGITS.match(text, run.start()) if run.start() >= done else None
        fact = _READERS[match.lastgroup or ""](text, match) if match else None
        if fact:
            done = fact.end
            yield fact


def _fact(match: re.Match[str], **parts: int | bool | None) -> DateFact | None:
    month, day, year = parts.get("month"), parts.get("day"), parts.get("year")
    if (month is not None and not 1 <= month <= len(_MONTHS)) or (
        day is not None and not 1 <= day <= _LAST_DAY
    ):
        return None
    parts.setdefault("last_year", year)
    text = match[0].rstrip(", ")
    end = match.start() + len(text)
    return DateFact(text, match.start(), end, **parts)  # type: ignore[arg-type]  # the class checks the names


def _iso(_: str, match: re.Match[str]) -> DateFact | None:
    year, month, day = (int(match[part]) for part in ("iso_year", "iso_month", "iso_day"))
    return _fact(match, year=year, month=month, day=day)


def _numeric(_: str, match: re.Match[str]) -> DateFact | None:
    one, two, year = int(match["one"]), int(match["two"]), int(match["short"])
    if len(match["short"]) < _YEAR_DIGITS:
        year += 2000 if year < _PIVOT else 1900
    if one > len(_MONTHS):
        return _fact(match, year=year, month=two, day=one)
    return _fact(match, year=year, month=one, day=two, swappable=two <= len(_MONTHS) and one != two)


def _time(_: str, match: re.Match[str]) -> DateFact | None:
    hour, minute = int(match["hour"]), int(match["minute"] or 0)
    half = (match["half"] or match["only"] or "").lower()
    if hour > (_NOON if half else 24):
        return None
    if half:
        hour = hour % _NOON + (_NOON if half.startswith("p") else 0)
    return _fact(match, minute=(60 * hour + minute) % _DAY_MINUTES, half_day_known=bool(half) or hour > _NOON)


def _day_first(_: str, match: re.Match[str]) -> DateFact | None:
    year = _full_year(match["year"]) if match["year"] else None
    return _fact(match, day=_leading_number(match["day"]), month=_month(match["month"]), year=year)


def _century(_: str, match: re.Match[str]) -> DateFact | None:
    return _hundred(match, int(match["nth"]), before=bool(match["before"]))


def _hundred(match: re.Match[str], nth: int, *, before: bool) -> DateFact | None:
    if before:
        return _fact(match, year=-_CENTURY * nth, last_year=-_CENTURY * (nth - 1) - 1)
    return _fact(match, year=_CENTURY * (nth - 1), last_year=_CENTURY * nth)


def _decade(_: str, match: re.Match[str]) -> DateFact | None:
    year = int(match["tens"])
    return _fact(match, year=year, last_year=year + (99 if year % _CENTURY == 0 else 9))


def _era(_: str, match: re.Match[str]) -> DateFact | None:
    year = int(match["era_year"])
    return _fact(match, year=-year if match["which"].startswith("B") else year)


def _plain(text: str, match: re.Match[str]) -> DateFact | None:
    """Return the date of a year alone ("1998"); None if the number counts something ("1998 people")."""
    year = int(match["alone"])
    follower = _NEXT_WORD.match(text, match.end())
    word = follower[1] if follower else ""
    counts = unit_named(word) is not None and word.lower() not in {"in", "a", "f", "c", "k", "m"}
    preposition = _BEFORE_YEAR.search(text[max(0, match.start() - 12) : match.start()])
    free = not word or word[0].isupper() or word.lower() in FUNCTION_WORDS
    likely = year >= _EARLIEST
    if counts or not (preposition or (free and likely)) or year >= _LATEST:
        return None
    return _fact(match, year=year)


_READERS = {
    "iso": _iso,
    "numeric": _numeric,
    "time": _time,
    "day_first": _day_first,
    "century": _century,
    "decade": _decade,
    "era": _era,
    "plain": _plain,
}


def _named_dates(text: str) -> Iterator[DateFact]:
    if not _NAME_HINT.search(text):
        return
    for match in _WITH_NAMES.finditer(text):
        if match["weekday"]:
            fact = _fact(match, weekday=_WEEKDAYS.index(match["weekday"]))
        elif match["worded"]:
            fact = _hundred(match, ORDINALS[match["worded"].lower()], before=bool(match["earlier"]))
        elif match["twelve"]:
            minute = 0 if match["twelve"] == "midnight" else _DAY_MINUTES // 2
            fact = _fact(match, minute=minute, half_day_known=True)
        elif match["anno"]:
            fact = _fact(match, year=int(match["anno"]))
        else:
            fact = _month_first(text, match)
        if fact:
            yield fact


def _month_first(text: str, match: re.Match[str]) -> DateFact | None:
    name, day, year = match["name"], match["name_day"], match["name_year"] or match["only_year"]
    before = text[max(0, match.start() - 10) : match.start()]
    if not day and not year and name in {"may", "march", "august"}:
        return None
    if (
        not day
        and not year
        and name.rstrip(".") in {"May", "March", "MAY", "MARCH", "Mar", "Jan", "Dec"}
        and not _BEFORE_MAY.search(before)
    ):
        return None
    if not day and not year and name in _FIRST_NAMES and _CAPITAL.match(text, match.end()):
        return None  # "Jan Hus"
    return _fact(
        match,
        month=_month(name),
        day=_leading_number(day) if day else None,
        year=_full_year(year) if year else None,
    )


def _full_year(text: str) -> int:
    """Read "1998" or "'98"."""
    year = int(text.lstrip("'’"))
    return year if text[0].isdigit() else year + (2000 if year < _PIVOT else 1900)


def _leading_number(text: str) -> int:
    return int(text.rstrip("stndrh"))


def _month(name: str) -> int:
    return _MONTH_NUMBERS[name.lower().rstrip(".")[:3]]
