"""Finds a clause of a passage that says the opposite: the same words with or without a negation."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from sgi.metrics.grounding.analysed_text import once_per_text
from sgi.metrics.grounding.clauses import clause_at, clauses_of
from sgi.metrics.grounding.facts import overlaps
from sgi.metrics.grounding.language_tables import language_of
from sgi.metrics.grounding.value_support import Match

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.metrics.grounding.clauses import Clause
    from sgi.metrics.grounding.language_tables import Language

_MAX_NEGATIONS = 1  # "not … without …" is hard to read


class _Negated(NamedTuple):
    """The clauses of a text with one negation, and the positions of all negated clauses."""

    clauses: tuple[Clause, ...]
    starts: frozenset[int]


@once_per_text
def _negated(text: str) -> _Negated:
    language = language_of(text)
    bounds = [match.span() for match in _bounds(language).finditer(text)]
    counts = Counter(
        clause_at(text, match.start())
        for match in _negations(language).finditer(text)
        if not overlaps(*match.span(), bounds)
    )
    single = tuple(clause for clause, count in counts.items() if count <= _MAX_NEGATIONS)
    return _Negated(single, frozenset(clause.start for clause in counts))


@lru_cache(maxsize=8)
def _negations(language: Language) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(sorted(language.negations))})\b|n['’]t\b", re.IGNORECASE)


@lru_cache(maxsize=8)
def _bounds(language: Language) -> re.Pattern[str]:
    """Return a pattern of bounds: "no more than" does not negate a clause."""
    return re.compile(rf"\b(?:{language.least}|{language.most})(?!\w)", re.IGNORECASE)


def opposite(sentence: str, passages: Sequence[str]) -> tuple[int, Match] | None:
    """Return a clause of a passage that has the same content words as a sentence, but for one negation.

    >>> opposite("Open the valve.", ["Do not open the valve."])[1].text
    'Do not open the valve.'
    """
    own = [clause for clause in clauses_of(sentence) if clause.stems]
    if len(own) != 1:
        return None
    negated = _negated(sentence)
    if negated.starts and not negated.clauses:
        return None
    negations = language_of(sentence).negations
    words = own[0].stems - negations
    found: tuple[int, Match] | None = None
    for number, passage in enumerate(passages):
        theirs = _negated(passage)
        against = clauses_of(passage) if negated.starts else theirs.clauses
        for clause in against:
            if clause.stems - negations == words and (clause.start in theirs.starts) != bool(negated.starts):
                text = passage[clause.start : clause.end]
                found = found or (number, Match(text.strip(), clause.start, clause.end, "opposite"))
    if found is None or any(
        _has_clause(passage, words, negations, negated=bool(negated.starts)) for passage in passages
    ):
        return None
    return found


def _has_clause(passage: str, words: frozenset[str], negations: frozenset[str], *, negated: bool) -> bool:
    """Return whether a passage has a clause with the same words and polarity."""
    starts = _negated(passage).starts
    return any(
        clause.stems - negations == words and (clause.start in starts) == negated
        for clause in clauses_of(passage)
    )
