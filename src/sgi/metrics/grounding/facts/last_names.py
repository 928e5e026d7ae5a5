"""Supports the full name of a person by the last name alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sgi.metrics.grounding.facts.extract import folded_words
from sgi.metrics.grounding.facts.name_support import GENERIC_LAST_WORDS, rivals, without_titles
from sgi.metrics.grounding.facts.name_tables import CITIES, PLACES
from sgi.metrics.grounding.facts.number_support import FactMatch
from sgi.metrics.grounding.facts.words import FUNCTION_WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.metrics.grounding.facts.fact import Name

_NAME_WORDS = range(2, 5)  # of a person, without titles
_SHORTEST = 3
_INITIAL = 2  # "B."
_LOOK_BACK = 30
_WORD_BEFORE = re.compile(r"([^\W\d_]+)\.?[ ]$")
_OPENS = re.compile(r"(?:^|[.!?:;\n])[\s\"'(]*$")
_WORD_AFTER = re.compile(r"'s\b|[ ]([^\W\d_]+)")
_NO_PERSON = GENERIC_LAST_WORDS | PLACES | CITIES
_TITLES = frozenset({"Mr", "Mrs", "Ms", "Dr", "Sir", "President", "Senator"})


def last_name_support(name: Name, passages: Sequence[str]) -> tuple[int, FactMatch] | None:
    """Find the passage that calls a person by the last name, before any full name with another first name.

    Not for places, and not for names with a last word that many things share.

    >>> from sgi.metrics.grounding.facts.extract import names_of
    >>> name = names_of("It was Elvis Presley.")[0]
    >>> last_name_support(name, ["Presley was born in Tupelo."])[1].how
    'last name'
    >>> last_name_support(name, ["Ada Presley came. Presley was born in Brooklyn."]) is None
    True
    """
    words = without_titles(name)
    if not _is_person(name, words):
        return None
    written = re.compile(rf"(?<![\w-]){re.escape(name.text.split()[-1])}(?![\w-])")
    for number, passage in enumerate(passages):
        if f" {words[-1]} " not in folded_words(passage):
            continue
        others = rivals(name, words, passage)
        end = min([other.start for other in others], default=len(passage))
        is_word = any(f" {part.lower()} " in passage for part in name.text.split())
        match = None if is_word else next(filter(_stands_alone, written.finditer(passage, 0, end)), None)
        if match:
            return number, FactMatch(match[0], *match.span(), "last name")
        if others:
            return None
    return None


def _is_person(name: Name, words: tuple[str, ...]) -> bool:
    parts = name.text.split()
    return (
        len(words) in _NAME_WORDS
        and len(words[-1]) >= _SHORTEST
        and all(map(str.isalpha, words))
        and FUNCTION_WORDS.isdisjoint(words)
        and words[-1] not in _NO_PERSON
        and words[0] not in PLACES
        and all(part[0].isupper() and (len(part) <= _INITIAL or not part.isupper()) for part in parts)
    )


def _stands_alone(match: re.Match[str]) -> bool:
    """Return whether a word is a whole name in its passage."""
    passage, (start, end) = match.string, match.span()
    before = passage[max(0, start - _LOOK_BACK) : start]
    word = _WORD_AFTER.match(passage, end)
    after = word[1] if word else ""
    if after and after[0].isupper():
        return False
    if _OPENS.search(before):  # a capital says nothing here
        return bool(word) and (not after or after in FUNCTION_WORDS or after.endswith("ed"))
    earlier = _WORD_BEFORE.search(before)
    if not earlier:
        return True
    small = earlier[1].lower()
    return small != "the" and (earlier[1] in _TITLES or small in FUNCTION_WORDS or earlier[1] == small)
