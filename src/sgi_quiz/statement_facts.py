"""Questions for what a sentence states: who, what it is, what it does, why, how, and what happens if."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from sgi_quiz.clauses import Clause, clauses, is_vague, points_elsewhere
from sgi_quiz.english import word_set
from sgi_quiz.facts import Fact, inverted_fact, is_clear, is_fair, span_text, subject_fact
from sgi_quiz.parsing import Sentence, content_stems, is_name, is_person, kept, said
from sgi_quiz.value_facts import VALUES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spacy.tokens import Token

_ROLE = re.compile(
    r"(?:[^t]er|ter|or|ist|ian|ant|ent|man|men|woman|eer|ete|ess)$|"
    r"^(?:king|queen|head|son|child|nurse|poet|pilot|judge|priest|model|chef|coach|saint|pope|candidate|wife|musician)$"
)
"""Endings of nouns for persons."""
_NO_ROLES = word_set("no_roles")
_WEAK_VERBS = word_set("weak_verbs")
_MANY_WORDS = 14
_STRANDED = word_set("stranded")
"""Verbs with the preposition that a question leaves at its end: *What does it depend on?*"""


def facts_of(sentence: Sentence) -> Iterator[Fact]:
    """Yield the facts of a sentence that a stranger could ask for."""
    found = [fact for clause in clauses(sentence) for ask in _ASKING for fact in ask(clause)]
    for fact in (*found, *_instructions(sentence)):
        if is_fair(fact):
            yield fact


def _people(clause: Clause) -> Iterator[Fact]:
    noun = clause.subject
    finite = clause.auxiliaries[0] if clause.auxiliaries else clause.verb
    if is_person(noun) and noun.dep_ == "nsubj" and finite.tag_ != "VBP" and not list(noun.conjuncts):
        omit = frozenset(one.i for one in noun.subtree)
        attribute = next((one for one in clause.rest if one.dep_ == "attr"), None)
        is_one_of_many = attribute is not None and (
            kept(attribute)[0].lower_ in {"a", "an", "one"} or not _is_role(attribute)
        )
        if clause.is_copula and attribute is None:
            return
        if len(content_stems(clause.predicate())) >= 3 and not is_one_of_many:
            yield from subject_fact(clause, "person", f"Who {clause.predicate()}?", noun, omit)


def _agents(clause: Clause) -> Iterator[Fact]:
    """Ask by whom something is done."""
    for agent in clause.rest if any(one.dep_ == "auxpass" for one in clause.auxiliaries) else ():
        who = next((one for one in agent.children if one.dep_ == "pobj" and agent.dep_ == "agent"), None)
        if who is None or not is_name(who) or who.text.isupper() or clause.verb.lemma_ in {"locate", "bear"}:
            continue
        omit = frozenset({agent.i})
        is_last = agent == clause.rest[-1] and not clause.front
        if who.ent_type_ == "ORG" and not re.search(r"\d", span_text(who, clause.sentence)):
            yield from inverted_fact(clause, "name", "By which organization", who, omit)
        elif is_person(who):
            for fact in inverted_fact(clause, "person", "Who" if is_last else "By whom", who, omit):
                yield replace(fact, question=f"{fact.question[:-1]} by?", wh="") if is_last else fact


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
    is_who = is_person(noun) and _is_role(attribute)
    if list(noun.conjuncts) or (is_name(noun) and not is_who and _is_role(attribute)):
        return
    if clause.verb.tag_ == "VBZ" or is_who:
        wh = "Who" if is_who else "What"
        omit = frozenset(one.i for one in clause.rest)
        yield from inverted_fact(clause, "definition", wh, attribute, omit)


def _is_role(noun: Token) -> bool:
    """Return whether a noun says what a person is, such as *actor*."""
    return bool(_ROLE.search(noun.lemma_.casefold())) and noun.lemma_ not in _NO_ROLES


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
        wh = "Who" if is_person(noun) and _is_role(attribute) else "What"
        omit = frozenset(one.i for one in noun.subtree)
        yield from subject_fact(clause, "name", f"{wh} {clause.predicate()}?", noun, omit)


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
            or not is_clear(noun)
        ):
            continue
        wh = "Who" if is_person(name) else "What"
        is_past = clause.verb.tag_ == "VBD" or any(one.tag_ == "VBD" for one in clause.auxiliaries)
        title = clause.sentence.restored(said(kept(name, {noun.i})))
        if len(title.split()) > 5:
            continue
        yield Fact(
            clause.sentence,
            None,
            "definition",
            f"{wh} {'was' if is_past else 'is'} {title}?",
            span_text(noun, clause.sentence),
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
        if is_counted or not is_clear(noun) or len(content_stems(span_text(noun, clause.sentence))) < 2:
            continue
        omit = frozenset({noun.i})
        kind = "list" if len(list(noun.conjuncts)) > 1 else "thing"
        yield from inverted_fact(clause, kind, "What", noun, omit)


def _stranded(clause: Clause) -> Iterator[Fact]:
    """Ask for what follows a verb with its preposition, or what something is called."""
    for prep in clause.rest:
        if prep.dep_ == "oprd" and clause.verb.lemma_ in {"call", "name", "title"}:
            yield from inverted_fact(clause, "name", "What", prep, frozenset({prep.i}))
        objects = [one for one in prep.children if one.dep_ == "pobj"]
        if f"{clause.verb.lemma_} {prep.lower_}" not in _STRANDED or len(objects) != 1 or prep.dep_ != "prep":
            continue
        if (
            is_clear(objects[0])
            and objects[0].ent_type_ != "DATE"
            and prep == clause.rest[-1]
            and not clause.front
        ):
            for fact in inverted_fact(clause, "thing", "What", objects[0], frozenset({prep.i})):
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
    if is_clear(noun) and len(kept(noun)) > 1 and len(content_stems(clause.predicate())) >= 4:
        omit = frozenset(one.i for one in noun.subtree)
        yield from subject_fact(clause, "thing", f"What {clause.predicate()}?", noun, omit)


def _manners(clause: Clause) -> Iterator[Fact]:
    for prep in clause.rest:
        if prep.dep_ == "prep" and prep.lower_ == "by" and any(one.dep_ == "pcomp" for one in prep.children):
            yield from inverted_fact(clause, "manner", "How", prep, frozenset({prep.i}))


def _reasons(clause: Clause) -> Iterator[Fact]:
    for child in clause.verb.children:
        if child.dep_ == "advcl":
            mark = next((one for one in child.children if one.dep_ == "mark"), None)
            if mark is not None and mark.lower_ == "because":
                text = span_text(child, clause.sentence)
                yield from inverted_fact(clause, "reason", "Why", child, frozenset({child.i}), text)
    for prep in clause.rest:
        if prep.lower_ == "because" and prep.dep_ == "prep":
            omit = frozenset({prep.i})
            yield from inverted_fact(clause, "reason", "Why", prep, omit)


def _conditions(clause: Clause) -> Iterator[Fact]:
    for child in clause.verb.children:
        mark = next((one for one in child.children if one.dep_ in {"mark", "advmod"}), None)
        if child.dep_ != "advcl" or mark is None or mark.lower_ not in {"if", "when"}:
            continue
        if not any(one.dep_ in {"nsubj", "nsubjpass"} for one in child.children):
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
        if main and clause.verb.tag_ in {"VBZ", "VBP", "VBN", "VB"}:
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
            and token.lower_ in {"it", "them", "this", "that", "its", "these", "you"}
            for token in purpose
        ):
            continue
        if 2 <= len(purpose) <= _MANY_WORDS and len(answer) > 2 and (left == 0 or child.dep_ == "advcl"):
            text = said(purpose)
            question = sentence.restored(f"How do I {text[:1].lower()}{text[1:]}?").replace(" your ", " my ")
            yield Fact(
                sentence, None, "instruction", question, sentence.restored(answer.text).strip(" ,."), root
            )


_ASKING = (
    *VALUES, _identified, _people, _agents, _definitions, _apposed, _stranded, _subjects, _manners, _things,
    _reasons, _conditions,
)  # fmt: skip
