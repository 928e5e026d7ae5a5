"""Finds the name of a passage that contradicts a name of a sentence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from sgi.metrics.grounding.analysed_text import once_per_text
from sgi.metrics.grounding.facts.extract import clause_at, folded_words, names_of, numbers_of
from sgi.metrics.grounding.facts.fact import merge_spans, overlaps
from sgi.metrics.grounding.facts.name_support import GENERIC_LAST_WORDS, rival, without_titles
from sgi.metrics.grounding.facts.name_tables import PLACES
from sgi.metrics.grounding.facts.numbered_names import numbered
from sgi.metrics.grounding.facts.place_levels import is_place, same_level
from sgi.metrics.grounding.facts.spelling import similar
from sgi.metrics.grounding.facts.words import FUNCTION_WORDS, fold, stem, word_set
from sgi.metrics.grounding.languages.of_text import tables_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.metrics.grounding.facts.extract import Roles
    from sgi.metrics.grounding.facts.fact import Fact, Name

# Words after which another name does not contradict: it is one more, or a relative.
_ADDS = re.compile(
    r"\b(?:also|another|others?|too|such as|including|as well|brothers?|sisters?|son|daughter|wife|husband"
    r"|parents?|father|mother|twins?)\b",
    re.IGNORECASE,
)
# Words before a name that several names share: a film has many actors.
_SHARED = word_set(
    """
    star starred starring stars featured features featuring include included including by with and or to for
    actor actress author writer singer member players player like named called as than from
    """
)
_ARTICLES = frozenset({"a", "an", "the"})
_NEAR = 60
_SAME_PLACE, _SAME_SENTENCE = 0.6, 0.8
_SAME_START = 5


class _Context(NamedTuple):
    """The stems of the two words before a name, without articles, and of the word after it."""

    second: str
    before: str
    after: str


def other_names(
    sentence: str, name: Name, passage: str, roles: Roles, around: dict[str, float]
) -> Iterator[tuple[float, Fact, str]]:
    """Yield the names of a passage that contradict a name, with the shared share of words and the rule.

    A name contradicts another one with the same last word and another first name or number, if the last word
    is not one that many names share. It also contradicts a name of the same kind in the same place of a
    similar clause: after the same two words ("directed by"), or between the same two ("a Sydney clifftop").
    """
    language = tables_of(sentence)
    if (_ADDS if language is None else language.additions_pattern).search(sentence):
        return
    relative = rival(name, passage)
    if relative:
        if numbered(name.words):
            yield 1.0, relative, "other number"
            return
        if relative.words[-1] not in GENERIC_LAST_WORDS | PLACES and not _is_relative(passage, relative):
            yield 1.0, relative, "other first name"
        return
    own, words = None, folded_words(sentence)
    for other in names_of(passage):
        if any(f" {word} " in words for word in other.words):
            continue
        share = roles.share(around, clause_at(passage, other.start))
        if share < _SAME_PLACE or not same_level(name.words, other.words):
            continue
        own = own or _context(sentence, name)
        same = _same_place(own, _context(passage, other), share, place=is_place(name.words))
        if not same or _is_variant(name, other):
            continue
        if not overlaps(other.start, other.end, _date_spans(passage)):
            yield share, other, "other name"


def _is_relative(passage: str, name: Name) -> bool:
    """Return whether a word for a relative stands in the clause before a name."""
    start = max(clause_at(passage, name.start).start, name.start - _NEAR)
    return _ADDS.search(passage[start : name.start]) is not None


@once_per_text
def _date_spans(passage: str) -> list[tuple[int, int]]:
    return merge_spans([(date.start, date.end) for date in numbers_of(passage).dates])


def _is_variant(name: Name, other: Name) -> bool:
    """Return whether two names have similar words: "Faroe" and "Faeroes", "Ingushetia" and "Ingush"."""
    return any(
        similar(own, theirs) or own[:_SAME_START] == theirs[:_SAME_START]
        for own in without_titles(name)
        for theirs in without_titles(other)
    )


def _context(text: str, name: Fact) -> _Context:
    clause = clause_at(text, name.start)
    before = fold(text[max(clause.start, name.start - _NEAR) : name.start]).split()
    words = ["", "", *[stem(word) for word in before if word not in _ARTICLES]]
    after = fold(text[name.end : min(clause.end, name.end + _NEAR)]).split()
    return _Context(words[-2], words[-1], stem(after[0]) if after else "")


def _same_place(own: _Context, theirs: _Context, share: float, *, place: bool) -> bool:
    """Return whether two names stand in the same place of their clauses."""
    is_content = bool(own.after) and own.after not in FUNCTION_WORDS
    if own.after == theirs.after and is_content and (place or own.before == theirs.before != ""):
        return True
    if not own.before or own.before != theirs.before:
        return False
    if own.before not in FUNCTION_WORDS:
        return share >= _SAME_SENTENCE and own.before not in _SHARED
    if own.before == "of" and not place:
        return False  # "the surface of the Earth" is not the surface of the Sun
    return own.second == theirs.second and own.second not in FUNCTION_WORDS | _SHARED and bool(own.second)
