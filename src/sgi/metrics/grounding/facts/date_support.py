"""Checks whether a passage supports a date."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sgi.metrics.grounding.facts.extract import clause_at, numbers_of
from sgi.metrics.grounding.facts.number_support import FactMatch
from sgi.metrics.grounding.facts.numerals import TENS

if TYPE_CHECKING:
    from sgi.metrics.grounding.facts.fact import DateFact

_CENTURY, _DECADE = 100, 9
_DECADE_WORDS = {10 * number: f"{word[:-1]}ies" for number, word in enumerate(TENS, start=2)}
_HALF_DAY = 12 * 60


def date_support(date: DateFact, passage: str) -> FactMatch | None:
    """Find where a passage states a date or a more exact one; its parts may stand apart in one clause.

    >>> text = "Signed on July 4, 1776, and again in 1778."
    >>> from sgi.metrics.grounding.facts.extract import numbers_of
    >>> phrase_dates = numbers_of("July 1776, the 1770s, July 1778, or in 1777").dates
    >>> [bool(date_support(date, text)) for date in phrase_dates]
    [True, True, False, False]
    """
    numbers = numbers_of(passage)
    for other in numbers.dates:
        if states(date, other):
            return FactMatch.at(other, "equal" if date.text == other.text else "same date")
    if date.year is not None and date.last_year is not None and date.month is None:
        is_year = date.last_year == date.year
        for number in numbers.quantities:
            if not number.dimension and not number.is_range and date.year <= number.low <= date.last_year:
                return FactMatch.at(number, "equal" if is_year else "same date")
    return _decade_in_words(date, passage) or _in_two_parts(date, passage)


def _decade_in_words(date: DateFact, passage: str) -> FactMatch | None:
    """Find "the nineties" for the 1990s."""
    if date.year is None or date.last_year != date.year + _DECADE or date.year < 0:
        return None
    word = _DECADE_WORDS.get(date.year % _CENTURY)
    match = re.search(rf"\b(?:the|nineteen|early|mid|late)[ -]{word}\b", passage) if word else None
    return FactMatch(match[0], *match.span(), "same date") if match else None


def states(date: DateFact, other: DateFact) -> bool:
    """Return whether ``other`` is the same date as ``date``, or a more exact form of it."""
    if date.minute is not None:
        return _same_time(date, other)
    if date.year is not None and not _year_within(date, other):
        return False
    if date.weekday is not None and date.weekday != other.weekday:
        return False
    own, theirs = (date.month, date.day), (other.month, other.day)
    if _covers(own, theirs):
        return True
    return (other.swappable and _covers(own, theirs[::-1])) or (date.swappable and _covers(own[::-1], theirs))


def _covers(own: tuple[int | None, int | None], theirs: tuple[int | None, int | None]) -> bool:
    return all(mine is None or mine == other for mine, other in zip(own, theirs, strict=True))


def _year_within(date: DateFact, other: DateFact) -> bool:
    if other.year is None or other.last_year is None or date.year is None or date.last_year is None:
        return False
    # The eighteenth century ends in 1800, the 1700s in 1799.
    end = date.last_year + (1 if date.last_year - date.year == _CENTURY - 1 else 0)
    return date.year <= other.year and other.last_year <= end


def _same_time(date: DateFact, other: DateFact) -> bool:
    if date.minute is None or other.minute is None:
        return False
    if date.half_day_known and other.half_day_known:
        return date.minute == other.minute
    return date.minute % _HALF_DAY == other.minute % _HALF_DAY


def _in_two_parts(date: DateFact, passage: str) -> FactMatch | None:
    """Find the year and the day of a date in separate places of one clause."""
    if date.year is None or date.month is None:
        return None
    passage_dates = numbers_of(passage).dates
    days: dict[int, DateFact] = {}  # the first of each clause
    for day in passage_dates:
        if _covers((date.month, date.day), (day.month, day.day)) and day.year in {None, date.year}:
            days.setdefault(clause_at(passage, day.start).start, day)
    for year in passage_dates if days else ():
        same = days.get(clause_at(passage, year.start).start) if _year_within(date, year) else None
        if same:
            first, last = sorted((year, same), key=lambda part: part.start)
            return FactMatch.between(first, last, f"{same.text} and {year.text}")
    return None


def comparable(date: DateFact, other: DateFact) -> bool:
    """Return whether two dates give the same parts, so that one can contradict the other."""
    if date.minute is not None or other.minute is not None:
        return date.minute is not None and other.minute is not None
    if date.weekday is not None:
        return other.weekday is not None
    if date.year is not None and other.year is not None:
        # A decade does not contradict a more exact year in it.
        return not _year_within(other, date) or (other.month is not None and date.month is not None)
    return date.month is not None and other.month is not None and (date.day is None or other.day is not None)
