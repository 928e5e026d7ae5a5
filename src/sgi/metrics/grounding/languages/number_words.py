"""Reads number words of other languages than English."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.metrics.grounding.languages.record import Language

_WORD = re.compile(r"[^\W\d_]+")
_LONGEST = 60  # letters of a compound number word
_MOST_WORDS = 12
_HUNDRED, _THOUSAND = 100, 1000
_FOUR, _SIX, _TEN, _TWENTY = 4, 6, 10, 20


class SpeltNumber(NamedTuple):
    """A number in words, from character ``start`` to ``end``; ``step`` is its last scale, or 1."""

    start: int
    end: int
    value: int
    step: int


def number_of_word(word: str, language: Language) -> int | None:
    """Return the number that a word in small letters means; None for articles, scales and other words.

    >>> from sgi.metrics.grounding.languages.record import language_named
    >>> [number_of_word(word, language_named("de")) for word in ("einundzwanzig", "eine", "Haus")]
    [21, None, None]
    """
    if word in language.one:
        return None
    parts = _parts(word, language)
    number = _value(parts, language) if parts else None
    return None if number is None or parts[0] in language.scales else number[0]


def spelt_numbers(text: str, language: Language) -> Iterator[SpeltNumber]:
    """Yield the numbers in words of a text; a scale alone ("millions") and an article are no numbers."""
    words = list(_WORD.finditer(text))
    place = 0
    while place < len(words):
        number = _longest(text, words, place, language)
        if number is None:
            place += 1
            continue
        spelt, place = number
        yield spelt


def _longest(
    text: str, words: Sequence[re.Match[str]], place: int, language: Language
) -> tuple[SpeltNumber, int] | None:
    """Return the longest number that begins with the word at this place, and the place after it."""
    parts: list[str] = []
    best = None
    for at in range(place, min(place + _MOST_WORDS, len(words))):
        word = words[at][0].lower()
        if at > place and text[words[at - 1].end() : words[at].start()] not in {" ", "-", "\u00a0"}:
            break
        pieces = (word,) if word in language.joins and parts else _parts(word, language)
        if not pieces:
            break
        parts += pieces
        if word in language.joins:
            continue
        value = _value(parts, language)
        if value is None:
            break
        if at > place or (
            word not in language.one and (word not in language.scales or value[0] == _THOUSAND)
        ):
            best = SpeltNumber(words[place].start(), words[at].end(), *value), at + 1
    return best


@lru_cache(maxsize=1 << 14)
def _parts(word: str, language: Language) -> tuple[str, ...]:
    """Split a number word into the words of which it consists; empty if it is another word."""
    if word in language.numbers or word in language.scales or word in language.hundred:
        return (word,)
    if not language.compound or len(word) > _LONGEST:
        return ()
    pattern = _compound_pattern(language)
    parts: list[str] = []
    place = 0
    while place < len(word):
        match = pattern.match(word, place)
        if match is None:
            return ()
        parts.append(match[0])
        place = match.end()
    return tuple(parts) if parts[-1] not in language.joins and parts[0] not in language.joins else ()


@lru_cache(maxsize=8)
def _compound_pattern(language: Language) -> re.Pattern[str]:
    small = {*language.numbers, *language.joins, *language.hundred}
    words = [*small, *(word for word, scale in language.scales.items() if scale == _THOUSAND)]
    return re.compile("|".join(sorted(words, key=len, reverse=True)))


def _value(parts: Sequence[str], language: Language) -> tuple[int, int] | None:
    """Return the number of these words, and its step; None if they are not one number."""
    total, group, step, last_scale = 0, 0, 1, 0
    joined = False
    for word in parts:
        if word in language.joins:
            joined = True
            continue
        if word in language.hundred:
            if group >= _TEN:
                return None
            group, step = (group or 1) * _HUNDRED, _HUNDRED
        elif word in language.scales:
            scale = step = language.scales[word]
            if scale == last_scale:
                return None
            # "Mil millones" are 1000 times a million.
            total = (total + group) * scale if total and scale > last_scale else total + (group or 1) * scale
            group, last_scale = 0, scale
        else:
            added = language.numbers[word]
            if language.four_twenties and added == _TWENTY and group % _HUNDRED == _FOUR:
                group, step = group - _FOUR + _FOUR * _TWENTY, 1
                continue
            teen = language.four_twenties and group % _HUNDRED == _TEN and _SIX < added < _TEN  # "dix-sept"
            if not teen and not _fits(group, added, joined=joined, ones_first=language.compound):
                return None
            group, step = group + added, 1
        joined = False
    return total + group, step


def _fits(group: int, added: int, *, joined: bool, ones_first: bool) -> bool:
    """Return whether a number word continues a number below 1000: "vingt" + "deux", "zwei" + "zwanzig"."""
    low = group % _HUNDRED
    if added >= _HUNDRED:
        return group == 0
    if low == 0:
        return True
    if low % _TEN == 0:
        return low >= _TWENTY and added < _TWENTY
    return ones_first and joined and low < _TEN and added % _TEN == 0 and added >= _TWENTY
