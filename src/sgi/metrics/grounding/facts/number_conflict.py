"""Finds the number or date of a passage that contradicts one of a sentence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sgi.metrics.grounding.facts.date_support import comparable, states
from sgi.metrics.grounding.facts.extract import clause_at, numbers_of
from sgi.metrics.grounding.facts.fact import Bound, DateFact, Label, Quantity
from sgi.metrics.grounding.facts.labels import labels
from sgi.metrics.grounding.facts.number_support import (
    FactMatch,
    agreement,
    aligned,
    commensurable,
    round_step,
)
from sgi.metrics.grounding.facts.units import AGE, ORDINAL
from sgi.metrics.grounding.facts.words import FUNCTION_WORDS, fold, stem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.metrics.grounding.facts.extract import Roles
    from sgi.metrics.grounding.facts.fact import Fact

BOUND = "bound"
"""The rule of a value beyond a bound, as the sentence says: "over 250" and 300, "after 1921" and 1922."""

_SAME_ROLE = 0.4
_SAME_SERIES = 0.6  # "first" is a rank of many things
_AFTER = re.compile(r"\b(?:after|later than)\s$", re.IGNORECASE)
_BEFORE = re.compile(r"\b(?:before|prior to|earlier than)\s$", re.IGNORECASE)
_YEAR_BEFORE = re.compile(r"\byear before\s$", re.IGNORECASE)
_LOOK_BACK = 24
_MOST_YEARS, _MOST_TIMES = 10, 10
_ROUND = 10  # 100, 900, 250
_NEAR = 30


def other_numbers(
    sentence: str, fact: Fact, passage: str, roles: Roles, around: dict[str, float]
) -> Iterator[tuple[float, Fact, str]]:
    """Yield the numbers of a passage in the role of a number, with the shared share of words and the rule.

    The rule is `BOUND` if the value agrees with a bound of the sentence. A value that another fact of the
    sentence states contradicts nothing.
    """
    numbers, stated = numbers_of(passage), numbers_of(sentence)
    rivals: list[Fact] = []
    if isinstance(fact, Quantity):
        rivals += [
            other
            for other in numbers.quantities
            if _same_thing(fact, other, passage)
            and not any(_same_value(own, other) for own in stated.quantities if own is not fact)
        ]
    elif isinstance(fact, Label):
        rivals += [other for other in labels(passage) if other.label == fact.label]
    elif isinstance(fact, DateFact):
        rivals += [
            other
            for other in numbers.dates
            if comparable(fact, other)
            and not any(states(own, other) for own in stated.dates if own is not fact)
        ]
    least = _SAME_SERIES if is_first(fact) else _SAME_ROLE
    for other in rivals:
        share = roles.share(around, clause_at(passage, other.start))
        if share >= least:
            how = "other date" if isinstance(fact, DateFact) else "other value"
            is_bound = _is_beyond(sentence, fact, other)
            if not is_bound or _is_round(fact):
                yield share, other, BOUND if is_bound else how


def is_first(fact: Fact) -> bool:
    """Return whether a fact is "first": passages often leave it out, so its absence is no error."""
    return isinstance(fact, Quantity) and fact.text.lower() == "first"


def _same_value(own: Quantity, other: Quantity) -> bool:
    return (own.low, own.high, own.unit) == (other.low, other.high, other.unit)


def _same_thing(number: Quantity, other: Quantity, passage: str) -> bool:
    """Return whether two numbers measure or count the same thing but disagree."""
    number, other = aligned(number, other), aligned(other, number)
    if not commensurable(number, other, passage) or agreement(other, number):
        return False
    if (number.unit == AGE.name) != (other.unit == AGE.name) and number.dimension and other.dimension:
        return False  # an age does not contradict a duration
    if number.dimension:
        return bool(other.dimension)
    is_rate = 0 < number.high < 1 <= other.low  # an average of .500 is no count
    same = bool(set(number.nouns[:1]) & set(other.nouns) or not number.nouns)
    return not other.dimension and same and not is_rate


def _is_beyond(sentence: str, fact: Fact, other: Fact) -> bool:
    """Return whether a value is above a lower bound, or before or after a year, not too far from it."""
    before = sentence[max(0, fact.start - _LOOK_BACK) : fact.start]
    if isinstance(fact, Quantity) and isinstance(other, Quantity):
        number, other = aligned(fact, other), aligned(other, fact)
        if number.bound is not Bound.LEAST or number.is_range or other.bound is Bound.MOST:
            return False
        least, value = number.base(number.low), other.base(other.low)
        return least < value <= least * _MOST_TIMES
    if not isinstance(fact, DateFact) or not isinstance(other, DateFact):
        return False
    if fact.year is None or other.year is None or fact.month is not None:
        return False
    later = other.year - fact.year
    if _YEAR_BEFORE.search(before):
        return later == -1
    return bool(
        (_AFTER.search(before) and 0 < later <= _MOST_YEARS)
        or (_BEFORE.search(before) and 0 < -later <= _MOST_YEARS)
    )


def _is_round(fact: Fact) -> bool:
    """Return whether a lower bound is a round number; "over 390" is no usual description of 500."""
    return not isinstance(fact, Quantity) or round_step(fact) * _ROUND >= abs(fact.low)


def exchanged_value(sentence: str, number: Quantity, passages: Sequence[str]) -> tuple[int, FactMatch] | None:
    """Find a value in the place of a number whose own value stands elsewhere in the same clause.

    >>> text = "The yield touched 0.505 %, breaching the 0.5 % cap."
    >>> sentence = "The yield touched 0.5 %."
    >>> exchanged_value(sentence, numbers_of(sentence).quantities[0], [text])[1].text
    '0.505 %'
    """
    if not number.dimension or number.unit in {AGE.name, ORDINAL.name} or number.is_range:
        return None
    for place, passage in enumerate(passages):
        alike = [
            other
            for other in numbers_of(passage).quantities
            if other.unit == number.unit and not other.is_range
        ]
        same = [other for other in alike if other.low == number.low]
        if not same or len(same) == len(alike):
            continue
        clauses = {clause_at(passage, other.start).start for other in same}
        rivals = [
            other
            for other in alike
            if other.low != number.low and clause_at(passage, other.start).start in clauses
        ]
        own = _neighbours(sentence, number) if rivals else ("", "")
        if own == ("", "") or any(_shares(own, _neighbours(passage, other)) for other in same):
            continue
        for other in rivals:
            if _shares(own, _neighbours(passage, other)):
                return place, FactMatch.at(other, "exchanged value")
    return None


def _neighbours(text: str, number: Quantity) -> tuple[str, str]:
    """Return the stems of the content words directly before and after a number; "" for function words."""
    clause = clause_at(text, number.start)
    earlier = text[max(clause.start, number.start - _NEAR) : number.start]
    before = fold(earlier).split()[-1:] if earlier[-2:-1].isalnum() else []
    after = text[number.end : min(clause.end, number.end + _NEAR)]
    following = fold(after).split()[:1] if after[:1].isspace() else []
    first, last = (stem(words[0]) if words else "" for words in (before, following))
    return ("" if first in FUNCTION_WORDS else first), ("" if last in FUNCTION_WORDS else last)


def _shares(own: tuple[str, str], theirs: tuple[str, str]) -> bool:
    return any(one and one == other for one, other in zip(own, theirs, strict=True))
