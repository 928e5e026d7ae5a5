"""Checks the facts of a sentence against passages."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import localcontext
from enum import StrEnum
from typing import TYPE_CHECKING

from sgi.metrics.grounding.analysed_text import AnalysedText
from sgi.metrics.grounding.facts.date_support import date_support
from sgi.metrics.grounding.facts.derived_support import derived_support
from sgi.metrics.grounding.facts.extract import Roles, folded_words, names_of, numbers_of
from sgi.metrics.grounding.facts.fact import (
    EXACT,
    DateFact,
    Fact,
    Label,
    Name,
    Quantity,
    merge_spans,
    overlaps,
)
from sgi.metrics.grounding.facts.labels import label_support, labels
from sgi.metrics.grounding.facts.last_names import last_name_support
from sgi.metrics.grounding.facts.name_conflict import other_names
from sgi.metrics.grounding.facts.name_support import is_function_word, name_support
from sgi.metrics.grounding.facts.number_conflict import BOUND, exchanged_value, is_first, other_numbers
from sgi.metrics.grounding.facts.number_support import FactMatch, ends_support, number_support
from sgi.metrics.grounding.facts.units import ORDINAL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_TEXT_PARTS = frozenset({"passage", "excerpt"})  # "the two passages say"


class Verdict(StrEnum):
    """Whether the passages support a fact."""

    SUPPORTED = "supported"
    ABSENT = "absent"
    CONTRADICTED = "contradicted"


@dataclass(frozen=True, slots=True)
class Check:
    """A fact with its verdict.

    Attributes:
        passage: index of the passage that supports or contradicts the fact; None if no passage does.
        found: the words of the passage that state or contradict the fact; "" if no single part does.
        start: start of ``found`` in the passage, or None.
        end: end of ``found`` in the passage, or None.
        how: the rule that gave the verdict: "equal", "converted", "5 + 3", "question" …; "" if absent.
    """

    fact: Fact
    verdict: Verdict
    passage: int | None
    found: str
    start: int | None
    end: int | None
    how: str


def check_facts(sentence: str, passages: Sequence[str], question: str = "") -> tuple[Check, ...]:
    """Check the numbers, dates and names of a sentence against passages.

    Rules, in this order:

    1. If a passage contains the whole sentence word for word, all facts of the sentence are supported.
    2. A fact that a passage states or implies in one step of arithmetic is supported. So is a name that the
       question contains.
    3. A fact is contradicted if a passage has another fact in the same role: a number with the same unit or
       counted thing, or a date, whose clause has at least 2/5 of the content words around the fact; a name
       of the same kind after or between the same words, whose clause has at least 3/5 of them; or a name with
       the same last word and another first name.
    4. A fact that the question states is supported. Any other fact is absent.

    The texts are read by the rules of their language (`AnalysedText.language`); a plain str is English.

    >>> passages = ["The tower is 330 m tall.", "Gustave Eiffel's firm built it from 1887 to 1889."]
    >>> sentence = "The tower is 312 m tall. Alexandre Eiffel built it in two years."
    >>> for check in check_facts(sentence, passages):
    ...     print(check.fact.text, check.verdict, check.found, check.how, sep=" | ")
    312 m | contradicted | 330 m | other value
    Alexandre Eiffel | contradicted | Gustave Eiffel | other first name
    two years | supported | 1887, 1889 | 1889 - 1887
    """
    sentence = AnalysedText.of(sentence)
    question = AnalysedText.of(question, sentence.language)
    texts = [AnalysedText.of(passage) for passage in passages]
    with localcontext(EXACT):
        facts = facts_of(sentence)
        copy = _verbatim_copy(sentence, texts) if facts else None
        roles: list[Roles] = []
        checks = (
            _check_fact(sentence, fact, texts, question, roles) if copy is None else _copied_fact(fact, *copy)
            for fact in facts
        )
        return tuple(
            check for check in checks if check.verdict is not Verdict.ABSENT or not is_first(check.fact)
        )


def _copied_fact(fact: Fact, passage: int, offset: int) -> Check:
    start, end = fact.start + offset, fact.end + offset
    return Check(fact, Verdict.SUPPORTED, passage, fact.text, start, end, "copied")


def facts_of(sentence: str) -> tuple[Fact, ...]:
    """Return the facts of a sentence in order; a number inside a name belongs to the name.

    >>> [fact.text for fact in facts_of("In May 2001 he sold 5 copies of Windows 7.")]
    ['May 2001', '5', 'Windows 7']
    """
    numbers, name_facts = numbers_of(sentence), names_of(sentence)
    quantities = [
        number
        for number in numbers.quantities
        if not _TEXT_PARTS.intersection(number.nouns[:1])
        and (
            number.dimension not in {"", ORDINAL.dimension}
            or not any(_within(number, name) for name in name_facts)
        )
    ]
    measures = [*quantities, *numbers.dates]
    all_labels = labels(sentence, [(fact.start, fact.end) for fact in measures])
    own_names = [
        name for name in name_facts if not any(_within(name, fact) for fact in (*measures, *all_labels))
    ]
    names_at = merge_spans([(name.start, name.end) for name in own_names])
    own_labels = [label for label in all_labels if not overlaps(label.start, label.end, names_at)]
    return tuple(sorted([*measures, *own_names, *own_labels], key=lambda fact: (fact.start, fact.end)))


def _within(fact: Fact, other: Fact) -> bool:
    """Return whether a fact is a part of another, or begins inside it (the "F." at the end of "5 °F.")."""
    return (other.start <= fact.start and fact.end <= other.end) or other.start < fact.start < other.end


def _verbatim_copy(sentence: str, passages: Sequence[str]) -> tuple[int, int] | None:
    """Find the first passage that contains the sentence without cutting a number or word at its edges."""
    for number, passage in enumerate(passages):
        numbers: list[tuple[int, int]] | None = None
        start = passage.find(sentence)
        while start >= 0:
            end = start + len(sentence)
            edges = passage[max(0, start - 1) : start + 1], passage[end - 1 : end + 1]
            if not any(len(edge) > 1 and edge.isalnum() for edge in edges):
                if numbers is None:
                    passage_numbers = numbers_of(passage)
                    numbers = sorted([(fact.start, fact.end) for facts in passage_numbers for fact in facts])
                if not overlaps(start, start, numbers) and not overlaps(end, end, numbers):
                    return number, start
            start = passage.find(sentence, start + 1)
    return None


def _check_fact(
    sentence: str, fact: Fact, passages: Sequence[str], question: str, roles: list[Roles]
) -> Check:
    support = _support(sentence, fact, passages)
    if support:
        exchanged = exchanged_value(sentence, fact, passages) if isinstance(fact, Quantity) else None
        verdict = Verdict.CONTRADICTED if exchanged else Verdict.SUPPORTED
        place, match = exchanged or support
        return Check(fact, verdict, place, *match)
    in_question = bool(question) and _is_in_question(sentence, fact, question)
    # A passage may correct a number or date of the question, but not a name.
    if not in_question or not isinstance(fact, Name):
        if not roles:
            roles.append(Roles(passages))
        other = _contradiction(sentence, fact, passages, roles[0])
        if other:
            verdict = Verdict.SUPPORTED if other[1].how == BOUND else Verdict.CONTRADICTED
            return Check(fact, verdict, other[0], *other[1])
    if in_question:
        return Check(fact, Verdict.SUPPORTED, None, "", None, None, "question")
    return Check(fact, Verdict.ABSENT, None, "", None, None, "")


def _support(sentence: str, fact: Fact, passages: Sequence[str]) -> tuple[int, FactMatch] | None:
    for rule in (_direct_support, _derived_support):
        for number, passage in enumerate(passages):
            match = rule(sentence, fact, passage)
            if match:
                return number, match
    if isinstance(fact, Name):
        return last_name_support(fact, passages)
    if isinstance(fact, Quantity) and fact.is_range:
        return ends_support(sentence, fact, passages)
    return None


def _direct_support(sentence: str, fact: Fact, passage: str) -> FactMatch | None:
    if isinstance(fact, Quantity):
        return number_support(sentence, fact, passage)
    if isinstance(fact, DateFact):
        return date_support(fact, passage)
    if isinstance(fact, Label):
        return label_support(fact, passage)
    return name_support(fact, passage) if isinstance(fact, Name) else None


def _derived_support(sentence: str, fact: Fact, passage: str) -> FactMatch | None:
    return derived_support(sentence, fact, passage) if isinstance(fact, Quantity) else None


def _is_in_question(sentence: str, fact: Fact, question: str) -> bool:
    if isinstance(fact, Name):
        # Questions are often written without capitals.
        plain = question.islower() or not is_function_word(fact)
        is_word = plain and f" {' '.join(fact.words)} " in folded_words(question)
        return is_word or name_support(fact, question) is not None
    match = _direct_support(sentence, fact, question)
    return match is not None and match.how in {"equal", "same date"}


def _contradiction(
    sentence: str, fact: Fact, passages: Sequence[str], roles: Roles
) -> tuple[int, FactMatch] | None:
    """Find the fact of a passage in the same role: one beyond a bound, or with the most shared words."""
    around = roles.around(sentence, fact)
    best: tuple[tuple[bool, float], int, FactMatch] | None = None
    for number, passage in enumerate(passages):
        for share, other, how in _rivals(sentence, fact, passage, roles, around):
            rank = (how == BOUND, share)
            if best is None or rank > best[0]:
                best = (rank, number, FactMatch.at(other, how))
    return best[1:] if best else None


def _rivals(
    sentence: str, fact: Fact, passage: str, roles: Roles, around: dict[str, float]
) -> Iterator[tuple[float, Fact, str]]:
    if isinstance(fact, Name):
        return other_names(sentence, fact, passage, roles, around)
    return other_numbers(sentence, fact, passage, roles, around)
