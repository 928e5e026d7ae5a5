"""Checks whether a passage supports a quantity."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from sgi.metrics.grounding.facts.extract import clause_at, folded_words, numbers_of
from sgi.metrics.grounding.facts.fact import Bound
from sgi.metrics.grounding.facts.units import AGE, spellings_of, unit_named

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from sgi.metrics.grounding.facts.fact import DateFact, Fact, Quantity

_CHARACTERISTIC = 20  # larger numbers, and those with a fraction, are seldom equal by chance
_HALF = Decimal("0.5")
_LOOSE = Decimal("0.03")  # a conversion that was rounded to fives or tens is right to 3 %
_CLOSE = Decimal("0.01")  # tolerance for rounding in the passage
_ROUNDED = Decimal("0.05")
_EXACT = Decimal("1e-12")  # rounding error of factors with 28 digits
_ABOUT = Decimal("0.1")
_BOUND_ROOM = Decimal("0.5")  # "over 200" means up to 300
_OLDEST = 120
_ROOT = 6
_NEAR = 60
_MOST_QUOTIENT = 26  # maximum digits of the whole part of a quotient, two less than the precision

_AGO = re.compile(r"\sago\b")
_ERA = re.compile(r"\s(?:BCE?\b|B\.C\.|before Christ\b)")

_FactT = TypeVar("_FactT", "Quantity", "DateFact")


class FactMatch(NamedTuple):
    """Where a passage supports a fact, and by which rule."""

    text: str
    start: int | None
    end: int | None
    how: str

    @staticmethod
    def at(fact: Fact, how: str) -> FactMatch:
        """Return the match with one fact of a passage."""
        return FactMatch(fact.text, fact.start, fact.end, how)

    @staticmethod
    def between(first: Fact, last: Fact, how: str) -> FactMatch:
        """Return the match with two facts of a passage together."""
        return FactMatch(f"{first.text}, {last.text}", first.start, last.end, how)


def number_support(sentence: str, number: Quantity, passage: str) -> FactMatch | None:
    """Find where a passage states a quantity of a sentence.

    Units are converted. The number may be the passage's number rounded, an end of its range, a value inside
    the range if it is approximate ("about"), or a bound that the passage's number satisfies. A count up to 20
    needs the same counted thing nearby.

    >>> number_support("1.5 hours", numbers_of("1.5 hours").quantities[0], "It takes 90 minutes.").how
    'converted'
    """
    passage_numbers = numbers_of(passage)
    for other in passage_numbers.quantities:
        own, theirs = aligned(number, other), aligned(other, number)
        how = agreement(own, theirs) if commensurable(own, theirs, passage) else ""
        if number.dimension == "time" and _differs_in_era(sentence, number, passage, other):
            continue
        if how and _counts_the_same(sentence, number, passage, other):
            return FactMatch.at(other, how)
    if not number.dimension:
        for date in passage_numbers.dates:
            if (
                date.year is not None
                and date.year == number.low == number.high
                and date.last_year == date.year
            ):
                return FactMatch.at(date, "equal")
    return _two_ends(number, passage)


def _differs_in_era(sentence: str, number: Quantity, passage: str, other: Quantity) -> bool:
    """Return whether one of two numbers of years is before now, and the other one before Christ."""
    after, theirs = sentence[number.end : number.end + _NEAR], passage[other.end : other.end + _NEAR]
    return bool(_AGO.match(after) and _ERA.match(theirs)) or bool(_ERA.match(after) and _AGO.match(theirs))


def aligned(number: Quantity, other: Quantity) -> Quantity:
    """Return a quantity as the other one reads it: pounds as money, a rate as its amount.

    >>> number, other = numbers_of("5 pounds, £5").quantities
    >>> aligned(number, other).dimension
    'currency'
    """
    unit = None
    if number.unit == "pound" and other.unit == "gbp":
        unit = unit_named("£")
    elif not number.dimension and other.dimension == "share" and 0 < number.high < 1:
        return replace(number, dimension="share", unit="share")
    elif "/" in number.dimension and other.dimension and "/" not in other.dimension:
        unit = unit_named(number.unit.partition("/")[0])
    if unit is None:
        return number
    return replace(number, dimension=unit.dimension, unit=unit.name, factor=unit.factor)


def commensurable(number: Quantity, other: Quantity, passage: str) -> bool:
    """Return whether two quantities have the same dimension, or one has no unit and can take the other's."""
    if number.dimension == other.dimension:
        return number.dimension != "currency" or number.unit == other.unit
    if {number.dimension, other.dimension} == {"degree", "temperature"}:
        return True
    if not number.dimension:
        return other.dimension != "ordinal" and (not number.nouns or other.dimension == "share")
    if other.dimension or other.nouns:
        return False
    is_age = number.unit == AGE.name and 0 < other.high <= _OLDEST
    return is_age or _unit_is_near(number, other, passage)


