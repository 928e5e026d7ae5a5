"""Questions for a value: a date, a duration, a number or a place."""

from __future__ import annotations

import re
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
_PLACES = {"GPE", "LOC", "FAC"}


def _dates(clause: Clause) -> Iterator[Fact]:
    for prep in (*clause.rest, *clause.front):
        objects = [one for one in prep.children if one.dep_ == "pobj"]
        if (
            prep.dep_ != "prep"
            or prep.lower_ not in {"in", "on", "since", "during", "by", "until"}
            or len(objects) != 1
        ):
            continue
        text = span_text(objects[0], clause.sentence)
        omit = frozenset({prep.i})
        if not (_YEAR.search(text) or _DAY.search(text)) or objects[0].ent_type_ not in {"DATE", "CARDINAL"}:
            continue
        if len(text.split()) > 5 or (prep.lower_ == "by" and clause.auxiliaries):
            continue
        wh = {"since": "Since when", "until": "Until when"}.get(prep.lower_, "When")
        if not _YEAR.search(clause.inverted(wh, omit)):
            yield from inverted_fact(clause, "date", wh, objects[0], omit)


def _durations(clause: Clause) -> Iterator[Fact]:
    for prep in clause.rest:
        objects = [one for one in prep.children if one.dep_ == "pobj"]
        if prep.dep_ == "prep" and prep.lower_ == "for" and len(objects) == 1:
            text = span_text(objects[0], clause.sentence)
            if _DURATION.search(text) and len(text.split()) <= 5:
                omit = frozenset({prep.i})
                yield from inverted_fact(clause, "duration", "How long", objects[0], omit)


def _numbers(clause: Clause) -> Iterator[Fact]:
    for noun in clause.rest:
        if noun.dep_ not in {"dobj", "attr"} or noun.ent_type_ in _TIMES:
            continue
        numbers = [one for one in noun.children if one.dep_ == "nummod" and one.tag_ == "CD"]
        if len(numbers) != 1 or noun.tag_ not in {"NNS", "NNPS"} or list(noun.conjuncts):
            continue
        if any(one.lower_ in {"the", "these", "his", "her", "its", "their"} for one in noun.children):
            continue
        number = numbers[0]
        hidden = {
            one.i
            for one in noun.children
            if one.dep_ == "det" or (one.dep_ in {"advmod", "quantmod"} and one.i < noun.i)
        } | {number.i}
        what = said(kept(noun, hidden))
        omit = frozenset({noun.i})
        if _is_countable(what) and is_self_contained(clause, frozenset({number.i})):
            yield from inverted_fact(clause, "number", f"How many {what}", number, omit)
    yield from _counted_objects(clause)
    yield from _amounts(clause)
    yield from _counted_subjects(clause)


def _amounts(clause: Clause) -> Iterator[Fact]:
    for noun in clause.rest:
        if noun.dep_ == "dobj" and noun.ent_type_ == "MONEY":
            omit = frozenset({noun.i})
            wh = (
                "How much"
                if clause.verb.lemma_ in {"cost", "pay", "spend", "raise", "earn"}
                else "How much money"
            )
            yield from inverted_fact(clause, "number", wh, noun, omit)
        elif noun.dep_ == "acomp" and noun.lower_ in {
            "tall",
            "long",
            "high",
            "wide",
            "deep",
            "old",
            "large",
            "thick",
            "heavy",
        }:
            measures = [one for one in noun.children if one.dep_ == "npadvmod"]
            if len(measures) == 1 and re.search(r"\d", measures[0].subtree.__next__().text):
                omit = frozenset({noun.i})
                yield from inverted_fact(clause, "number", f"How {noun.text}", measures[0], omit)


def _counted_subjects(clause: Clause) -> Iterator[Fact]:
    noun = clause.subject
    numbers = [one for one in noun.children if one.dep_ == "nummod" and one.tag_ == "CD"]
    if len(numbers) != 1 or noun.tag_ != "NNS" or noun.ent_type_ in _TIMES:
        return
    if not any(is_name(token) for one in (noun, *clause.rest, *clause.front) for token in kept(one)):
        return
    if noun.text[0].isupper() or clause.is_copula:
        return
    hidden = {one.i for one in noun.children if one.dep_ in {"det", "advmod"}} | {numbers[0].i}
    what = said(kept(noun, hidden))
    if _is_countable(what):
        question = f"How many {what} {clause.predicate()}?"
        yield from subject_fact(clause, "number", question, numbers[0], frozenset(hidden))


def _counted_objects(clause: Clause) -> Iterator[Fact]:
    """Ask for a number after a preposition: *in how many countries*."""
    for prep in clause.rest:
        noun = next((one for one in prep.children if one.dep_ == "pobj" and one.tag_ == "NNS"), None)
        if noun is None or prep.lower_ not in {"in", "at", "from", "to", "on"} or noun.ent_type_ in _TIMES:
            continue
        numbers = [one for one in noun.children if one.dep_ == "nummod" and one.tag_ == "CD"]
        what = said(kept(noun, {one.i for one in numbers}))
        if (
            len(numbers) == 1
            and not list(numbers[0].children)
            and _is_countable(what)
            and not list(noun.conjuncts)
        ):
            wh = f"{prep.text.title()} how many {what}"
            yield from inverted_fact(clause, "number", wh, numbers[0], frozenset({prep.i}))


def _is_countable(what: str) -> bool:
    """Return whether *how many* can stand before these words."""
    words = what.split()
    is_plain = all(re.fullmatch(r"[^\W\d_]{2}[\w'’.-]*", word) for word in words)
    return is_plain and len(words) <= 6 and not _UNCOUNTED & {word.casefold() for word in words}


def _places(clause: Clause) -> Iterator[Fact]:
    found = [one for prep in clause.rest for one in prep.children if one.ent_type_ in _PLACES]
    if len(found) > 1 or any(one.dep_ == "attr" for one in clause.rest):
        return
    for prep in clause.rest:
        objects = [one for one in prep.children if one.dep_ == "pobj"]
        if prep.dep_ != "prep" or prep.lower_ not in {"in", "at", "near"} or len(objects) != 1:
            continue
        place = objects[0]
        is_acronym = place.text.isupper() and place.text not in {"US", "UK", "USA", "EU"}
        if (
            place.text not in clause.sentence.codes
            and place.ent_type_ in _PLACES
            and not is_acronym
            and is_name(place)
            and clause.verb.lemma_ not in {"interest", "believe", "result", "invest"}
        ):
            omit = frozenset({prep.i})
            yield from inverted_fact(clause, "place", "Where", place, omit)


VALUES = (_dates, _durations, _numbers, _places)
"""The functions that find values in a clause."""
