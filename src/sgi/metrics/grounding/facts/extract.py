"""Extracts the facts, words and clauses of a text, and caches them."""

from __future__ import annotations

import re
from bisect import bisect_right
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from sgi.metrics.grounding.analysed_text import once_per_text
from sgi.metrics.grounding.facts.dates import dates
from sgi.metrics.grounding.facts.localized.dates import dates_in
from sgi.metrics.grounding.facts.localized.names import names_in
from sgi.metrics.grounding.facts.names import names
from sgi.metrics.grounding.facts.quantities import quantities
from sgi.metrics.grounding.facts.words import content, fold
from sgi.metrics.grounding.languages.of_text import tables_of
from sgi.metrics.grounding.languages.word_parts import word_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.metrics.grounding.facts.fact import DateFact, Fact, Name, Quantity
    from sgi.metrics.grounding.languages.record import Language

_CLAUSE_END = re.compile(r"[.!?;](?=\s|$|[A-Z])|\n+|[。！？；]")
_NEAR = 40


class Numbers(NamedTuple):
    """The quantities and dates of a text; none of them overlap."""

    quantities: tuple[Quantity, ...]
    dates: tuple[DateFact, ...]


class Clause(NamedTuple):
    """A clause of a text, with the stems of its content words."""

    start: int
    end: int
    stems: frozenset[str]


@once_per_text
def numbers_of(text: str) -> Numbers:
    """Return the quantities and dates of a text, cached."""
    language = tables_of(text)
    date_facts = dates(text) if language is None else dates_in(text, language)
    return Numbers(quantities(text, [(date.start, date.end) for date in date_facts]), date_facts)


@once_per_text
def names_of(text: str) -> tuple[Name, ...]:
    """Return the names of a text, cached."""
    language = tables_of(text)
    return names(text) if language is None else names_in(text, language)


@once_per_text
def folded_words(text: str) -> str:
    """Return the words of a text without case and accents (`fold`), cached."""
    return fold(text)


@once_per_text
def clauses_of(text: str) -> tuple[Clause, ...]:
    """Split a text at full stops, semicolons and line breaks, cached."""
    ends = [match.end() for match in _CLAUSE_END.finditer(text)]
    if not ends or ends[-1] < len(text):
        ends.append(len(text))
    starts = [0, *ends[:-1]]
    language = tables_of(text)
    return tuple(
        Clause(start, end, _content(text[start:end], language))
        for start, end in zip(starts, ends, strict=True)
    )


def _content(text: str, language: Language | None) -> frozenset[str]:
    """Return the stems of the content words of a text, without numbers; None means English."""
    if language is None:
        return content(fold(text).split())
    return frozenset(
        [
            language.stem(word)
            for _, _, word in word_parts(text, language)
            if word not in language.function_words and not word[0].isdigit()
        ]
    )


def clause_at(text: str, place: int) -> Clause:
    """Return the clause that contains a position."""
    clauses = clauses_of(text)
    return clauses[min(bisect_right(clauses, place, key=attrgetter("end")), len(clauses) - 1)]


class Roles:
    """Measures whether a clause of a passage is about the same thing as the words around a fact.

    The measure is the share of the content words around the fact (in its clause, up to 40 characters on each
    side) that the passage's clause also has. A word weighs less if more clauses of the passages have it.

    >>> roles = Roles(["The bridge opened in 1937. The tunnel opened in 1994."])
    >>> sentence = "The bridge opened in 1940."
    >>> around = roles.around(sentence, numbers_of(sentence).dates[0])
    >>> [round(roles.share(around, clause), 2) for clause in clauses_of("A bridge of 1937. It rained.")]
    [0.67, 0.0]
    """

    def __init__(self, passages: Sequence[str]) -> None:
        self._counts: dict[str, int] = {}
        for passage in passages:
            for clause in clauses_of(passage):
                for word in clause.stems:
                    self._counts[word] = self._counts.get(word, 0) + 1

    def around(self, text: str, fact: Fact) -> dict[str, float]:
        """Return the words around a fact with their weights."""
        clause = clause_at(text, fact.start)
        first, last = max(clause.start, fact.start - _NEAR), min(clause.end, fact.end + _NEAR)
        before, after = text[first : fact.start], text[fact.end : max(last, fact.end)]
        if first > clause.start:  # the first and last word may be incomplete
            before = before.partition(" ")[2]
        if last < clause.end:
            after = after.rpartition(" ")[0]
        words = _content(f"{before} {after}", tables_of(text))
        # In one order, so that equal input gives equal bits.
        return {word: 1 / self._counts.get(word, 1) for word in sorted(words)}

    def share(self, around: dict[str, float], clause: Clause) -> float:
        """Return the weight of the words around a fact that the clause has, divided by their total weight."""
        total = sum(around.values())
        shared = sum(weight for word, weight in around.items() if word in clause.stems)
        return shared / total if total else 0.0
