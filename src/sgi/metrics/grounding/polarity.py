"""Finds a clause of a passage that says the opposite: the same words with or without a negation."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from sgi.metrics.grounding.analysed_text import AnalysedText, once_per_text
from sgi.metrics.grounding.clauses import clauses_of
from sgi.metrics.grounding.facts import overlaps
from sgi.metrics.grounding.language_tables import language_of
from sgi.metrics.grounding.value_support import Match
from sgi.metrics.grounding.words import split_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.metrics.grounding.language_tables import Language

_MAX_NEGATIONS = 1  # "not … without …" is hard to read


class _Polar(NamedTuple):
    start: int
    end: int
    words: frozenset[str]
    negations: int


@once_per_text
def _polar_clauses(text: str) -> tuple[_Polar, ...]:
    language = language_of(text)
    words = split_words(AnalysedText.of(text))
    bounds = [match.span() for match in _bounds(language).finditer(text)]
    negative = [
        stem in language.negations and not overlaps(start, start + 1, bounds)
        for stem, start in zip(words.stems, words.starts.tolist(), strict=True)
    ]
    found = []
    for clause in clauses_of(text):
        first, last = words.starts.searchsorted((clause.start, clause.end))
        stems = clause.stems - language.negations
        found.append(_Polar(clause.start, clause.end, stems, sum(negative[first:last])))
    return tuple(found)


@lru_cache(maxsize=8)
def _bounds(language: Language) -> re.Pattern[str]:
    """Return a pattern of bounds: "no more than" does not negate a clause."""
    return re.compile(rf"\b(?:{language.least}|{language.most})(?!\w)", re.IGNORECASE)


def opposite(sentence: str, passages: Sequence[str]) -> tuple[int, Match] | None:
    """Return a clause of a passage that has the same content words as a sentence, but for one negation.

    >>> opposite("Open the valve.", ["Do not open the valve."])[1].text
    'Do not open the valve.'
    """
    own = [clause for clause in _polar_clauses(sentence) if clause.words]
    if len(own) != 1 or own[0].negations > _MAX_NEGATIONS:
        return None
    claim = own[0]
    found: tuple[int, Match] | None = None
    for number, passage in enumerate(passages):
        for clause in _polar_clauses(passage):
            if clause.negations > _MAX_NEGATIONS or claim.words != clause.words:
                continue
            if clause.negations == claim.negations:
                return None
            text = passage[clause.start : clause.end]
            found = found or (number, Match(text.strip(), clause.start, clause.end, "opposite"))
    return found
