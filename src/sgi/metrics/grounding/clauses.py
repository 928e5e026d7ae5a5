"""Clauses of a text with their content words, and how much two clauses are about the same thing."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, compress
from typing import TYPE_CHECKING

from sgi.metrics.grounding.language_tables import AnalysedText, once_per_text
from sgi.metrics.grounding.words import split_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.metrics.grounding.facts import Fact

_CLAUSE_END = re.compile(r"[.!?;](?=\s|$|[A-Z])|\n+|[。！？；]")
_CUT = re.compile(r"[,;|\t()]\s*|\s(?:and|or|while|whereas|but|und|oder|et|ou|y|o|e|en|of)\s|\s[-–—]\s")
_NEAR = 40


@dataclass(frozen=True, eq=False)
class Clause:
    """A clause of a text, from character ``start`` to ``end``."""

    text: str
    start: int
    end: int

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The stems of the content words, without numbers, in order."""
        return _content_between(self.text, self.start, self.end)

    @cached_property
    def stems(self) -> frozenset[str]:
        """The distinct stems of the content words, without numbers."""
        return frozenset(self.words)


@once_per_text
def clauses_of(text: str) -> tuple[Clause, ...]:
    """Split a text at full stops, semicolons and line breaks, cached.

    >>> [sorted(clause.stems) for clause in clauses_of("It opened in 1937. It is red; it is old.")]
    [['open'], ['red'], ['old']]
    """
    ends = [match.end() for match in _CLAUSE_END.finditer(text)]
    if not ends or ends[-1] < len(text):
        ends.append(len(text))
    text = AnalysedText.of(text)
    return tuple(Clause(text, start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True))


def stems_between(text: str, start: int, end: int) -> frozenset[str]:
    """Return the stems of the content words between two positions, without numbers."""
    return frozenset(_content_between(text, start, end))


def stems_in(text: str, start: int, end: int) -> frozenset[str]:
    """Return the stems of the content words and numbers between two positions."""
    return frozenset(_content_between(text, start, end, numbers=True))


def _content_between(text: str, start: int, end: int, *, numbers: bool = False) -> tuple[str, ...]:
    words = split_words(AnalysedText.of(text))
    part = slice(*words.starts.searchsorted((start, end)).tolist())
    content = compress(words.stems[part], words.content[part].tolist())
    return tuple([stem for stem in content if numbers or not stem[0].isdigit()])


def clause_at(text: str, place: int) -> Clause:
    """Return the clause that contains a position."""
    clauses = clauses_of(text)
    return clauses[min(bisect_right(_ends(text), place), len(clauses) - 1)]


@once_per_text
def _ends(text: str) -> list[int]:
    return [clause.end for clause in clauses_of(text)]


def segment(text: str, fact: Fact, others: Sequence[Fact]) -> frozenset[str]:
    """Return the words around a value in a list, up to the comma or "and" on either side.

    >>> from sgi.metrics.grounding.value_support import values_of
    >>> text = "Plus costs 9 euros, Pro 19 euros."
    >>> values = values_of(text).quantities
    >>> [sorted(segment(text, value, values)) for value in values]
    [['cost', 'plus'], ['pro']]
    """
    clause = clause_at(text, fact.start)
    before = [other.end for other in others if clause.start <= other.start and other.end <= fact.start]
    after = [other.start for other in others if fact.end <= other.start and other.end <= clause.end]
    start, end = max(before, default=clause.start), min(after, default=clause.end)
    if before:
        cuts = [match.end() for match in _CUT.finditer(text, start, fact.start)]
        start = cuts[0] if cuts else start
    if after:
        cuts = [match.start() for match in _CUT.finditer(text, fact.end, end)]
        end = cuts[-1] if cuts else end
    return stems_between(text, start, fact.start) | stems_between(text, fact.end, end)


class Roles:
    """Measures whether a clause of a passage is about the same thing as the words around a fact.

    The measure is the share of the content words around the fact (in its clause, up to 40 characters on each
    side) that the passage's clause also has. A word weighs less if more clauses of the passages have it.

    >>> roles = Roles(["The bridge opened in 1937. The tunnel opened in 1994."])
    >>> from sgi.metrics.grounding.value_support import values_of
    >>> sentence = "The bridge opened in 1940."
    >>> around = roles.around(sentence, values_of(sentence).dates[0])
    >>> [round(roles.share(around, clause), 2) for clause in clauses_of("A bridge of 1937. It rained.")]
    [0.67, 0.0]
    """

    def __init__(self, passages: Sequence[str]) -> None:
        self._passages = passages

    @cached_property
    def _counts(self) -> Counter[str]:
        clauses = (clause for passage in self._passages for clause in clauses_of(passage))
        return Counter(chain.from_iterable(clause.stems for clause in clauses))

    def around(self, text: str, fact: Fact) -> dict[str, float]:
        """Return the words around a fact with their weights."""
        clause = clause_at(text, fact.start)
        first, last = max(clause.start, fact.start - _NEAR), min(clause.end, fact.end + _NEAR)
        words = stems_between(text, first, fact.start) | stems_between(text, fact.end, max(last, fact.end))
        # In one order, so that equal input gives equal bits.
        return {word: self.weight(word) for word in sorted(words)}

    def weight(self, word: str) -> float:
        """Return the weight of a word: 1 divided by the number of clauses of the passages that contain it."""
        return 1 / max(1, self._counts[word])

    def share(self, around: dict[str, float], clause: Clause) -> float:
        """Return the weight of the words around a fact that the clause has, divided by their total weight."""
        total = sum(around.values())
        shared = sum(weight for word, weight in around.items() if word in clause.stems)
        return shared / total if total else 0.0
