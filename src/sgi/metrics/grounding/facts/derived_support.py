"""Checks whether facts of a passage imply a quantity."""

from __future__ import annotations

import re
from decimal import Context, Decimal
from typing import TYPE_CHECKING

from sgi.metrics.grounding.analysed_text import ENGLISH
from sgi.metrics.grounding.facts.count_support import (
    joined_counts,
    languages,
    numbered_things,
    ranks,
    relatives,
    siblings,
)
from sgi.metrics.grounding.facts.extract import clause_at, folded_words, numbers_of
from sgi.metrics.grounding.facts.fact import merge_spans, overlaps
from sgi.metrics.grounding.facts.number_support import FactMatch, pairs
from sgi.metrics.grounding.facts.numerals import PARTS
from sgi.metrics.grounding.facts.units import AGE, unit_named
from sgi.metrics.grounding.facts.words import fold, stem
from sgi.metrics.grounding.languages.of_text import language_code

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.metrics.grounding.facts.fact import Quantity

_SUM = re.compile(
    r"\b(?:totals?|totall?ing|altogether|combined|sum|overall|together|both|all)\b", re.IGNORECASE
)
_DIFFERENCE = re.compile(
    r"\b(?:difference|more|less|fewer|increased?|rose|grew|decreased?|fell|drop(?:ped)?|gained?|lost|longer|shorter"
    r"|taller|heavier|older|younger|later|earlier|remaining|left|additional|extra|another|apart)\b",
    re.IGNORECASE,
)
_SUMMED = frozenset({"length", "mass", "time", "volume", "currency", "share", "area", "data", "energy"})
_YEAR_SECONDS = Decimal(31556952)
_PIECES = re.compile(r"[^,;:.!?\n]+(?:,[^,;:.!?\n]+)*")
_CONJUNCTION = re.compile(r"(?<!,)(?=(,?\s(?:and|or|&)\s)[^,;:.!?\n])")
_LAST_ITEM = re.compile(r"[^,;:.!?\n]+")
_LONGEST_CONJUNCTION = len(", and a")
_ITEM_END = re.compile(r",\s(?:and|or)\s|,|\s(?:and|or|&)\s")
_LIST_OPENING = re.compile(r"[:(–—]\s?|\s-\s|\b(?:are|were|including|includes?|such as|namely)\s")
_OUT_OF = re.compile(r"\s(?:in|out of)\s")
_NUMBERED = re.compile(r"(?m)(?:^|(?<=[\s.:;]))\(?(\d{1,2})[.)]\s")
_MOST_ITEMS = 20
_COARSE = Context(prec=18)  # ignores rounding errors in the 28th digit
_A_UNIT = re.compile(
    r"\b(?:an?|one)\s(year|month|week|decade|century|fortnight|day|hour|minute)\b", re.IGNORECASE
)
_CLOSE = Decimal("0.03")  # "30 days" is a month
_EIGHT = 8
_NUMBER_NOUNS = {  # dimension and number: words
    ("ordinal", 1): ("first",),
    ("ordinal", 2): ("second",),
    ("ordinal", 3): ("third",),
    ("", 2): ("both", "pair", "couple", "twins", "duo"),
    ("", 3): ("trio", "triplets"),
    ("", 4): ("quartet",),
    ("", 5): ("quintet",),
}
_LARGEST_WORD = 5
_SCORE = re.compile(r"(?<![\d.,$€£])(\d{1,3})(?:\s?[-–:]\s?|\sto\s)(\d{1,3})(?![\d%°]|[.,]\d)")
_OF_ALL = re.compile(r"\bof\s(?:(?:the|its|our|their|all|some|about)\s)*$", re.IGNORECASE)
_LIFE = re.compile(r"\b(?:died|dies|death|killed)\b")
_LOOK_BACK = 24
_OLDEST = 120
_ONE_PART = {  # "a fifth" without a noun
    Decimal(1) / parts: (f"{'an' if parts == _EIGHT else 'a'} {word}",)
    for word, parts in PARTS.items()
    if not word.endswith("s") and parts > _LARGEST_WORD - 1
}


