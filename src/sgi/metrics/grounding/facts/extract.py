"""What is read of a text once, however often it is asked for."""

from __future__ import annotations

import re
from bisect import bisect_right
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from sgi.metrics.grounding.analysed_text import once_per_text
from sgi.metrics.grounding.facts.dates import dates
from sgi.metrics.grounding.facts.names import names
from sgi.metrics.grounding.facts.quantities import quantities
from sgi.metrics.grounding.facts.words import content, fold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.metrics.grounding.facts.fact import DateFact, Fact, Name, Quantity

_CLAUSE_END = re.compile(r"[.!?;](?=\s|$|[A-Z])|\n+|[。！？；]")
_NEAR = 40


class Numbers(NamedTuple):
    """The quantities and the dates of a text, none of which overlap.

    >>> [fact.text for facts in numbers_of("5 kg in May 2001") for fact in facts]
    ['5 kg', 'May 2001']
    """

    quantities: tuple[Quantity, ...]
    dates: tuple[DateFact, ...]


class Clause(NamedTuple):
    """A stretch of a text with the stems of its content words.

    >>> [sorted(clause.stems) for clause in clauses_of("Cats sleep. Dogs bark; birds sing.")]
    [['cat', 'sleep'], ['bark', 'dog'], ['bird', 'sing']]
    """

    start: int
    end: int
    stems: frozenset[str]


@once_per_text
def numbers_of(text: str) -> Numbers:
    """The quantities and dates of a text.

    >>> len(numbers_of("12 eggs").quantities)
    1
    """
    date_facts = dates(text)
    return Numbers(quantities(text, [(date.start, date.end) for date in date_facts]), date_facts)


@once_per_text
def names_of(text: str) -> tuple[Name, ...]:
    """The names of a text.

    >>> [name.text for name in names_of("He met Ada.")]
    ['Ada']
    """
    return names(text)


@once_per_text
def folded_words(text: str) -> str:
    """The folded words of a text (`sgi.metrics.grounding.facts.words.fold`).

    >>> folded_words("Béla's")
    ' bela '
    """
    return fold(text)


@once_per_text
def clauses_of(text: str) -> tuple[Clause, ...]:
    """The clauses of a text, cut at full stops, semicolons and line breaks; those without content too.

    >>> [(clause.start, clause.end) for clause in clauses_of("A cat. A dog")]
    [(0, 6), (6, 12)]
    """
    ends = [match.end() for match in _CLAUSE_END.finditer(text)]
    if not ends or ends[-1] < len(text):
        ends.append(len(text))
    starts = [0, *ends[:-1]]
    return tuple(
        Clause(start, end, content(fold(text[start:end]).split()))
        for start, end in zip(starts, ends, strict=True)
    )


def clause_at(text: str, place: int) -> Clause:
    """The clause in which a place of a text lies.

    >>> clause_at("A cat. A dog", 8).stems
    frozenset({'dog'})
    """
    clauses = clauses_of(text)
    return clauses[min(bisect_right(clauses, place, key=attrgetter("end")), len(clauses) - 1)]


class Roles:
    """How alike the surroundings of a fact are to a clause of a passage.

    The share of the content words around the fact, within its clause and 40 characters on either side, that
    stand in the passage's clause. A word weighs the less the more clauses of the passages it stands in.

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
        """The words around a fact with their weights.

        >>> sentence = "It weighs 5 kg in total"
        >>> sorted(Roles([]).around(sentence, numbers_of(sentence).quantities[0]))
        ['total', 'weigh']
        """
        clause = clause_at(text, fact.start)
        first, last = max(clause.start, fact.start - _NEAR), min(clause.end, fact.end + _NEAR)
        before, after = text[first : fact.start], text[fact.end : max(last, fact.end)]
        if first > clause.start:  # what is cut off of a word is none
            before = before.partition(" ")[2]
        if last < clause.end:
            after = after.rpartition(" ")[0]
        words = content(fold(f"{before} {after}").split())
        # In one order, so that equal input gives equal bits.
        return {word: 1 / self._counts.get(word, 1) for word in sorted(words)}

    def share(self, around: dict[str, float], clause: Clause) -> float:
        """The weight of the words that the clause has too, of all.

        >>> Roles([]).share({}, clauses_of("None")[0])
        0.0
        """
        total = sum(around.values())
        shared = sum(weight for word, weight in around.items() if word in clause.stems)
        return shared / total if total else 0.0
