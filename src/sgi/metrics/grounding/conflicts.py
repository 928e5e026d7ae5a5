"""Finds what a passage has instead of a value: another value in its place, or a value of something else."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sgi.metrics.grounding.cells import cell_at, have_tables, is_named_instead, tables_of
from sgi.metrics.grounding.clauses import clause_at, segment, stems_between, stems_in
from sgi.metrics.grounding.facts import (
    CURRENCY,
    ORDINAL,
    Bound,
    DateFact,
    Identifier,
    Name,
    Quantity,
    scale_between,
)
from sgi.metrics.grounding.language_tables import ENGLISH, has_aside, language_named
from sgi.metrics.grounding.value_support import Match, agreement, comparable, states, values_of
from sgi.metrics.grounding.words import fold, folded_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.metrics.grounding.cells import Cell
    from sgi.metrics.grounding.clauses import Roles
    from sgi.metrics.grounding.facts import Fact
    from sgi.metrics.grounding.value_support import Values

_OF_ANOTHER = "value of another"
_SAME_ROLE = 0.4
_SAME_PLACE = 0.6
_EXPLAINED = 0.5
_SHORT_LINE = 6
_MOST_RIVALS, _MOST_STATED = 500, 20  # values of a passage and of a sentence that are compared


def other_value(sentence: str, fact: Fact, passages: Sequence[str], roles: Roles) -> tuple[int, Match] | None:
    """Return the value of a passage that contradicts a sentence's value, which no passage has.

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
    """Return a passage's value for a sentence's subject, if the sentence has another subject's value.

    All places of the fact must be in enumerations: clauses, or short neighbouring lines, with another value
    of the same kind. The words around the fact are compared with the words around each value. The fact
    is of another thing if they lack what only its own place has, name most of what only a rival has, and are
    nearly all in the enumeration. The words of the question count if the sentence is only the value.

    >>> from sgi.metrics.grounding.clauses import Roles
    >>> passages, sentence = ["Plus costs 9 euros, Pro 19 euros."], "Pro costs 9 euros."
    >>> value_of_another(sentence, values_of(sentence).quantities[0], passages, "", Roles(passages))[1].text
    '19 euros'
    """
    if have_tables(passages) and not has_aside(sentence):
        same = _of_kind(fact, values_of(sentence))
        around = segment(sentence, fact, same)
        if len(same) == 1:  # years and other numbers may name a column
            around |= stems_in(sentence, 0, fact.start) | stems_in(sentence, fact.end, len(sentence))
        statements = [around]
        if not has_aside(question):
            statements.append(around | stems_in(question, 0, len(question)))
        found = cell_of_another(fact, passages, statements)
        if found is not None:
            return found
    if not _has_rivals(fact):
        return None
    words = segment(sentence, fact, _same_kind(fact, sentence))
    words = words or stems_between(question, 0, len(question))
    found = None
    for number, passage in enumerate(passages):
        alike = _same_kind(fact, passage)[:_MOST_RIVALS]
        for own in (other for other in alike if _is_same(fact, other)):
            if cell_at(passage, own.start) is not None:
                return None
            near = [other for other in alike if other is own or _is_near(passage, own, other)]
            rival = _named_rival(words, passage, own, near, fact, roles)
            if rival is None:
                return None
            found = found or (number, Match.at(rival, _OF_ANOTHER))
    return found


class _Place(NamedTuple):
    """A value or name of a passage, its cell, and the words that show its kind: "" if nothing does."""

    match: Match
    cell: Cell | None
    kind: str
    is_fact: bool


def cell_of_another(
    fact: Fact, passages: Sequence[str], statements: Sequence[frozenset[str]]
) -> tuple[int, Match] | None:
    r"""Return the cell in the row or column of a table that a statement names, if it differs from the fact.

    All places of the fact must be in tables, and none of them in a row or column that is named. The words of
    the second statement, such as the question, count if the first one names no cell.

    >>> table = "|Plan|Price|\n|---|---|\n|Basic|$9|\n|Pro|$49|"
    >>> cell_of_another(values_of("$9").quantities[0], [table], [frozenset({"pro"})])[1].text
    '$49'
    """
    found: tuple[int, Match] | None = None
    for number, passage in enumerate(passages):
        places = _places(fact, passage, statements[-1])
        for own in (place for place in places if place.is_fact):
            rival = _rival_of(own, places, statements)
            if rival is None:
                return None
            found = found or (number, rival)
    return found


def _rival_of(own: _Place, places: Sequence[_Place], statements: Sequence[frozenset[str]]) -> Match | None:
    """Return the value that the first of the statements names instead, if it names one row and column."""
    if own.cell is None or not own.kind:
        return None
    for words in statements:
        named = [
            place
            for place in places
            if place.cell
            and place.kind == own.kind
            and not place.is_fact
            and is_named_instead(place.cell, own.cell, words)
        ]
        if named:
            return named[0].match if len({place.cell.labels for place in named if place.cell}) == 1 else None
    return None


def _places(fact: Fact, passage: str, words: frozenset[str]) -> list[_Place]:
    if isinstance(fact, Name):
        return _places_of_names(f" {' '.join(fact.words)} ", passage)
    alike = _of_kind(fact, values_of(passage))[:_MOST_RIVALS]
    cells = [cell_at(passage, other.start) for other in alike]
    return [
        _Place(Match.at(other, _OF_ANOTHER), cell, _kind(fact, other, cell, words), _is_same(fact, other))
        for other, cell in zip(alike, cells, strict=True)
    ]


def _places_of_names(name: str, passage: str) -> list[_Place]:
    """Return the short texts of tables, by column; a name outside them is a place without a cell."""
    if name not in folded_words(passage):
        return []
    texts = [(passage[cell.start : cell.end], cell) for cell in tables_of(passage).texts[:_MOST_RIVALS]]
    places = [
        _Place(
            Match(text, cell.start, cell.end, _OF_ANOTHER),
            cell,
            repr(sorted(map(sorted, cell.labels[1]))),
            fold(text) == name,
        )
        for text, cell in texts
    ]
    if folded_words(passage).count(name) != sum(place.is_fact for place in places):
        places.append(_Place(Match("", 0, 0, ""), None, "", is_fact=True))
    return places


def _kind(fact: Fact, value: Fact, cell: Cell | None, words: frozenset[str]) -> str:
    """Return which words show the kind of a value: its unit (also in the header), noun or cell; or ""."""
    if not isinstance(value, Quantity) or not isinstance(fact, Quantity) or value.units:
        return "unit"
    if cell is None or (value.start, value.end) != (cell.start, cell.end):
        return value.noun if value.noun in words else ""
    if not fact.units:
        return "cell"
    spellings = language_named(ENGLISH).units
    header = [unit for part in cell.labels[1] for stem in sorted(part) for unit in spellings.get(stem, ())]
    return "unit" if any(scale_between(mine, their) for mine in fact.units for their in header) else ""


def _of_kind(fact: Fact, values: Values) -> list[Fact]:
    if isinstance(fact, Identifier):
        return list(values.identifiers)
    if isinstance(fact, DateFact):
        return [date for date in values.dates if comparable(fact, date) or states(fact, date)]
    if not isinstance(fact, Quantity):
        return []
    # The unit may be in the header: "Price (EUR)".
    return [other for other in values.quantities if not other.units or _comparable(fact, other)]


def _has_rivals(fact: Fact) -> bool:
    """Return whether a fact differs from values of other things: an amount with a unit, or a year."""
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
    if isinstance(fact, Identifier):
        return fact.text.casefold() == other.text.casefold()
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