def derived_support(sentence: str, number: Quantity, passage: str) -> FactMatch | None:
    """Find the facts of a passage that imply a quantity by one step of arithmetic.

    Rules: the years between two dates of one clause; a number of a share ("9 out of 20"); a sum or difference
    of two quantities, if the sentence has a word for it ("total", "more" …); the number of items of a list; a
    unit without a number ("a fortnight"); a word that means a number ("third", "both", "trio"). In other
    languages than English, only the years between two dates and scores.

    >>> derived_support("4 years", numbers_of("4 years").quantities[0], "The war of 1914 to 1918").how
    '1918 - 1914'
    """
    if number.is_range or number.low <= 0:
        return None
    rules = _RULES if language_code(passage) == ENGLISH else _RULES_WITHOUT_WORDS
    return next((match for rule in rules for match in rule(sentence, number, passage)), None)


def _years_between(_: str, number: Quantity, passage: str) -> Iterator[FactMatch]:
    length = number.low * number.factor / _YEAR_SECONDS
    if number.dimension != "time" or number.factor < _YEAR_SECONDS or length != length.to_integral_value():
        return
    years = []
    for date in numbers_of(passage).dates:
        if date.year is not None and date.year == date.last_year:
            clause = clause_at(passage, date.start).start
            partners = [(clause, date.year + length), (clause, date.year - length)]
            years.append((date, (clause, date.year), partners))
    for first, second in pairs(years):
        earlier, later = sorted((first, second), key=lambda date: date.year or 0)
        match = FactMatch.between(first, second, f"{later.year} - {earlier.year}")
        yield match._replace(text=f"{earlier.text}, {later.text}")


def _one_unit(_: str, number: Quantity, passage: str) -> Iterator[FactMatch]:
    """Match a unit of time without a number: "a fortnight" implies 14 days."""
    if number.dimension != "time":
        return
    value = number.low * number.factor
    for match in _A_UNIT.finditer(passage):
        unit = unit_named(match[1].lower())
        if unit and abs(unit.factor - value) <= unit.factor * _CLOSE:
            yield FactMatch(match[0], *match.span(), "converted")


def _word_for_number(sentence: str, number: Quantity, passage: str) -> Iterator[FactMatch]:
    """Match a word that means a small number, in a clause about the same thing."""
    words = _NUMBER_NOUNS.get((number.dimension, int(number.low)), ()) if number.low <= _LARGEST_WORD else ()
    if number.dimension == "share" and not words:
        words = _ONE_PART.get(number.base(number.low), ())
    own = clause_at(sentence, number.start).stems - set(fold(number.text).split()) if words else frozenset()
    for word in words:
        if f" {word} " not in folded_words(passage):
            continue
        others = numbers_of(passage).quantities if number.dimension != "share" else ()
        quantities = merge_spans([(other.start, other.end) for other in others])
        for match in re.finditer(rf"\b{word}\b", passage, re.IGNORECASE):
            shared = own & clause_at(passage, match.start()).stems
            if len(shared) * 3 >= len(own) and not overlaps(*match.span(), quantities):
                yield FactMatch(match[0], *match.span(), "equal")


def _score(sentence: str, number: Quantity, passage: str) -> Iterator[FactMatch]:
    """Match a score in another spelling: "13 to 3" and "13 - 3"."""
    for match in _SCORE.finditer(sentence) if not number.dimension else ():
        if match.start() <= number.start < match.end():
            for other in _SCORE.finditer(passage):
                if sorted(match.groups()) == sorted(other.groups()):
                    yield FactMatch(other[0], *other.span(), "equal")


def _ratio(_: str, number: Quantity, passage: str) -> Iterator[FactMatch]:
    """Match the share of two counts of a clause: "of the 250 students, 50" is 20 %."""
    if number.dimension != "share":
        return
    share = number.base(number.low)
    counts = [other for other in numbers_of(passage).quantities if not other.dimension and other.low > 0]
    parts = {(clause_at(passage, other.start).start, other.low): other for other in counts}
    for whole in counts:
        part = parts.get((clause_at(passage, whole.start).start, share * whole.low))
        before = passage[max(0, whole.start - _LOOK_BACK) : whole.start]
        if part and part.low < whole.low and _OF_ALL.search(before):
            first, last = sorted((part, whole), key=lambda one: one.start)
            yield FactMatch.between(first, last, f"{part.text} / {whole.text}")


