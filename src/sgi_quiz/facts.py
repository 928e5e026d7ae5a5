"""Questions about one fact of a sentence: a date, number, place, person, definition, reason or condition."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sgi_quiz.clauses import Clause, clauses, is_self_contained, is_vague, points_elsewhere
from sgi_quiz.parsing import Sentence, content_stems, is_name, is_person, kept, said

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from spacy.tokens import Token

_LONG_ANSWERS = {"instruction", "condition", "reason", "manner"}
_TIMES = {"DATE", "MONEY", "PERCENT", "TIME"}
_UNCOUNTED = {"last", "more", "other", "such", "following", "and"}
_YEAR = re.compile(r"\b(1[0-9]|20)\d\d\b|\b\d{3,4} (?:BC|AD)\b")
_MONTH = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_DAY = re.compile(rf"{_MONTH} \d|\d (?:of )?{_MONTH}|{_MONTH} \d{{4}}")
_DURATION = re.compile(r"\b(?:\d[\d,.]*|one|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty)[- ]"
                       r"(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?|decades?)\b")  # fmt: skip
_PLACES = {"GPE", "LOC", "FAC"}
_WEAK_VERBS = {
    "be", "have", "do", "make", "get", "become", "include", "say", "see", "mean", "contain", "involve",
    "seem", "appear", "remain", "need", "tell", "believe", "consider", "suggest", "note", "call",
    "take",
}  # fmt: skip
_MANY_WORDS = 14
_STRANDED = {
    "consist of", "base on", "use for", "know for", "derive from", "depend on", "lead to", "make of",
    "compose of", "belong to", "refer to", "contribute to", "divide into", "replace with",
    "convert into", "relate to", "run on", "rely on", "store in", "write to", "apply to", "focus on",
    "stand for", "name after", "compare with", "result in", "serve as", "know as", "suffer from",
    "range from", "originate from", "specialize in",
}  # fmt: skip
"""Verbs with the preposition that a question leaves at its end: *What does it depend on?*"""
_OPEN_ENDS = {
    "and",
    "or",
    "but",
    "the",
    "a",
    "an",
    "than",
    "that",
    "as",
    "is",
    "are",
    "was",
    "were",
    "who",
    "which",
}
_BAD_ANSWER = re.compile(
    r"(?i)^(?:that|those|and|or|his|her|its)\b|\b(?:it|they|them|he|she|this|these|their|so)\b|\b(?:the|a|an|of|and|or|to|in|with|for|by|its)$|^\W|[(\"“”]|-$"
)


@dataclass(frozen=True, eq=False)
class Fact:
    """A fact that a question can ask for.

    Attributes:
        clause: the clause that states it; None for the facts of imperative sentences.
        kind: date, number, duration, place, person, thing, definition, reason, condition or instruction.
        question: a question for it that reads as people write.
        reference: its text in the sentence.
        answer: the token with the answer below it.
        omit: the tokens that a question leaves out.
        wh: the question word, if the question has the order of `Clause.inverted`.
    """

    sentence: Sentence
    clause: Clause | None
    kind: str
    question: str
    reference: str
    answer: Token
    omit: frozenset[int] = frozenset()
    wh: str = ""


def facts_of(sentence: Sentence) -> Iterator[Fact]:
    """Yield the facts of a sentence that a stranger could ask for."""
    found = [fact for clause in clauses(sentence) for ask in _ASKING for fact in ask(clause)]
    for fact in (*found, *_instructions(sentence)):
        if is_fair(fact):
            yield fact


def is_fair(fact: Fact) -> bool:
    """Return whether the question has a usual length, and neither gives its answer away nor is open."""
    words = fact.question.split()
    asked, given = content_stems(fact.reference), content_stems(fact.question)
    return (
        4 <= len(words) <= 24
        and words[-1].strip("?") not in _OPEN_ENDS
        and " - " not in fact.question
        and not _BAD_ANSWER.search(fact.reference)
        and bool(asked)
        and (bool(asked - given) if fact.kind in _LONG_ANSWERS else not asked & given)
        and fact.reference in fact.sentence.text
        and len(given) >= 2
        and not re.search(r"[,;:(\"“”]", fact.question)
    )


def _span(token: Token, sentence: Sentence) -> str:
    """Return the tokens below a token as they are written, without an aside at the end."""
    tokens = kept(token)
    doc = token.doc
    if token.ent_type_ == "PERSON":
        tokens = [one for one in tokens if one.ent_type_ == "PERSON"]
    first, last = tokens[0], tokens[-1]
    if first.lower_ in {"just", "only", "precisely"} and len(tokens) > 1:
        first = tokens[1]
    return sentence.restored(doc[first.i : last.i + 1].text).strip(" ,")


def _is_clear(answer: Token) -> bool:
    """Return whether an answer says what it means without the text around it."""
    tokens = kept(answer)
    used = {token.i for token in tokens}
    return not any(
        points_elsewhere(token) or (token.pos_ == "NOUN" and is_vague(token, used)) for token in tokens
    )


def _fact(
    clause: Clause, kind: str, wh: str, answer: Token, omit: frozenset[int], reference: str = ""
) -> Iterator[Fact]:
    question = clause.inverted(wh, omit)
    if question and is_self_contained(clause, omit):
        text = reference or _span(answer, clause.sentence)
        yield Fact(clause.sentence, clause, kind, question, text, answer, omit, wh)


def _subject_fact(
    clause: Clause, kind: str, question: str, answer: Token, omit: frozenset[int]
) -> Iterator[Fact]:
    if is_self_contained(clause, omit):
        text = _span(answer, clause.sentence)
        yield Fact(clause.sentence, clause, kind, clause.sentence.restored(question), text, answer, omit)


def _dates(clause: Clause) -> Iterator[Fact]:
    for prep in (*clause.rest, *clause.front):
        objects = [one for one in prep.children if one.dep_ == "pobj"]
        if (
            prep.dep_ != "prep"
            or prep.lower_ not in {"in", "on", "since", "during", "by", "until"}
            or len(objects) != 1
        ):
            continue
        text = _span(objects[0], clause.sentence)
        omit = frozenset({prep.i})
        if not (_YEAR.search(text) or _DAY.search(text)) or objects[0].ent_type_ not in {"DATE", "CARDINAL"}:
            continue
        if len(text.split()) > 5 or (prep.lower_ == "by" and clause.auxiliaries):
            continue
        wh = {"since": "Since when", "until": "Until when"}.get(prep.lower_, "When")
        if not _YEAR.search(clause.inverted(wh, omit)):
            yield from _fact(clause, "date", wh, objects[0], omit)


def _durations(clause: Clause) -> Iterator[Fact]:
    for prep in clause.rest:
        objects = [one for one in prep.children if one.dep_ == "pobj"]
        if prep.dep_ == "prep" and prep.lower_ == "for" and len(objects) == 1:
            text = _span(objects[0], clause.sentence)
            if _DURATION.search(text) and len(text.split()) <= 5:
                omit = frozenset({prep.i})
                yield from _fact(clause, "duration", "How long", objects[0], omit)


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
            yield from _fact(clause, "number", f"How many {what}", number, omit)
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
            yield from _fact(clause, "number", wh, noun, omit)
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
                yield from _fact(clause, "number", f"How {noun.text}", measures[0], omit)


def _counted_subjects(clause: Clause) -> Iterator[Fact]:
    noun = clause.subject
    numbers = [one for one in noun.children if one.dep_ == "nummod" and one.tag_ == "CD"]
    if len(numbers) != 1 or noun.tag_ != "NNS" or noun.ent_type_ in _TIMES:
        return
    if not any(is_name(token) for one in (noun, *clause.rest, *clause.front) for token in kept(one)):
        return
    hidden = {one.i for one in noun.children if one.dep_ in {"det", "advmod"}} | {numbers[0].i}
    what = said(kept(noun, hidden))
    if _is_countable(what):
        question = f"How many {what} {clause.predicate()}?"
        yield from _subject_fact(clause, "number", question, numbers[0], frozenset(hidden))


def _counted_objects(clause: Clause) -> Iterator[Fact]:
    """Ask for a number after a preposition: *in how many countries*."""
    for prep in clause.rest:
        noun = next((one for one in prep.children if one.dep_ == "pobj" and one.tag_ == "NNS"), None)
        if noun is None or prep.lower_ not in {"in", "at", "from", "to", "on"} or noun.ent_type_ in _TIMES:
            continue
        numbers = [one for one in noun.children if one.dep_ == "nummod" and one.tag_ == "CD"]
        what = said(kept(noun, {one.i for one in numbers}))
        if len(numbers) == 1 and _is_countable(what) and not list(noun.conjuncts):
            wh = f"{prep.text.title()} how many {what}"
            yield from _fact(clause, "number", wh, numbers[0], frozenset({prep.i}))


def _is_countable(what: str) -> bool:
    """Return whether *how many* can stand before these words."""
    words = what.split()
    is_plain = all(re.fullmatch(r"[^\W\d_]{2}[\w'’.-]*", word) for word in words)
    return is_plain and len(words) <= 6 and not _UNCOUNTED & {word.casefold() for word in words}


def _places(clause: Clause) -> Iterator[Fact]:
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
            yield from _fact(clause, "place", "Where", place, omit)


def _people(clause: Clause) -> Iterator[Fact]:
    noun = clause.subject
    finite = clause.auxiliaries[0] if clause.auxiliaries else clause.verb
    if is_person(noun) and noun.dep_ == "nsubj" and finite.tag_ != "VBP" and not list(noun.conjuncts):
        omit = frozenset(one.i for one in noun.subtree)
        is_one_of_many = any(one.dep_ == "attr" and one.lower_ == "one" for one in clause.rest)
        if len(content_stems(clause.predicate())) >= 3 and not is_one_of_many:
            yield from _subject_fact(clause, "person", f"Who {clause.predicate()}?", noun, omit)
    for agent in clause.rest:
        who = (
            next((one for one in agent.children if one.dep_ == "pobj"), None)
            if agent.dep_ == "agent"
            else None
        )
        if who is None or who.ent_type_ not in {"PERSON", "ORG"} or not is_name(who) or who.text.isupper():
            continue
        kind, wh = ("person", "Who") if is_person(who) else ("name", "What organization")
        for fact in _fact(clause, kind, wh, who, frozenset({agent.i})):
            yield replace(fact, question=fact.question[:-1] + " by?", wh="")


def _definitions(clause: Clause) -> Iterator[Fact]:
    noun = clause.subject
    attribute = next((one for one in clause.rest if one.dep_ == "attr"), None)
    if (
        not clause.is_copula
        or attribute is None
        or clause.front
        or (any(one.lower_ == "the" for one in noun.children) and not is_name(noun))
    ):
        return
    article = next(iter(kept(attribute))).lower_
    if article not in {"a", "an", "one"} or len(kept(attribute)) < 4:
        return
    if clause.verb.tag_ == "VBZ" or is_person(noun):
        wh = "Who" if is_person(noun) else "What"
        omit = frozenset(one.i for one in clause.rest)
        yield from _fact(clause, "definition", wh, attribute, omit)


def _identified(clause: Clause) -> Iterator[Fact]:
    """Ask what is the first, largest or only one of its kind."""
    noun = clause.subject
    attribute = next((one for one in clause.rest if one.dep_ == "attr"), None)
    if not clause.is_copula or attribute is None or clause.front or not is_name(noun) or list(noun.conjuncts):
        return
    words = kept(attribute)
    is_unique = (
        any(one.tag_ == "JJS" or one.ent_type_ == "ORDINAL" for one in words) or words[-1].ent_type_ == "GPE"
    )
    if words[0].lower_ == "the" and is_unique and len(words) >= 4:
        wh = "Who" if is_person(noun) else "What"
        omit = frozenset(one.i for one in noun.subtree)
        yield from _subject_fact(clause, "name", f"{wh} {clause.predicate()}?", noun, omit)


def _apposed(clause: Clause) -> Iterator[Fact]:
    """Ask who or what a name is that the sentence explains between commas."""
    for noun in (token for token in clause.sentence.span if token.dep_ == "appos" and is_name(token.head)):
        name = noun.head
        before = clause.sentence.span.doc[noun.left_edge.i - 1].text if noun.left_edge.i else ""
        if (
            before != ","
            or noun.i < name.i
            or is_name(noun)
            or name.ent_type_ not in {"PERSON", "ORG", "PRODUCT", "GPE", "LOC", "FAC"}
        ):
            continue
        article = next(iter(noun.lefts), None)
        if (
            article is None
            or article.lower_ not in {"a", "an", "the"}
            or len(kept(noun)) < 4
            or not _is_clear(noun)
        ):
            continue
        wh = "Who" if is_person(name) else "What"
        is_past = clause.verb.tag_ == "VBD" or any(one.tag_ == "VBD" for one in clause.auxiliaries)
        title = clause.sentence.restored(said(kept(name, {noun.i})))
        yield Fact(
            clause.sentence,
            None,
            "definition",
            f"{wh} {'was' if is_past else 'is'} {title}?",
            _span(noun, clause.sentence),
            noun,
        )


def _things(clause: Clause) -> Iterator[Fact]:
    """Ask for the object of a verb that says what happens to it."""
    for noun in clause.rest:
        weak = clause.verb.lemma_ in _WEAK_VERBS and len(list(noun.conjuncts)) < 2
        if noun.dep_ != "dobj" or weak or noun.pos_ not in {"NOUN", "PROPN"}:
            continue
        if noun.ent_type_ in {"DATE", "CARDINAL", "PERSON"} or not 1 < len(kept(noun)) <= _MANY_WORDS:
            continue
        is_counted = any(one.dep_ == "nummod" for one in noun.children)
        if is_counted or not _is_clear(noun) or len(content_stems(_span(noun, clause.sentence))) < 2:
            continue
        omit = frozenset({noun.i})
        kind = "list" if len(list(noun.conjuncts)) > 1 else "thing"
        yield from _fact(clause, kind, "What", noun, omit)


def _stranded(clause: Clause) -> Iterator[Fact]:
    """Ask for what follows a verb with its preposition, or what something is called."""
    for prep in clause.rest:
        if prep.dep_ == "oprd" and clause.verb.lemma_ in {"call", "name", "title"}:
            yield from _fact(clause, "name", "What", prep, frozenset({prep.i}))
        objects = [one for one in prep.children if one.dep_ == "pobj"]
        if f"{clause.verb.lemma_} {prep.lower_}" not in _STRANDED or len(objects) != 1 or prep.dep_ != "prep":
            continue
        if (
            _is_clear(objects[0])
            and objects[0].ent_type_ != "DATE"
            and prep == clause.rest[-1]
            and not clause.front
        ):
            for fact in _fact(clause, "thing", "What", objects[0], frozenset({prep.i})):
                yield replace(fact, question=f"{fact.question[:-1]} {prep.lower_}?", wh="")


def _subjects(clause: Clause) -> Iterator[Fact]:
    """Ask for a thing that does something to another thing."""
    noun = clause.subject
    if (
        noun.dep_ != "nsubj"
        or not any(one.dep_ == "dobj" for one in clause.rest)
        or clause.verb.lemma_ in _WEAK_VERBS
    ):
        return
    finite = clause.auxiliaries[0] if clause.auxiliaries else clause.verb
    if (
        noun.ent_type_ not in {"", "EVENT", "LAW", "PRODUCT"}
        or noun.pos_ not in {"NOUN", "PROPN"}
        or finite.tag_ == "VBP"
        or list(noun.conjuncts)
    ):
        return
    if _is_clear(noun) and len(kept(noun)) > 1 and len(content_stems(clause.predicate())) >= 4:
        omit = frozenset(one.i for one in noun.subtree)
        yield from _subject_fact(clause, "thing", f"What {clause.predicate()}?", noun, omit)


def _manners(clause: Clause) -> Iterator[Fact]:
    for prep in clause.rest:
        if prep.dep_ == "prep" and prep.lower_ == "by" and any(one.dep_ == "pcomp" for one in prep.children):
            yield from _fact(clause, "manner", "How", prep, frozenset({prep.i}))


def _reasons(clause: Clause) -> Iterator[Fact]:
    for child in clause.verb.children:
        if child.dep_ == "advcl":
            mark = next((one for one in child.children if one.dep_ == "mark"), None)
            if mark is not None and mark.lower_ == "because":
                text = _span(child, clause.sentence)
                yield from _fact(clause, "reason", "Why", child, frozenset({child.i}), text)
    for prep in clause.rest:
        if prep.lower_ == "because" and prep.dep_ == "prep":
            omit = frozenset({prep.i})
            yield from _fact(clause, "reason", "Why", prep, omit)


def _conditions(clause: Clause) -> Iterator[Fact]:
    for child in clause.verb.children:
        mark = next((one for one in child.children if one.dep_ in {"mark", "advmod"}), None)
        if child.dep_ != "advcl" or mark is None or mark.lower_ not in {"if", "when", "unless"}:
            continue
        inside = [token for token in child.subtree if not token.is_punct]
        used = {token.i for token in inside}
        if len(inside) > _MANY_WORDS or any(
            (points_elsewhere(token) and token != mark)
            or (token.pos_ == "NOUN" and is_vague(token, used, strict=False))
            for token in inside
        ):
            continue
        if (
            not any(map(is_name, inside))
            and sum(token.pos_ in {"NOUN", "ADJ", "VERB"} for token in inside) < 3
        ):
            continue
        condition = clause.sentence.restored(said(kept(child)))
        main = _main_text(clause, child)
        if mark.lower_ in {"if", "when"} and main and clause.verb.tag_ in {"VBZ", "VBP", "VBN", "VB"}:
            question = f"What happens {condition}?"
            yield Fact(clause.sentence, None, "condition", question, main, clause.verb)


def _main_text(clause: Clause, condition: Token) -> str:
    """Return the main clause as it is written, if the condition stands before or after it as a whole."""
    doc = clause.sentence.span.doc
    left, right = condition.left_edge.i, condition.right_edge.i
    part = doc[right + 1 : len(doc)] if left == 0 else doc[:left] if right >= len(doc) - 2 else None
    if part is None:
        return ""
    return clause.sentence.restored(part.text).strip(" ,.")


def _instructions(sentence: Sentence) -> Iterator[Fact]:
    """Ask how to do what an imperative sentence has a purpose for: ``To score rows, use X``."""
    root = sentence.span.root
    if root.tag_ not in {"VB", "VBP"} or any(
        one.dep_ in {"nsubj", "nsubjpass", "neg", "aux"} for one in root.children
    ):
        return
    doc = sentence.span.doc
    for child in root.children:
        aim = child if child.dep_ in {"advcl", "xcomp"} else None
        if aim is None or not any(one.dep_ == "aux" and one.tag_ == "TO" for one in aim.children):
            continue
        left, right = aim.left_edge.i, aim.right_edge.i
        if left != 0 and right < len(doc) - 2:
            continue
        answer = doc[right + 1 :] if left == 0 else doc[:left]
        purpose = [token for token in kept(aim) if token.tag_ != "TO" or token.head != aim]
        if any(
            token.tag_ in {"PRP", "PRP$", "DT"}
            and token.lower_ in {"it", "them", "this", "that", "its", "these"}
            for token in purpose
        ):
            continue
        if 2 <= len(purpose) <= _MANY_WORDS and len(answer) > 2:
            text = said(purpose)
            question = sentence.restored(f"How do I {text[:1].lower()}{text[1:]}?").replace(" your ", " my ")
            yield Fact(
                sentence, None, "instruction", question, sentence.restored(answer.text).strip(" ,."), root
            )


_ASKING: tuple[Callable[[Clause], Iterator[Fact]], ...] = (
    _dates, _identified, _durations, _numbers, _places, _people, _definitions, _apposed, _stranded,
    _subjects, _manners, _things, _reasons, _conditions,
)  # fmt: skip


def year_of(text: str) -> int | None:
    """Return the only year of a date as it is written; None if there is none or more than one.

    >>> year_of("7 January 1943"), year_of("1623–25")
    (1943, None)
    """
    years = re.findall(r"\b(?:1\d|20)\d\d\b", text)
    return int(years[0]) if len(years) == 1 and not re.search(r"\d[–-]\d|BC", text) else None
