"""Questions for a value: a date, a duration, a number or a place."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from sgi_quiz.clauses import Clause, is_self_contained
from sgi_quiz.facts import Fact, inverted_fact, span_text, subject_fact
from sgi_quiz.parsing import is_name, kept, said

if TYPE_CHECKING:
    from collections.abc import Iterator


_TIMES = {"DATE", "MONEY", "PERCENT", "TIME"}
_UNCOUNTED = {"last", "more", "other", "such", "following", "and"}
_YEAR = re.compile(r"\b(1[0-9]|20)\d\d\b|\b\d{3,4} (?:BC|AD)\b")
_MONTH = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_DAY = re.compile(rf"{_MONTH} \d|\d (?:of )?{_MONTH}|{_MONTH} \d{{4}}")
_DURATION = re.compile(r"\b(?:\d[\d,.]*|one|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty)[- ]"
                       r"(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?|decades?)\b")  # fmt: skip
_DATED = ("in", "on", "since", "during", "until")
_SIZES = {"tall", "long", "high", "wide", "deep", "large", "thick", "heavy"}
_CURRENCY = re.compile(r"[$€£¥]|\b(?:dollars?|euros?|pounds?|cents?|yen|francs?)\b")
_PLACES = {"GPE", "LOC", "FAC"}


def _dates(clause: Clause) -> Iterator[Fact]:
    in_front = replace(clause, rest=clause.front).objects(*_DATED)
    for prep, noun in (*clause.objects(*_DATED), *in_front):
        text, omit = span_text(noun, clause.sentence), frozenset({prep.i})
        is_date = (_YEAR.search(text) or _DAY.search(text)) and noun.ent_type_ in {"DATE", "CARDINAL"}
        wh = {"since": "Since when", "until": "Until when"}.get(prep.lower_, "When")
        if is_date and len(text.split()) <= 5 and not _YEAR.search(clause.inverted(wh, omit)):
            yield from inverted_fact(clause, "date", wh, noun, omit)


def _durations(clause: Clause) -> Iterator[Fact]:
    for prep, noun in clause.objects("for"):
        text = span_text(noun, clause.sentence)
        if _DURATION.search(text) and len(text.split()) <= 5:
            yield from inverted_fact(clause, "duration", "How long", noun, frozenset({prep.i}))


def _numbers(clause: Clause) -> Iterator[Fact]:
    for noun in clause.rest:
        numbers = [one for one in noun.children if one.dep_ == "nummod" and one.tag_ == "CD"]
        is_plural = noun.tag_ in {"NNS", "NNPS"} and not list(noun.conjuncts)
        is_definite = any(
            one.lower_ in {"the", "these", "his", "her", "its", "their"} for one in noun.children
        )
        if noun.dep_ not in {"dobj", "attr"} or noun.ent_type_ in _TIMES or len(numbers) != 1 or is_definite:
            continue
        hidden = {one.i for one in noun.lefts if one.dep_ in {"det", "advmod", "quantmod", "nummod"}}
        what = said(kept(noun, hidden))
        if is_plural and _is_countable(what) and is_self_contained(clause, frozenset({numbers[0].i})):
            yield from inverted_fact(clause, "number", f"How many {what}", numbers[0], frozenset({noun.i}))
    yield from _amounts(clause)
    yield from _counted_subjects(clause)


def _amounts(clause: Clause) -> Iterator[Fact]:
    for noun in clause.rest:
        omit = frozenset({noun.i})
        measures = [one for one in noun.children if one.dep_ == "npadvmod"]
        is_money = noun.ent_type_ == "MONEY" and noun.tag_ in {"CD", "NNS", "NN", "$"}
        if noun.dep_ == "dobj" and is_money and _CURRENCY.search(span_text(noun, clause.sentence)):
            is_paid = clause.verb.lemma_ in {"cost", "pay", "spend", "raise", "earn"}
            yield from inverted_fact(
                clause, "number", "How much" if is_paid else "How much money", noun, omit
            )
        elif noun.dep_ == "acomp" and noun.lower_ in _SIZES and measures:
            yield from inverted_fact(clause, "number", f"How {noun.text}", measures[0], omit)


def _counted_subjects(clause: Clause) -> Iterator[Fact]:
    noun = clause.subject
    numbers = [one for one in noun.children if one.dep_ == "nummod" and one.tag_ == "CD"]
    has_name = any(is_name(token) for one in (noun, *clause.rest, *clause.front) for token in kept(one))
    if len(numbers) != 1 or noun.tag_ != "NNS" or noun.ent_type_ in _TIMES or clause.is_copula:
        return
    hidden = frozenset(one.i for one in noun.children if one.dep_ in {"det", "advmod", "nummod"})
    what = said(kept(noun, hidden))
    if has_name and _is_countable(what) and noun.text[0].islower():
        question = f"How many {what} {clause.predicate()}?"
        yield from subject_fact(clause, "number", question, numbers[0], hidden)


def _is_countable(what: str) -> bool:
    """Return whether *how many* can stand before these words."""
    words = what.split()
    is_plain = all(re.fullmatch(r"[^\W\d_]{2}[\w'’.-]*", word) for word in words)
    return is_plain and len(words) <= 6 and not _UNCOUNTED & {word.casefold() for word in words}


def _places(clause: Clause) -> Iterator[Fact]:
    found = [one for prep in clause.rest for one in prep.children if one.ent_type_ in _PLACES]
    if (
        len(found) > 1
        or clause.attribute is not None
        or clause.verb.lemma_ in {"interest", "believe", "invest"}
    ):
        return
    for prep, place in clause.objects("in", "at", "near"):
        is_other = place.text.isupper() and place.text not in {"US", "UK", "USA", "EU"}
        is_place = place.ent_type_ in _PLACES and is_name(place) and place.text not in clause.sentence.codes
        if is_place and not is_other:
            yield from inverted_fact(clause, "place", "Where", place, frozenset({prep.i}))


VALUES = (_dates, _durations, _numbers, _places)
"""The functions that find values in a clause."""
