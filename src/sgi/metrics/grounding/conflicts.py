"""Finds what a passage has instead of a value: another value in its place, or a value of something else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgi.metrics.grounding.clauses import clause_at, segment, stems_between
from sgi.metrics.grounding.facts import Bound, DateFact, Quantity
from sgi.metrics.grounding.units import CURRENCY, ORDINAL, scale_between
from sgi.metrics.grounding.value_support import Match, agreement, comparable, states, values_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.metrics.grounding.clauses import Roles
    from sgi.metrics.grounding.facts import Fact

_SAME_ROLE = 0.4
_SAME_PLACE = 0.6
_EXPLAINED = 0.5
_SHORT_LINE = 6
_MOST_RIVALS, _MOST_STATED = 500, 20  # values of a passage and of a sentence that are compared


def other_value(sentence: str, fact: Fact, passages: Sequence[str], roles: Roles) -> tuple[int, Match] | None:
    """Return the value that a passage has in the place of one of a sentence, which no passage has.

    It has the same unit, or counts the same thing, and its clause has at least 2/5 of the words around the
    fact. The same amount in another currency needs no such words.

    >>> from sgi.metrics.grounding.clauses import Roles
    >>> passages, sentence = ["The ticket costs €20 a month."], "It is $20 a month."
    >>> other_value(sentence, values_of(sentence).quantities[0], passages, Roles(passages))[1].how
    'other currency'
    """
    around = roles.around(sentence, fact)
    best: tuple[float, int, Match] | None = None
    for number, passage in enumerate(passages):
        for other, how in _rivals(sentence, fact, passage):
            share = 1.0 if how == "other currency" else roles.share(around, clause_at(passage, other.start))
            if share >= _SAME_ROLE and (best is None or share > best[0]):
                best = share, number, Match.at(other, how)
    return best[1:] if best else None


def _rivals(sentence: str, fact: Fact, passage: str) -> Iterator[tuple[Fact, str]]:
    """Yield the values of a passage of the same kind; a value that the sentence also states is none."""
    stated, values = values_of(sentence), values_of(passage)
    if isinstance(fact, DateFact):
        for date in values.dates[:_MOST_RIVALS]:
            if comparable(fact, date) and not any(
                states(own, date) for own in stated.dates[:_MOST_STATED] if own is not fact
            ):
                yield date, "other date"
    if isinstance(fact, Quantity):
        for other in values.quantities[:_MOST_RIVALS]:
            how = _difference(fact, other)
            if how and not any(
                agreement(own, other) for own in stated.quantities[:_MOST_STATED] if own is not fact
            ):
                yield other, how


def _difference(number: Quantity, other: Quantity) -> str:
    """Return how two quantities of the same kind differ; "" if they are of different kinds."""
    same_value = (number.low, number.high) == (other.low, other.high)
    if not number.units or not other.units:
        same_noun = not number.units and not other.units and number.noun == other.noun
        how = "other rate" if same_value and number.per != other.per else "other value"
        return how if same_noun and not _may_both_hold(number, other) else ""
    if not _comparable(number, other):
        is_money = number.dimension == CURRENCY == other.dimension
        return "other currency" if is_money and same_value else ""
    if same_value and number.units == other.units:
        return "other rate" if number.per != other.per else "other bound"
    if same_value:
        return "other unit"
    return "" if _may_both_hold(number, other) else "other value"


def _may_both_hold(number: Quantity, other: Quantity) -> bool:
    """Return whether a value is on the right side of a bound, in the unit of the bound."""
    if number.bound not in {Bound.LEAST, Bound.MOST} or number.units[:1] != other.units[:1]:
        return False
    above = other.low >= number.low
    return above if number.bound is Bound.LEAST else other.high <= number.high


def _comparable(number: Quantity, other: Quantity) -> bool:
    return any(scale_between(mine, their) for mine in number.units for their in other.units)


def value_of_another(
    sentence: str, fact: Fact, passages: Sequence[str], question: str, roles: Roles
) -> tuple[int, Match] | None:
    """Return the value that a passage has for what a sentence is about, if it has the fact for another thing.

    All places of the fact must be in enumerations: clauses, or short neighbouring lines, with another value
    of the same kind. The words around the fact are compared with those that belong to each value. The fact
    is of another thing if they lack what only its own place has, name most of what only a rival has, and are
    nearly all in the enumeration. The words of the question count if the sentence is only the value.

    >>> from sgi.metrics.grounding.clauses import Roles
    >>> passages, sentence = ["Plus costs 9 euros, Pro 19 euros."], "Pro costs 9 euros."
    >>> value_of_another(sentence, values_of(sentence).quantities[0], passages, "", Roles(passages))[1].text
    '19 euros'
    """
    if not _has_rivals(fact):
        return None
    words = segment(sentence, fact, _same_kind(fact, sentence))
    words = words or stems_between(question, 0, len(question))
    found: tuple[int, Match] | None = None
    for number, passage in enumerate(passages):
        alike = _same_kind(fact, passage)[:_MOST_RIVALS]
        for own in (other for other in alike if _is_same(fact, other)):
            near = [other for other in alike if other is own or _is_near(passage, own, other)]
            rival = _named_rival(words, passage, own, near, fact, roles)
            if rival is None:
                return None
            found = found or (number, Match.at(rival, "value of another"))
    return found


def _has_rivals(fact: Fact) -> bool:
    """Return whether the values of other things can be told from a fact: amounts with a unit, and years."""
    if isinstance(fact, Quantity):
        return bool(fact.units) and not fact.is_range and fact.units[0] != ORDINAL
    return isinstance(fact, DateFact) and fact.year is not None


def _same_kind(fact: Fact, text: str) -> list[Fact]:
    values = values_of(text)
    if isinstance(fact, Quantity):
        return [other for other in values.quantities if _comparable(fact, other)]
    return [date for date in values.dates if date.year is not None]


def _is_same(fact: Fact, other: Fact) -> bool:
    if isinstance(fact, Quantity) and isinstance(other, Quantity):
        return bool(agreement(fact, other))
    return isinstance(fact, DateFact) and isinstance(other, DateFact) and states(fact, other)


def _is_near(text: str, one: Fact, other: Fact) -> bool:
    """Return whether two values are in one clause, or in short neighbouring ones such as lines of a list."""
    own, their = clause_at(text, one.start), clause_at(text, other.start)
    if own.start == their.start:
        return True
    is_next = own.end == their.start or their.end == own.start
    return is_next and max(len(own.stems), len(their.stems)) <= _SHORT_LINE


def _named_rival(
    words: frozenset[str],
    passage: str,
    own: Fact,
    near: Sequence[Fact],
    fact: Fact,
    roles: Roles,
) -> Fact | None:
    """Return the value that the words name instead of their own."""
    places = {other: segment(passage, other, near) for other in near}
    others: frozenset[str] = frozenset().union(*(places[other] for other in near if other is not own))
    everything = others | places[own] | clause_at(passage, own.start).stems
    only = places[own] - others
    # The first value of an enumeration also has the words that all its values share ("costs").
    may_be_own = only <= words or (only & words and not others - places[own] & words)
    if not words or may_be_own or len(words & everything) < _EXPLAINED * len(words):
        return None
    rivals = (rival for rival in near if not _is_same(fact, rival))
    return next((rival for rival in rivals if _is_named(words, places[rival] - places[own], roles)), None)


def _is_named(words: frozenset[str], only: frozenset[str], roles: Roles) -> bool:
    """Return whether the words have most of what only a value has."""
    total = sum(map(roles.weight, sorted(only)))
    return bool(only) and sum(map(roles.weight, sorted(only & words))) >= _SAME_PLACE * total
