"""Questions that are made of facts: yes/no, false premises, comparisons, two hops, follow-ups."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

from sgi_quiz.clauses import is_indefinite
from sgi_quiz.english import synonyms, word_set
from sgi_quiz.facts import Fact, year_of
from sgi_quiz.parsing import is_name, is_person, kept, said
from sgi_quiz.passages import squeezed
from sgi_quiz.question import Kind, Question

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from random import Random

    from sgi_quiz.clauses import Clause

_SMALL = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
_ABOUT = r"(?i)\b(?:over|than|least|most|nearly|almost|about|around|approximately|to|under|some|roughly)"
"""Words before a value that another value can agree with: *over 100* and 140."""
_COMPLETE = {"die", "retire", "live", "study", "work"}
"""Verbs of persons that need no object."""
_PARTICLES = {"off", "out", "up", "down", "away", "back", "over"}
_REPEATED = word_set("repeated")
_FORMS = (
    (re.compile(r"How do I (.+)\?"), ("I want to {}. What do I have to do?", "What is the way to {}?")),
    (re.compile(r"What does (.+) do\?"), ("What is {} for?", "What is the effect of {}?")),
    (re.compile(r"What does the (\w+) (.+) mean\?"), ("What is the {} {}?", "Explain the {} {}.")),
    (re.compile(r"What is the ([a-z ]+?) of (.+)\?"), ("Tell me the {} of {}.", "Which {} is that of {}?")),
    (re.compile(r"What happens (if|when) (.+)\?"), ("What is the result {} {}?", "What will happen {} {}?")),
)
_SYNONYMS = synonyms()
_VALUES = {"date", "number", "duration", "place"}


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
    if re.search(rf"{_ABOUT} {re.escape(fact.reference)}", fact.sentence.text):
        return None
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


def yes_no_question(fact: Fact, value: str | None) -> Question | None:
    """Return a question whose answer is yes, or no with another value in the place of the right one."""
    if fact.clause is None or not fact.wh or fact.kind not in _VALUES:
        return None
    text = squeezed(fact.clause.inverted("", (), _swap(fact, value) if value else {}))
    right, asks_for = ("Yes", "yes") if value is None else (f"No, {fact.reference}", "no")
    why = f"Says what {fact.sentence.passage.place} says; the answer is yes."
    if value is not None and can_repeat(fact.clause) and fact.kind == "date":
        return None
    if value is not None:
        why = f"Has {value} in the place of {fact.reference}; the answer is no."
    parents = (fact_question(fact),)
    if not text or "," in text:
        return None
    return _question(Kind.YES_NO, [fact], text, right, why, asks_for=asks_for, parents=parents)


def can_repeat(clause: Clause) -> bool:
    """Return whether the same can be true at another time too: *signed a treaty*, *won the prize*."""
    objects = [one for one in clause.rest if one.dep_ in {"dobj", "attr"}]
    is_open = any(is_indefinite(one) for one in (clause.subject, *objects))
    return is_open or clause.verb.lemma_ in _REPEATED


def false_premise(asked: Fact, changed: Fact, value: str) -> Question | None:
    """Return a question for one fact of a clause that has a wrong value in the place of another fact."""
    clause = changed.clause
    if clause is None or changed.kind not in _VALUES or asked.clause is not clause or not asked.wh:
        return None
    if changed.kind == "place" or can_repeat(clause):
        return None
    if asked is changed and (changed.kind != "date" or clause.verb.lemma_ in {"die", "bear"}):
        return None
    wh, omit = ("Why", frozenset[int]()) if asked is changed else (asked.wh, asked.omit)
    text = squeezed(clause.inverted(wh, omit, _swap(changed, value)))
    if value not in text or "," in text:
        return None
    why = f"Its premise is false: the passage says {changed.reference}, not {value}."
    return _question(Kind.FALSE_PREMISE, [changed], text, None, why, parents=(fact_question(changed),))


def comparisons(facts: Sequence[Fact]) -> Iterator[Question]:
    """Yield questions which of two things happened first, from two sentences with the same verb."""
    groups: dict[tuple[str, ...], list[tuple[int, str, Fact]]] = defaultdict(list)
    for fact in facts:
        clause, year = fact.clause, year_of(fact.reference) if fact.kind == "date" else None
        if clause is None or year is None or clause.is_copula or not clause.has_one_subject:
            continue
        others = [one for one in (*clause.rest, *clause.front) if one.i not in fact.omit]
        name = fact.sentence.restored(clause.subject_text())
        is_named = is_name(clause.subject) or any(map(is_name, kept(clause.subject)))
        if is_named and clause.subject.tag_ in {"NN", "NNP"} and len(name.split()) <= 7 and not others:
            verb = " ".join(token.text for token in (*clause.auxiliaries, clause.verb))
            label = "Who" if is_person(clause.subject) else "Which"
            type_of_thing = clause.subject.ent_type_ or clause.subject.lemma_
            groups[label, verb, type_of_thing].append((year, name, fact))
    for (label, verb, _), dated in groups.items():
        for (year, name, fact), (other_year, other_name, other) in combinations(dated[:8], 2):
            if year != other_year and name != other_name:
                first = name if year < other_year else other_name
                text = f"{label} {verb} first, {name} or {other_name}?"
                why = f"Compares two dates: {fact.reference} and {other.reference}."
                parents = fact_question(fact), fact_question(other)
                yield _question(Kind.COMPARISON, [fact, other], text, first, why, parents=parents)


def described_names(facts: Sequence[Fact]) -> dict[str, tuple[Fact, str]]:
    """Return each name that a fact describes, with the fact and *the person who designed the Anke*."""
    found: dict[str, tuple[Fact, str]] = {}
    for fact in facts:
        name = _described_name(fact)
        if len(name) >= 4 and name not in found and (description := _description(fact)):
            found[name] = fact, description
    return found


def _described_name(fact: Fact) -> str:
    """Return the name, or the piece of code, that the answer of a fact is; "" if it is none."""
    if fact.kind == "instruction":
        name = fact.reference.removeprefix("use ").removeprefix("the ")
        return name if fact.reference != name and name in fact.sentence.codes.values() else ""
    name = fact.reference.removeprefix("the ")
    return name if name[:1].isupper() and (" " in name or fact.kind != "person") else ""


def two_hops(facts: Sequence[Fact]) -> Iterator[Question]:
    """Yield questions in which a fact of one passage stands in the place of a name in another passage."""
    for name, (one, description) in described_names(facts).items():
        known = one.sentence.passage
        title = known.headings[:1]
        for other in facts:
            passage = other.sentence.passage
            is_near = bool(title) and (passage.source, passage.headings[:1]) == (known.source, title)
            surname = name.split()[-1] if one.kind == "person" and is_near else name
            place = _place_of(name, other.question) or _place_of(surname, other.question)
            is_apart = known.text != passage.text and other.kind not in {"condition", "definition"}
            if place is None or not is_apart or not _is_about_names(other):
                continue
            text = other.question[: place[0]] + description + other.question[place[1] :]
            is_given = other.reference in known.plain or surname.casefold() in text.casefold()
            if not is_given and len(text.split()) <= 30:
                text = text[0].upper() + text[1:]
                why = f"Needs two passages: one says that {name} is {description}, the other has the answer."
                more = {"topic": name, "parents": (fact_question(one), fact_question(other))}
                yield _question(Kind.TWO_HOP, [one, other], text, other.reference, why, **more)


def _is_about_names(fact: Fact) -> bool:
    """Return whether the subject of a fact has a name, so that what is beside it can be described."""
    return fact.clause is not None and any(map(is_name, kept(fact.clause.subject)))


def _place_of(name: str, text: str) -> tuple[int, int] | None:
    """Return start and end of a name in a question; None if it is part of a longer name."""
    if name not in text:  # most questions; the pattern is slower
        return None
    match = re.search(rf"(\w+ )?((?:the )?(?<![\w–-]){re.escape(name)}\b)(?!['’–-]| [A-Z])", text)
    if match is None or (match.start() > 0 and match[1] and match[1][0].isupper()):
        return None
    if re.search(r"[A-Z]\w* (?:of|for|in) $", text[: match.start(2)]):  # a part of a longer name
        return None
    return match.span(2)


def _description(fact: Fact) -> str:
    """Return what a fact says of the name that is its answer: *the person who designed the Anke*."""
    clause = fact.clause
    if fact.kind == "instruction":
        return f"the tool that I use to {fact.question.removeprefix('How do I ')[:-1]}"
    if clause is None or fact.kind not in {"person", "name"}:
        return ""
    attribute = clause.attribute
    if attribute is not None:  # *the largest lake of Kenya*
        tokens = kept(attribute if fact.answer == clause.subject else clause.subject)
        return fact.sentence.restored(said(tokens)) if tokens[0].lower_ == "the" else ""
    if clause.is_copula or fact.kind != "person" or fact.answer != clause.subject:
        return ""
    return fact.sentence.restored(f"the person who {clause.predicate()}")


def _by_subject(facts: Sequence[Fact]) -> dict[str, list[Fact]]:
    """Return the facts about each name; those whose question has the name."""
    groups: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        clause = fact.clause
        if clause is not None and is_name(clause.subject) and clause.has_one_subject:
            groups[fact.sentence.restored(clause.subject_text()).removeprefix("the ")].append(fact)
    return groups


def follow_ups(facts: Sequence[Fact]) -> Iterator[Question]:
    """Yield second questions about the name in a first one, with a pronoun in the place of the name."""
    for name, found in _by_subject(facts).items():
        firsts = [one for one in facts if _place_of(name, one.question)]
        for first, second in ((first, second) for second in found if second.wh for first in firsts):
            clause, pronoun, place = second.clause, _pronoun(second), first.sentence.passage.source
            is_other = first.clause is not clause and place == second.sentence.passage.source
            if clause is None or not is_other or not pronoun or second.kind == "definition":
                continue
            if not (clause.has_object or clause.is_passive or clause.verb.lemma_ in _COMPLETE):
                continue
            text = clause.inverted(second.wh, second.omit, subject=pronoun)
            if (
                text
                and second.reference not in first.sentence.text
                and name.casefold() not in text.casefold()
            ):
                answer = f"{first.reference[0].upper()}{first.reference[1:]}."
                more = {"topic": name, "turns": (("user", first.question), ("assistant", answer))}
                parents = fact_question(first), fact_question(second)
                text, why = (
                    f"And {text[0].lower()}{text[1:]}",
                    f"Needs the turn before it, which names {name}.",
                )
                yield _question(
                    Kind.FOLLOW_UP, [second], text, second.reference, why, parents=parents, **more
                )


def _pronoun(fact: Fact) -> str:
    """Return the pronoun for the subject of a fact, by those of its passage; "" if it is not clear."""
    if fact.clause is None:
        return ""
    subject, words = fact.clause.subject, fact.sentence.passage.plain.casefold().split()
    if subject.text in fact.sentence.codes:
        return "it" if subject.tag_ == "NNP" else ""
    male, female = sum(map(words.count, ("he", "his"))), sum(map(words.count, ("she", "her")))
    if not is_person(subject) or any(is_person(one) for one in fact.clause.after_tokens):
        return ""
    return "he" if male > 2 * female else "she" if female > 2 * male else ""


def in_other_words(fact: Fact | None, original: Question, draw: Random) -> Question | None:
    """Return the question in another form, with other verbs where the word table has them."""
    text = _other_form(original.text, draw)
    if not text and fact is not None and fact.clause is not None and fact.wh:
        clause, is_year = fact.clause, fact.wh == "When" and re.fullmatch(r"\d{4}", fact.reference)
        wh = "in what year" if is_year else fact.wh[0].lower() + fact.wh[1:]
        predicate = clause.verb.text if fact.kind == "definition" else clause.predicate(fact.omit)
        form = draw.choice(["Do you know {}?", "Can you tell me {}?", "I would like to know {}."])
        text = clause.sentence.restored(form.format(f"{wh} {clause.subject_text()} {predicate}"))
    text = " ".join(
        word if after in _PARTICLES else _SYNONYMS.get(word, word)
        for word, after in pairwise([*text.split(" "), ""])
    )
    if text in {"", original.text}:
        return None
    why = f"Asks {original.text!r} in other words."
    return replace(original, kind=Kind.PARAPHRASE, text=text, why=why, same_as=original)


def _other_form(text: str, draw: Random) -> str:
    """Return a question of a usual form in another one; "" if it has none of these forms."""
    for pattern, forms in _FORMS:
        if match := pattern.fullmatch(text):
            return draw.choice(forms).format(*match.groups())
    return ""


def with_typos(original: Question, draw: Random) -> Question | None:
    """Return the question with one or two typing errors in long words, in small letters as people type."""
    words = original.text.rstrip("?").split()
    places = [at for at, word in enumerate(words) if word.isascii() and word.isalpha() and len(word) >= 5]
    if len(places) < 2:
        return None
    for at in draw.sample(places, 2 if len(places) > 3 else 1):
        word = words[at]
        cut = draw.randrange(1, len(word) - 2)
        start, one, two, end = word[:cut], word[cut], word[cut + 1], word[cut + 2 :]
        changed = (start + two + one + end, start + two + end, start + one + one + two + end)
        words[at] = draw.choice([other for other in changed if other != word])
    text, why = " ".join(words), f"Asks {original.text!r} with typing errors."
    return replace(original, kind=Kind.TYPOS, text=text[:1].lower() + text[1:], why=why, same_as=original)