def _age(sentence: str, number: Quantity, passage: str) -> Iterator[FactMatch]:
    """Match an age with the years of birth and death."""
    is_age = number.unit == AGE.name or (not number.dimension and not number.nouns)
    if not is_age or number.low > _OLDEST or not _LIFE.search(sentence):
        return
    dates = numbers_of(passage).dates if " born " in folded_words(passage) else ()
    years = {date.year: date for date in dates if date.year is not None and date.year == date.last_year}
    for year, birth in years.items():
        for age in (int(number.low), int(number.low) + 1):
            death = years.get(year + age)
            if death:
                first, last = sorted((birth, death), key=lambda one: one.start)
                yield FactMatch.between(first, last, f"{death.year} - {year}")


def _parts(_: str, number: Quantity, passage: str) -> Iterator[FactMatch]:
    """Match the numbers of a share: "nine out of 20"."""
    if number.dimension:
        return
    for other in numbers_of(passage).quantities:
        if other.unit != "share":
            continue
        for piece in _OUT_OF.split(other.text)[:2]:
            if any(part.low == number.low for part in numbers_of(piece).quantities):
                yield FactMatch.at(other, "part of a share")


def _sums(sentence: str, number: Quantity, passage: str) -> Iterator[FactMatch]:
    if number.dimension not in {"", *_SUMMED} or (not number.dimension and not number.nouns):
        return
    adds, takes = _SUM.search(sentence), _DIFFERENCE.search(sentence)
    if not adds and not takes:
        return
    value = number.low * number.factor
    parts = []
    for other in numbers_of(passage).quantities:
        if not other.is_range and _adds_to(number, other):
            own = other.low * other.factor
            partners = [value - own] if adds else []
            partners += [own + value, own - value] if takes else []
            parts.append((other, _COARSE.plus(own), [_COARSE.plus(target) for target in partners]))
    for first, second in pairs(parts):
        one, two = first.low * first.factor, second.low * second.factor
        if adds and one + two == value:
            yield FactMatch.between(first, second, f"{first.text} + {second.text}")
        elif takes and abs(one - two) == value:
            large, small = (first, second) if one > two else (second, first)
            yield FactMatch.between(first, second, f"{large.text} - {small.text}")


def _adds_to(number: Quantity, other: Quantity) -> bool:
    if number.dimension:
        return number.unit == other.unit and other.low > 0
    return not other.dimension and bool(set(number.nouns) & set(other.nouns)) and other.low > 0


def _list_items(sentence: str, number: Quantity, passage: str) -> Iterator[FactMatch]:
    """Match lists with that many items: in the passage near the counted noun, or in the sentence itself."""
    if number.dimension or not 1 < number.low <= _MOST_ITEMS or number.low != number.low.to_integral_value():
        return
    count = int(number.low)
    marks = [int(match[1]) for match in _NUMBERED.finditer(passage)]
    if marks and max(marks) == count and len(set(marks)) == count:
        yield FactMatch("", None, None, f"a list of {count}")
    nouns = set(number.nouns)
    for start, end in _lists(passage) if nouns else ():
        items = _ITEM_END.split(passage[start:end])
        if len(items) != count or not nouns & clause_at(passage, start).stems:
            continue
        if not any(nouns & set(map(stem, fold(item).split()[-1:])) for item in items):
            yield FactMatch(passage[start:end].strip(), start, end, f"a list of {count}")
    words = folded_words(passage)
    opening = _LIST_OPENING.search(sentence, number.end)
    for start, end in _lists(sentence, opening.end()) if opening and nouns else ():
        parts = _ITEM_END.split(sentence[start:end])
        if len(parts) == count and all(_occurs_in(part, words) for part in parts):
            yield FactMatch("", None, None, f"its own list of {count}")


def _lists(text: str, place: int = 0) -> Iterator[tuple[int, int]]:
    """Return the positions of lists: items between commas, the last after a conjunction."""
    while pieces := _PIECES.search(text, place):
        start, place = pieces.span()
        last = None
        for conjunction in _CONJUNCTION.finditer(text, start + 1, place + _LONGEST_CONJUNCTION):
            last = conjunction if conjunction.start() <= place else last
        item = _LAST_ITEM.match(text, last.end(1)) if last else None
        if item:
            place = item.end()
            yield start, place


def _occurs_in(part: str, words: str) -> bool:
    last = fold(part).split()[-1:]
    return bool(last) and (f" {last[0]} " in words or f" {stem(last[0])}" in words)


_RULES = (
    *(_years_between, _one_unit, _word_for_number, _score, _ratio, _age, _parts, _sums, _list_items),
    *(joined_counts, siblings, languages, ranks, relatives, numbered_things),
)
_RULES_WITHOUT_WORDS = (_years_between, _score)  # the other rules read English words
