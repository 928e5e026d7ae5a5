"""Reads number words."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from sgi.metrics.grounding.language_tables import ENGLISH, any_of, first_letters, once_per_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.metrics.grounding.language_tables import Language

_WORD = re.compile(r"[^\W\d_]+")
_GAPS = frozenset({" ", "-", "\u00a0"})
_LONGEST = 60  # letters of a compound number word
_MOST_WORDS = 12
_HUNDRED, _THOUSAND = 100, 1000
_FOUR, _SIX, _TEN, _TWENTY = 4, 6, 10, 20


class SpeltNumber(NamedTuple):
    """A number in words, from character ``start`` to ``end``.

    ``step`` is the value of its last scale word, such as 1,000 for "thousand", or 1.
    """

    start: int
    end: int
    value: int
    step: int


def number_of_word(word: str, language: Language) -> int | None:
    """Return the number that a word in small letters means; None for articles, scales and other words.

    >>> from sgi.metrics.grounding.language_tables import language_named
    >>> [number_of_word(word, language_named("de")) for word in ("einundzwanzig", "eine", "Haus")]
    [21, None, None]
    """
    if word in language.one:
        return None
    if not language.compound:
        return language.numbers.get(word)
    parts = _parts(word, language)
    number = _value(parts, language) if parts else None
    return None if number is None or parts[0] in language.scales else number[0]


def may_have_number_words(text: str, language: Language) -> bool:
    """Return whether a text may have a number, rank, part or time of day in words; it is fast."""
    return language.compound or not _vocabulary(language).isdisjoint(runs_of_letters(text))


@once_per_text
def runs_of_letters(text: str) -> frozenset[str]:
    """Return the runs of letters of a text, in small letters.

    A pattern of words cannot match where none of them is a run: this is faster to see than to search.

    >>> sorted(runs_of_letters("It's 3pm, IT is."))
    ['is', 'it', 'pm', 's']
    """
    return frozenset(_WORD.findall(text.lower()))


@lru_cache(maxsize=8)
def _vocabulary(language: Language) -> frozenset[str]:
    tables = (
        language.numbers,
        language.hundred,
        language.scales,
        language.ordinals,
        language.parts,
        language.one,
    )
    return frozenset({"noon", "midnight"}.union(*tables))


def spelt_numbers(text: str, language: Language) -> Iterator[SpeltNumber]:
    """Yield the numbers in words of a text; a scale alone ("millions") and an article are not numbers.

    >>> from sgi.metrics.grounding.language_tables import language_named
    >>> [number.value for number in spelt_numbers("Twenty-one of two hundred and ten", language_named("en"))]
    [21, 210]
    """
    done = 0
    if not language.compound and runs_of_letters(text).isdisjoint(_starting_words(language)):
        return
    for match in _starts(language).finditer(text):
        if match.start() >= done:
            number = _longest(text, match.start(), language)
            if number is not None:
                done = number.end
                yield number


@lru_cache(maxsize=8)
def _starts(language: Language) -> re.Pattern[str]:
    """Compile a pattern of the begin of a word that may begin a number."""
    words, end = _starting_words(language), "" if language.compound else r"\b"
    return re.compile(rf"\b(?=[{first_letters(words)}])(?:{any_of(words)}){end}", re.IGNORECASE)


@lru_cache(maxsize=8)
def _starting_words(language: Language) -> frozenset[str]:
    return frozenset({*language.numbers, *language.hundred, *language.scales})


def _longest(text: str, start: int, language: Language) -> SpeltNumber | None:
    """Return the longest number that begins with the word at this place."""
    parts: list[str] = []
    best, end = None, start
    for count in range(_MOST_WORDS):
        match = _WORD.match(text, start if not count else end + 1)
        if match is None or (count and text[end : match.start()] not in _GAPS):
            break
        word, end = match[0].lower(), match.end()
        pieces = (word,) if word in language.joins and parts else _parts(word, language)
        if not pieces:
            break
        parts += pieces
        if word in language.joins:
            continue
        value = _value(parts, language)
        if value is None:
            break
        alone = value[0] == _THOUSAND and language.code != ENGLISH  # "mille", but not "thousands of"
        if count or (word not in language.one and (word not in language.scales or alone)):
            best = SpeltNumber(start, end, *value)
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
    return re.compile(any_of(words))


def _value(parts: Sequence[str], language: Language) -> tuple[int, int] | None:
    """Return the number of these words, and its step; None if they are not one number."""
    total, group, step, last_scale = 0, 0, 1, 0
    joined = False
    for word in parts:
        if word in language.joins:
            joined = True
            continue
        if word in language.hundred:
            if group >= _TWENTY:
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
            if not teen and not _fits(group, added, language, joined=joined):
                return None
            group, step = group + added, 1
        joined = False
    return total + group, step


def _fits(group: int, added: int, language: Language, *, joined: bool) -> bool:
    """Return whether a number word continues a number below 1000: "vingt" + "deux", "zwei" + "zwanzig"."""
    low = group % _HUNDRED
    if added >= _HUNDRED:
        return group == 0
    if low == 0:
        return True
    if low % _TEN == 0:
        return low >= _TWENTY and added < (_TWENTY if language.four_twenties else _TEN)  # "soixante-dix"
    return language.compound and joined and low < _TEN and added % _TEN == 0 and added >= _TWENTY
