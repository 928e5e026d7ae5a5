"""Supports counts and ranks by other words of a passage: "one of eight children" for seven siblings."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from sgi.metrics.grounding.facts.extract import clause_at, numbers_of
from sgi.metrics.grounding.facts.name_tables import PLACES
from sgi.metrics.grounding.facts.number_support import FactMatch
from sgi.metrics.grounding.facts.numerals import ORDINALS
from sgi.metrics.grounding.facts.units import ORDINAL
from sgi.metrics.grounding.facts.words import stem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.metrics.grounding.facts.fact import Quantity

_JOINED = re.compile(r"[^.!?;\d]{1,60}\b(?:and|plus)\s$")
_SIBLINGS = frozenset({"sibling", "brother", "sister"})
_KINDS = {
    "child": frozenset({"son", "daughter"}),
    "sibling": frozenset({"brother", "sister"}),
}
_ONE_OF = re.compile(
    r"\b(?:one|last|\w{2,12}(?:est|th|rd|nd|st)) of (?:the |his |her |their )?$", re.IGNORECASE
)
_CHILDREN = frozenset({"children", "child", "sibling", "kid", "son", "daughter"})
_LANGUAGES = re.compile(r"\b[A-Z][a-z]{2,15}(?:, [A-Z][a-z]{2,15}){0,18},? and [A-Z][a-z]{2,15}\b")
_LANGUAGE_ENDS = ("ish", "ese", "ian", "ean", "ic")
_ITEM_END = re.compile(r", and |, | and ")
_RANK = re.compile(r"\b(?P<kind>number|no\.|top)\s(?:the\s)?$", re.IGNORECASE)
_LOOK_BACK = 12
_ORDINAL_WORDS = {number: word for word, number in ORDINALS.items()}
_THING = re.compile(
    r"([^\W\d_]+)[ ](?:\d{1,3}(?:,[ ]?|[ ](?:and|or)[ ]|[ ]?[-–][ ]?)(?:(?:and|or)[ ])?){0,9}$"
)
_THING_ROOM = 60


def joined_counts(_: str, number: Quantity, passage: str) -> Iterator[FactMatch]:
    """Match the sum of two neighbouring counts: "24 short episodes and two long episodes"."""
    if number.dimension or not number.nouns:
        return
    noun = number.nouns[0]
    counts = [
        other for other in numbers_of(passage).quantities if not other.dimension and noun in other.nouns
    ]
    for first, second in pairwise(counts):
        if first.low + second.low == number.low and _JOINED.fullmatch(passage[first.end : second.start]):
            yield FactMatch.between(first, second, f"{first.text} + {second.text}")


def siblings(_: str, number: Quantity, passage: str) -> Iterator[FactMatch]:
    """Match a number of siblings with "one of eight children"."""
    if number.dimension or not _SIBLINGS.intersection(number.nouns):
        return
    for other in numbers_of(passage).quantities:
        before = passage[max(0, other.start - _LOOK_BACK * 2) : other.start]
        if other.low == number.low + 1 and _CHILDREN.intersection(other.nouns[:2]) and _ONE_OF.search(before):
            yield FactMatch.at(other, f"{other.text} - 1")


def relatives(_: str, number: Quantity, passage: str) -> Iterator[FactMatch]:
    """Match children with sons or daughters, and siblings with brothers or sisters, if there is one kind."""
    kinds = _KINDS.get(number.nouns[0]) if number.nouns and not number.dimension else None
    for other in numbers_of(passage).quantities if kinds else ():
        named = kinds & clause_at(passage, other.start).stems if kinds else frozenset()
        if other.low == number.low and len(named) == 1 and named.intersection(other.nouns[:2]):
            yield FactMatch.at(other, "equal")


def languages(_: str, number: Quantity, passage: str) -> Iterator[FactMatch]:
    """Match a number of languages with a list of them: "in English and French"."""
    if number.dimension or number.nouns[:1] != ("language",):
        return
    for match in _LANGUAGES.finditer(passage):
        items = _ITEM_END.split(match[0])
        if len(items) == number.low and all(
            item.casefold() in PLACES or item.endswith(_LANGUAGE_ENDS) for item in items
        ):
            yield FactMatch(match[0], *match.span(), f"a list of {len(items)}")


def ranks(sentence: str, number: Quantity, passage: str) -> Iterator[FactMatch]:
    """Match "number two" with "the second largest", and "the top ten" with "eighth", in similar clauses."""
    rank = _RANK.search(sentence[max(0, number.start - _LOOK_BACK) : number.start])
    if number.dimension or not rank:
        return
    own = clause_at(sentence, number.start).stems
    is_top = rank["kind"].lower() == "top"
    for other in numbers_of(passage).quantities:
        fits = other.low <= number.low if is_top else other.low == number.low
        if other.unit == ORDINAL.name and fits and own & clause_at(passage, other.start).stems:
            yield FactMatch.at(other, "bound" if is_top else "equal")
    word = None if is_top else _ORDINAL_WORDS.get(int(number.low))
    for match in re.finditer(rf"\b{word}\s\w+est\b", passage) if word else ():
        if own & clause_at(passage, match.start()).stems:
            yield FactMatch(match[0], *match.span(), "equal")


def numbered_things(sentence: str, number: Quantity, passage: str) -> Iterator[FactMatch]:
    """Match a number in a range of numbered things: "box 2" in "boxes 1-3"."""
    thing = None if number.dimension else _thing(sentence, number)
    for other in numbers_of(passage).quantities if thing else ():
        inside = other.is_range and other.low <= number.low <= other.high and not other.dimension
        if inside and number.low == int(number.low) and thing == _thing(passage, other):
            yield FactMatch.at(other, "inside a range")


def _thing(text: str, number: Quantity) -> str:
    """Return the stem of the word before a number and the numbers before it ("boxes 1 and 2")."""
    before = _THING.search(text[max(0, number.start - _THING_ROOM) : number.start])
    return stem(before[1].casefold()) if before else ""
