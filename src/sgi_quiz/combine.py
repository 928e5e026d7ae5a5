"""Questions that are made of facts: yes/no, false premises, comparisons, two hops, follow-ups."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

from sgi_quiz.facts import Fact, year_of
from sgi_quiz.parsing import is_name, is_person, kept, said
from sgi_quiz.question import Kind, Question

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from random import Random

    from spacy.tokens import Token

_SMALL = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
_LABELS = {"ORG": "organization that", "GPE": "place that"}
_VALUES = {"date", "number", "duration", "place"}
MIN_TYPO_WORD = 5


def fact_question(fact: Fact) -> Question:
    """Return the question for a single fact."""
    kind = f"a {fact.kind}" if fact.kind[0] not in "aeiou" else f"an {fact.kind}"
    why = f"Asks for {kind} that one sentence of {fact.sentence.passage.place} states."
    return _question(Kind.FACT, [fact], fact.question, fact.reference, why)


def _question(
    kind: Kind, facts: Sequence[Fact], text: str, reference: str | None, why: str, **others: Any
) -> Question:
    """Return a question that is made of facts; it asks for the last one."""
    return Question(
        kind,
        text=text,
        reference=reference,
        passages=tuple(dict.fromkeys(fact.sentence.passage for fact in facts)),
        sentence="\n".join(dict.fromkeys(fact.sentence.text for fact in facts)),
        why=why,
        **{"asks_for": facts[-1].kind, "topic": topic_of(facts[-1])} | others,
    )


def topic_of(fact: Fact) -> str:
    """Return the thing that a fact is about: the subject of its clause, or the question."""
    if fact.clause is None or fact.answer == fact.clause.subject:
        return fact.question
    return fact.sentence.restored(fact.clause.subject_text())


def other_value(fact: Fact, pool: Mapping[str, Sequence[str]], draw: Random) -> str | None:
    """Return a wrong value of the same kind for a fact; None if there is none that is clearly wrong."""
    text = fact.sentence.passage.plain
    for _ in range(10):
        value = _changed(fact, pool, draw)
        if value is not None and value != fact.reference and value.casefold() not in text.casefold():
            return value
    return None


def _changed(fact: Fact, pool: Mapping[str, Sequence[str]], draw: Random) -> str | None:
    if fact.kind == "place":
        names = pool.get(fact.answer.ent_type_, ())
        return draw.choice(names) if names else None
    if fact.kind == "date" and (year := year_of(fact.reference)):
        shift = draw.choice([-1, 1]) * draw.randint(3, max(4, min(40, (2026 - year) // 2)))
        return fact.reference.replace(str(year), str(year + shift)) if year + shift < 2026 else None
    for word in _SMALL:
        if re.search(rf"\b{word}\b", fact.reference):
            return re.sub(rf"\b{word}\b", draw.choice([one for one in _SMALL if one != word]), fact.reference)
    numbers = re.findall(r"(?<![\d.,])\d{1,6}(?![\d.,]*\d)", fact.reference)
    if len(numbers) != 1:
        return None
    number = int(numbers[0])
    return fact.reference.replace(
        numbers[0], str(number + draw.choice([-1, 1, 2]) * max(1, number // draw.choice([3, 4, 5])))
    )


def _swap(fact: Fact, value: str) -> dict[int, str]:
    """Return the tokens of the answer with the value in their place."""
    tokens = kept(fact.answer)
    return {tokens[0].i: value} | {token.i: "" for token in tokens[1:]}


def yes_no_question(fact: Fact, *, says_yes: bool, value: str | None) -> Question | None:
    """Return a question whose answer is yes, or no with another value in the place of the right one."""
    clause = fact.clause
    if clause is None or not fact.wh or (fact.kind not in _VALUES) or (value is None and not says_yes):
        return None
    text = clause.inverted("", (), {} if says_yes else _swap(fact, value or ""))
    text = re.sub(r"\s+", " ", text)
    if not text or "," in text:
        return None
    right = "Yes" if says_yes else f"No, {fact.reference}"
    why = (
        f"States what {fact.sentence.passage.place} says; the answer is yes."
        if says_yes
        else f"Has {value} in the place of {fact.reference}; the answer is no."
    )
    asks_for = "yes" if says_yes else "no"
    return _question(Kind.YES_NO, [fact], text, right, why, asks_for=asks_for, parents=(fact_question(fact),))


def false_premise(asked: Fact, changed: Fact, value: str) -> Question | None:
    """Return a question for one fact of a clause that has a wrong value in the place of another fact."""
    clause = changed.clause
    if clause is None or changed.kind not in _VALUES or asked.clause is not clause or not asked.wh:
        return None
    if asked is changed:
        if changed.kind != "date" or clause.verb.lemma_ in {"die", "bear"}:
            return None
        text = clause.inverted("Why", (), _swap(changed, value))
    else:
        text = clause.inverted(asked.wh, asked.omit, _swap(changed, value))
    text = re.sub(r"\s+", " ", text)
    if not text or value not in text or "," in text:
        return None
    why = f"Its premise is false: the passage says {changed.reference}, not {value}."
    return _question(Kind.FALSE_PREMISE, [changed], text, None, why, parents=(fact_question(changed),))


def comparisons(facts: Sequence[Fact]) -> Iterator[Question]:
    """Yield questions which of two things happened first, from two sentences with the same verb."""
    groups: dict[tuple[str, str], list[tuple[int, Fact]]] = defaultdict(list)
    for fact in facts:
        clause = fact.clause
        year = year_of(fact.reference) if fact.kind == "date" else None
        if (
            clause is None
            or year is None
            or len(clause.rest) > 1
            or clause.front
            or clause.verb.lemma_ == "be"
        ):
            continue
        if not is_name(clause.subject) and not any(map(is_name, kept(clause.subject))):
            continue
        if clause.subject.tag_ in {"NNS", "NNPS"} or len(kept(clause.subject)) > 7:
            continue
        verb = " ".join(token.text for token in (*clause.auxiliaries, clause.verb))
        label = "Who" if is_person(clause.subject) else "Which"
        groups[label, verb].append((year, fact))
    for (label, verb), found in groups.items():
        for (year, fact), (other_year, other) in combinations(found[:8], 2):
            names = topic_of(fact), topic_of(other)
            if year == other_year or names[0] == names[1]:
                continue
            first = names[year > other_year]
            text = f"{label} {verb} first, {names[0]} or {names[1]}?"
            why = f"Compares two dates: {fact.reference} and {other.reference}."
            parents = fact_question(fact), fact_question(other)
            yield _question(Kind.COMPARISON, [fact, other], text, first, why, parents=parents)


def two_hops(facts: Sequence[Fact]) -> Iterator[Question]:
    """Yield questions in which a fact of one passage stands in the place of a name in another passage."""
    for name, found in _by_subject(facts).items():
        for one in found:
            clause = one.clause
            subject = clause.subject if clause else None
            start = _description_of(subject) if subject is not None else ""
            if clause is None or not start or clause.is_copula or len(clause.after().split()) < 2:
                continue
            description = clause.sentence.restored(f"the {start} {clause.predicate()}")
            for other in found:
                if (
                    other.sentence.passage.text == one.sentence.passage.text
                    or other.clause is None
                    or not other.wh
                ):
                    continue
                text = other.clause.inverted(other.wh, other.omit, subject=description)
                is_given = (
                    other.reference in description
                    or one.sentence.passage.source == ""
                    or name.casefold() in text.casefold()
                )
                if (
                    len(text.split()) > 30
                    or not text
                    or is_given
                    or other.reference in one.sentence.passage.plain
                ):
                    continue
                why = f"Needs two passages: one says that {name} is {description}, the other has the answer."
                yield _question(
                    Kind.TWO_HOP,
                    [one, other],
                    text,
                    other.reference,
                    why,
                    topic=name,
                    parents=(fact_question(other),),
                    description=description,
                )


def _description_of(subject: Token) -> str:
    return "person who" if is_person(subject) else _LABELS.get(subject.ent_type_, "")


def _by_subject(facts: Sequence[Fact]) -> dict[str, list[Fact]]:
    groups: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        if (
            fact.clause is not None
            and is_name(fact.clause.subject)
            and not list(fact.clause.subject.conjuncts)
        ):
            groups[fact.sentence.restored(said(kept(fact.clause.subject))).removeprefix("the ")].append(fact)
    return groups


def follow_ups(facts: Sequence[Fact]) -> Iterator[Question]:
    """Yield second questions about the thing of a first one, with a pronoun in the place of its name."""
    for name, found in _by_subject(facts).items():
        for first in found:
            for second in found:
                if (
                    first.clause is second.clause
                    or first.sentence.passage.source != second.sentence.passage.source
                ):
                    continue
                pronoun = _pronoun(second)
                if (
                    second.clause is None
                    or not second.wh
                    or not pronoun
                    or not first.wh
                    or second.kind == "definition"
                ):
                    continue
                text = second.clause.inverted(second.wh, second.omit, subject=pronoun)
                if not text or first.reference == second.reference or name.casefold() in text.casefold():
                    continue
                text = f"And {text[0].lower()}{text[1:]}"
                why = f"Needs the turn before it, which names {name}."
                turns = (
                    ("user", first.question),
                    ("assistant", f"{first.reference[0].upper()}{first.reference[1:]}."),
                )
                parents = fact_question(first), fact_question(second)
                yield _question(
                    Kind.FOLLOW_UP,
                    [second],
                    text,
                    second.reference,
                    why,
                    topic=name,
                    turns=turns,
                    parents=parents,
                )


def _pronoun(fact: Fact) -> str:
    """Return the pronoun for the subject of a fact, by those of its passage; "" if it is not clear."""
    if fact.clause is None:
        return ""
    subject, words = fact.clause.subject, fact.sentence.passage.plain.casefold().split()
    if subject.text in fact.sentence.codes or subject.ent_type_ in {"ORG", "GPE", "LOC", "FAC"}:
        return "it" if subject.tag_ == "NNP" else ""
    male, female = sum(map(words.count, ("he", "his"))), sum(map(words.count, ("she", "her")))
    if male or female:
        return "he" if male > 2 * female else "she" if female > 2 * male else ""
    return "" if is_person(subject) else "they" if subject.tag_ in {"NNS", "NNPS"} else "it"


def in_other_words(fact: Fact, original: Question, draw: Random) -> Question | None:
    """Return the question as an indirect question, or as the key words of a search."""
    clause = fact.clause
    if clause is None or not fact.wh:
        return None
    wh = (
        "in what year"
        if fact.kind == "date" and re.fullmatch(r"\d{4}", fact.reference)
        else fact.wh[0].lower() + fact.wh[1:]
    )
    subject = clause.subject_text()
    indirect = f"{wh} {subject} {clause.predicate(fact.omit)}"
    if clause.is_copula and fact.kind == "definition":
        indirect = f"{wh} {subject} {clause.verb.text}"
    text = draw.choice(["Do you know {}?", "Can you tell me {}?", "I would like to know {}."]).format(
        indirect
    )
    why = f"Asks {original.text!r} in other words."
    return replace(
        original, kind=Kind.PARAPHRASE, text=clause.sentence.restored(text), why=why, same_as=original
    )


def with_typos(original: Question, draw: Random) -> Question | None:
    """Return the question with one or two typing errors in long words, in small letters as people type."""
    words = original.text.rstrip("?").split()
    places = [
        at
        for at, word in enumerate(words)
        if word.isalpha() and word.isascii() and len(word) >= MIN_TYPO_WORD
    ]
    if len(places) < 2:
        return None
    for at in draw.sample(places, 2 if len(places) > 3 else 1):
        word = words[at]
        cut = draw.randrange(1, len(word) - 2)
        swapped = word[:cut] + word[cut + 1] + word[cut] + word[cut + 2 :]
        dropped = word[:cut] + word[cut + 1 :]
        doubled = word[:cut] + word[cut] + word[cut:]
        words[at] = draw.choice([one for one in (swapped, dropped, doubled) if one != word])
    text = " ".join(words)
    why = f"Asks {original.text!r} with typing errors."
    return replace(original, kind=Kind.TYPOS, text=text[:1].lower() + text[1:], why=why, same_as=original)