def _unit_is_near(number: Quantity, other: Quantity, passage: str) -> bool:
    """Return whether the unit occurs near a number without one, as in a table head."""
    near = passage[max(0, other.start - _NEAR) : other.end + _NEAR // 2]
    spellings = spellings_of(number.unit)
    if number.dimension == "temperature":
        spellings |= spellings_of("degree")
    words = folded_words(near)
    return any(f" {spelling} " in words if spelling.isalpha() else spelling in near for spelling in spellings)


def agreement(number: Quantity, other: Quantity) -> str:
    """Return the rule by which a quantity follows from another ("equal", "rounded" …); "" if it does not.

    >>> first, second = numbers_of("about 3 million people and 2,981,232 people").quantities
    >>> agreement(first, second), agreement(second, first)
    ('rounded', '')
    """
    own, theirs = (number.low, number.high), (other.low, other.high)
    if own == theirs and (number.unit == other.unit and number.factor == other.factor):
        return "equal"
    if number.dimension == other.dimension and number.factor != other.factor:
        own = number.base(number.low), number.base(number.high)
        theirs = other.base(other.low), other.base(other.high)
        room, how = _conversion_room(number, other, own[1]), "converted"
    else:
        if not number.dimension and other.dimension == "share" and abs(number.high) < 1:
            theirs = other.base(other.low), other.base(other.high)
        room, how = min(number.step * _HALF, abs(number.high) * _ROUNDED), "rounded"
        if own == theirs:
            return "equal"
    if abs(own[0] - theirs[0]) <= room and abs(own[1] - theirs[1]) <= room:
        return how
    if not number.is_range and other.is_range:
        return _in_range(number, own[0], theirs, room)
    return _inexact_agreement(number, other, own, theirs)


def _conversion_room(number: Quantity, other: Quantity, value: Decimal) -> Decimal:
    """Return the tolerance of a converted value: half a step of the last digit as written."""
    written = abs(number.high * number.factor)  # of temperatures, degrees without the offset
    own = min(round_step(number) * number.factor * _HALF, written * _LOOSE)
    theirs = min(other.step * other.factor * _HALF, abs(other.high * other.factor) * _CLOSE)
    return max(own, theirs, abs(value) * _EXACT)


def _in_range(number: Quantity, value: Decimal, theirs: tuple[Decimal, Decimal], room: Decimal) -> str:
    low, high = theirs
    if abs(value - low) <= room or abs(value - high) <= room:
        return "end of a range"
    return "inside a range" if number.bound is not Bound.EXACT and low < value < high else ""


def _inexact_agreement(
    number: Quantity, other: Quantity, own: tuple[Decimal, Decimal], theirs: tuple[Decimal, Decimal]
) -> str:
    """Return the rule by which a number with "about", "at least" or "at most" agrees; "" if it does not."""
    if number.bound is Bound.EXACT:
        return ""
    if number.is_range and number.unit == AGE.name and own[0] <= theirs[0] <= theirs[1] <= own[1]:
        return "inside a range"  # "in his thirties"
    below, above = theirs[0] - own[0], theirs[1] - own[1]
    room = round_step(number) * number.factor if own[1] != number.high else round_step(number)
    if number.bound is Bound.ABOUT:
        room = min(room * _HALF, abs(own[1]) * _ABOUT)
        return "rounded" if abs(below) <= room and abs(above) <= room else ""
    if other.bound is number.bound and number.bound is Bound.MOST:
        return ""  # "at most 12" does not imply "at most 15"
    room = min(room, abs(own[1]) * _BOUND_ROOM)
    if number.bound is Bound.LEAST and not number.is_range and 0 <= below <= room:
        return "bound"
    return "bound" if number.bound is Bound.MOST and not number.is_range and 0 <= -above <= room else ""


def round_step(number: Quantity) -> Decimal:
    """Return the step of the last digit that is not zero; a five counts as half a ten."""
    step, value = number.step, abs(number.high)
    if value.adjusted() - step.adjusted() > _MOST_QUOTIENT:
        return step
    while value and step < value and value % (step * 10) == 0:
        step *= 10
    return step * 5 if value and value % (step * 5) == 0 and value > step * 10 else step


def _counts_the_same(sentence: str, number: Quantity, passage: str, other: Quantity) -> bool:
    if number.dimension not in {"", "ordinal"}:
        return True
    is_of_other = number.nouns and other.nouns and not set(number.nouns) & set(other.nouns)
    near = clause_at(passage, other.start).stems
    if is_of_other and _has_another(number, passage) and not _has_relative(number, near):
        return False
    value = number.high
    is_characteristic = number.is_range or abs(value) > _CHARACTERISTIC or value != value.to_integral_value()
    if is_characteristic or set(number.nouns) & (near | set(other.nouns)):
        return True
    own = clause_at(sentence, number.start).stems
    if number.dimension and not other.nouns and own & near:
        return True  # "the 18th" may leave out the noun
    return len(own & near) * 3 >= len(own)  # a third of its words


def _has_relative(number: Quantity, stems: frozenset[str]) -> bool:
    """Return whether a clause has a word with the beginning of the counted thing: "infection", "infected"."""
    roots = tuple(noun[:_ROOT] for noun in number.nouns[:1] if len(noun) > _ROOT)
    return bool(roots) and any(stem.startswith(roots) for stem in stems - set(number.nouns))


def _has_another(number: Quantity, passage: str) -> bool:
    """Return whether a passage has another number of the same things, or another ordinal."""
    return any(
        other.low != number.low and other.nouns[:1] == number.nouns[:1]
        for other in numbers_of(passage).quantities
        if other.nouns and other.dimension == number.dimension
    )


def _two_ends(number: Quantity, passage: str) -> FactMatch | None:
    """Match a range whose two ends are separate numbers in the passage."""
    if not number.is_range:
        return None
    other_end = {number.low: number.high, number.high: number.low}
    ends = []
    for point in numbers_of(passage).quantities:
        if point.is_range or point.low not in other_end or point.unit not in {"", number.unit}:
            continue
        if commensurable(number, point, passage):
            clause = clause_at(passage, point.start).start
            ends.append((point, (clause, point.low), [(clause, other_end[point.low])]))
    for first, second in pairs(ends):
        text = passage[first.start : second.end]
        return FactMatch(text, first.start, second.end, f"{first.text} and {second.text}")
    return None


def ends_support(sentence: str, number: Quantity, passages: Sequence[str]) -> tuple[int, FactMatch] | None:
    """Find the two ends of a range in different passages."""
    matches = []
    for end in (number.low, number.high):
        point = replace(number, low=end, high=end, bound=Bound.EXACT)
        found = ((place, number_support(sentence, point, passage)) for place, passage in enumerate(passages))
        match = next(((place, match) for place, match in found if match and match.how == "equal"), None)
        if match is None:
            return None
        matches.append(match)
    (place, first), (_, last) = matches
    return place, first._replace(how=f"{first.text} and {last.text}")


def pairs(items: Sequence[tuple[_FactT, Hashable, Sequence[Hashable]]]) -> Iterator[tuple[_FactT, _FactT]]:
    """Pair each (fact, key, partner keys) with the nearest later fact that has a partner key, in order."""
    later: dict[Hashable, int] = {}
    partners: list[tuple[_FactT, _FactT]] = []
    for place in range(len(items) - 1, -1, -1):
        fact, key, partner_keys = items[place]
        nearest = min([later[other] for other in partner_keys if other in later], default=None)
        if nearest is not None:
            partners.append((fact, items[nearest][0]))
        later[key] = place
    return reversed(partners)
