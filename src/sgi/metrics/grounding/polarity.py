"""Finds a clause of a passage that says the opposite: the same words with or without a negation."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from sgi.metrics.grounding.cells import denials_of
from sgi.metrics.grounding.clauses import clause_at, clauses_of
from sgi.metrics.grounding.facts import overlaps
from sgi.metrics.grounding.language_tables import (
    AnalysedText,
    any_of,
    first_letters,
    has_aside,
    language_of,
    once_per_text,
)
from sgi.metrics.grounding.number_words import runs_of_letters
from sgi.metrics.grounding.value_support import Match
from sgi.metrics.grounding.words import split_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.metrics.grounding.clauses import Clause
    from sgi.metrics.grounding.language_tables import Language

_NEAR = 8


class _Negated(NamedTuple):
    """The clauses of a text that one negation negates, and the positions of all clauses with negations."""

    clauses: tuple[Clause, ...]
    starts: frozenset[int]


_NOTHING_NEGATED = _Negated((), frozenset())


@once_per_text
def _negated(text: str) -> _Negated:
    language = language_of(text)
    runs = runs_of_letters(text)
    if "t" not in runs and runs.isdisjoint(language.negations):  # "don't" ends with a "t" after a mark
        return _NOTHING_NEGATED
    patterns = _patterns(language)
    negations = [*patterns.negation.finditer(text)]
    bounds = [match.span() for match in patterns.bounds.finditer(text)]
    counts: Counter[Clause] = Counter()
    for match in negations:
        if not overlaps(*match.span(), bounds):
            # "or not" and "not as" do not negate their clause.
            is_partial = patterns.before.search(text[max(0, match.start() - _NEAR) : match.start()])
            is_partial = is_partial or patterns.after.match(text, match.end())
            counts[clause_at(text, match.start())] += 1 + bool(is_partial)
    single = tuple(clause for clause, count in counts.items() if count == 1)
    return _Negated(single, frozenset(clause.start for clause in counts))


class _Patterns(NamedTuple):
    negation: re.Pattern[str]
    bounds: re.Pattern[str]
    before: re.Pattern[str]
    after: re.Pattern[str]


@lru_cache(maxsize=8)
def _patterns(language: Language) -> _Patterns:
    joins = rf"{language.conjunction}|{language.alternative}|but"
    patterns = (
        rf"(?=[n{first_letters(language.negations)}])(?:\b(?:{any_of(language.negations)})\b|n['’]t\b)",
        rf"^\W*\w+,|\b(?:{language.least}|{language.most}|n\w+ later than)(?!\w)",  # "No, …", "no more than"
        rf"\b(?:{joins})\s$",
        r"(?:\s\w+){0,2}\s(?:as|only|just|all|every|necessarily)\b|[-.]",
    )
    return _Patterns(*(re.compile(pattern, re.IGNORECASE) for pattern in patterns))


def opposite(sentence: str, passages: Sequence[str]) -> tuple[int, Match] | None:
    """Return a clause of a passage that has the same content words as a sentence and differs by one negation.

    >>> opposite("Open the valve.", ["Do not open the valve."])[1].text
    'Do not open the valve.'
    """
    negated = _negated(sentence)
    if not negated.starts and not any(_negated(passage).clauses for passage in passages):
        return None
    own = [clause for clause in clauses_of(sentence) if clause.stems]
    if len(own) != 1 or (negated.starts and not negated.clauses):
        return None
    words = _words(own[0])
    found: tuple[int, Match] | None = None
    for number, passage in enumerate(passages):
        theirs = _negated(passage)
        # A clause with the same words and the same polarity outweighs one with the other.
        against, with_it = theirs.clauses, theirs.starts
        if negated.starts:
            against = tuple(clause for clause in clauses_of(passage) if clause.start not in with_it)
        rival = next((clause for clause in against if _words(clause) == words), None)
        if rival is None:
            continue
        if any(
            _words(clause) == words and (clause.start in with_it) == bool(negated.starts)
            for clause in clauses_of(passage)
        ):
            return None
        text = passage[rival.start : rival.end]
        found = found or (number, Match(text.strip(), rival.start, rival.end, "opposite"))
    return found


def denied_attribute(sentence: str, passages: Sequence[str]) -> tuple[int, Match] | None:
    r"""Return the place where a table denies the statement of a sentence.

    The sentence is not a question. It has the words of the key, no negation and no word of `Language.aside`.

    >>> denied_attribute("It has outdoor seating.", ["Parking: yes\nOutdoor seating: no"])[1].text
    'Outdoor seating: no'
    """
    tables = [(number, denials_of(passage)) for number, passage in enumerate(passages)]
    if not any(denials for _, denials in tables) or _negated(sentence).starts:
        return None
    if sentence.rstrip().endswith("?") or has_aside(sentence):
        return None
    words = split_words(AnalysedText.of(sentence)).vocabulary
    return next(
        (
            (number, Match(passages[number][one.start : one.end], one.start, one.end, "opposite"))
            for number, denials in tables
            for one in denials
            if any(stems and stems <= words for stems in (one.stems, one.joined))
        ),
        None,
    )


def _words(clause: Clause) -> list[str]:
    negations = language_of(clause.text).negations
    return sorted(word for word in clause.words if word not in negations)
