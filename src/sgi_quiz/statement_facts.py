"""Questions for what a sentence states: who, what it is, what it does, why, how, and what happens if."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from sgi_quiz.clauses import Clause, clauses, is_indefinite, is_vague, points_elsewhere
from sgi_quiz.english import word_set
from sgi_quiz.facts import Fact, inverted_fact, is_clear, is_fair, span_text, subject_fact
from sgi_quiz.parsing import Sentence, content_stems, is_name, is_person, kept, said
from sgi_quiz.value_facts import VALUES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from spacy.tokens import Token

_ROLE = re.compile(
    r"(?:[^t]er|ter|or|ist|ian|ant|ent|man|men|woman|eer|ete|ess)$|"
    r"^(?:being|person|human|king|queen|head|son|child|nurse|poet|pilot|judge|priest|model|chef|coach|saint|pope|candidate|wife|musician)$"
)
"""Endings of nouns for persons."""
_NO_ROLES = word_set("no_roles")
_WEAK_VERBS = word_set("weak_verbs")
_ORGANIZATION_WORDS = word_set("organizations")
_TASKS = word_set("tasks")
_THINGS_WITH_NAMES = {"ORG", "GPE", "LOC", "FAC", "WORK_OF_ART", "PRODUCT", "EVENT", "LAW", "NORP"}
_HUMAN_VERBS = word_set("human_verbs")
_WISHES = {"like", "want", "wish", "prefer", "need"}
_DECIDING = word_set("deciding")
_MANY_WORDS, _DEFINING_WORDS = 14, 6
_INDEFINITE = {"a", "an", "one"}
_EXPLAINED = {"PERSON", "ORG", "PRODUCT", "GPE", "LOC", "FAC"}
_STRANDED = word_set("stranded")
"""Verbs with the preposition that a question leaves at its end: *What does it depend on?*"""


def facts_of(sentence: Sentence) -> Iterator[Fact]:
    """Yield the facts of a sentence that a stranger could ask for."""
    found = [fact for clause in clauses(sentence) for ask in _ASKING for fact in ask(clause)]
    for fact in (*found, *_instructions(sentence)):
        if is_fair(fact):
            yield fact


def _people(clause: Clause) -> Iterator[Fact]:
    noun, attribute = clause.subject, clause.attribute
    is_human = clause.sentence.is_of_person or clause.verb.lemma_ in _HUMAN_VERBS
    is_plain = is_human and not re.search("[a-z][A-Z]", noun.text)
    if (
        not is_person(noun)
        or not is_plain
        or noun.dep_ != "nsubj"
        or clause.finite.tag_ == "VBP"
        or not clause.has_one_subject
    ):
        return
    is_open = attribute is not None and (kept(attribute)[0].lower_ in _INDEFINITE or not _is_role(attribute))
    becomes = clause.verb.lemma_ == "become" and not any(
        one.dep_ == "attr" and _is_role(one) for one in clause.rest
    )
    if is_open or becomes or clause.has_infinitive or (clause.is_copula and attribute is None):
        return
    if len(content_stems(clause.predicate())) < 3:
        return
    yield from subject_fact(clause, "person", f"Who {clause.predicate()}?", noun, clause.subject_tokens)


def _agents(clause: Clause) -> Iterator[Fact]:
    """Ask by whom something is done."""
    for agent in clause.rest if clause.is_passive else ():
        who = next((one for one in agent.children if one.dep_ == "pobj" and agent.dep_ == "agent"), None)
        if who is None or not is_name(who) or who.text.isupper() or clause.verb.lemma_ in {"locate", "bear"}:
            continue
        omit = frozenset({agent.i})
        is_last = agent == clause.rest[-1] and not clause.front
        words = {one.text for one in kept(who)}
        if (
            who.ent_type_ == "ORG"
            and _ORGANIZATION_WORDS & words
            and not re.search(r"\d", span_text(who, clause.sentence))
        ):
            yield from inverted_fact(clause, "name", "By which organization", who, omit)
        elif is_person(who):
            for fact in inverted_fact(clause, "person", "Who" if is_last else "By whom", who, omit):
                yield replace(fact, question=f"{fact.question[:-1]} by?", wh="") if is_last else fact


def _definitions(clause: Clause) -> Iterator[Fact]:
    noun, attribute = clause.subject, clause.attribute
    is_named = is_name(noun) or all(one.lower_ != "the" for one in noun.children)
    if attribute is None or clause.front or not is_named or not clause.has_one_subject:
        return
    is_role = _is_role(attribute)
    is_who = is_person(noun) and is_role and clause.sentence.is_of_person
    if any(child.dep_ == "poss" for child in noun.children):
        return
    words = kept(attribute)
    is_vague_role = is_name(noun) and ((is_role and not is_who) or words[0].lower_ == "one")
    if words[0].lower_ not in _INDEFINITE or len(words) < _DEFINING_WORDS or is_vague_role:
        return
    if clause.verb.tag_ == "VBZ" or is_who:
        omit = frozenset(one.i for one in clause.rest)
        yield from inverted_fact(clause, "definition", "Who" if is_who else "What", attribute, omit)


def _is_role(noun: Token) -> bool:
    """Return whether a noun says what a person is, such as *actor*."""
    return bool(_ROLE.search(noun.lemma_.casefold())) and noun.lemma_ not in _NO_ROLES


def _identified(clause: Clause) -> Iterator[Fact]:
    """Ask what is the first, largest or only one of its kind."""
    noun, attribute = clause.subject, clause.attribute
    if attribute is None or clause.front or not is_name(noun) or not clause.has_one_subject:
        return
    words = kept(attribute)
    is_said = any(is_name(one) or one.like_num for one in words) and attribute.lemma_ != "member"
    if (
        words[0].lower_ == "the"
        and (_is_unique(words) or words[-1].ent_type_ == "GPE")
        and len(words) >= 4
        and is_said
    ):
        wh = "Who" if _is_role(attribute) else "What"
        yield from subject_fact(clause, "name", f"{wh} {clause.predicate()}?", noun, clause.subject_tokens)


def _is_unique(words: Iterable[Token]) -> bool:
    """Return whether a phrase has a superlative or an ordinal, so that only one thing fits."""
    return any(one.tag_ in {"JJS", "RBS"} or one.ent_type_ == "ORDINAL" for one in words)


def _singled_out(clause: Clause) -> Iterator[Fact]:
    """Ask which thing a description fits that only one thing can have: *the largest lake of Kenya is X*."""
    noun, attribute = clause.subject, clause.attribute
    words = kept(noun)
    if attribute is None or is_name(noun) or words[0].lower_ != "the" or len(words) < 4:
        return
    if not _is_unique(words):
        return
    if is_clear(attribute) and clause.has_one_subject and clause.rest == (attribute,):
        wh = "Who" if _is_role(noun) else "What"
        yield from inverted_fact(clause, "name", wh, attribute, frozenset({attribute.i}))


def _apposed(clause: Clause) -> Iterator[Fact]:
    """Ask who or what a name is that the sentence explains between commas."""
    for noun in (token for token in clause.sentence.span if token.dep_ == "appos"):
        name, first = noun.head, noun.left_edge
        if (
            not is_name(name)
            or is_name(noun)
            or first.i == 0
            or first.nbor(-1).text != ","
            or noun.i < name.i
        ):
            continue
        title = clause.sentence.restored(said(kept(name, {noun.i})))
        is_short = len(kept(noun)) < _DEFINING_WORDS or len(title.split()) > 5
        if (
            first.lower_ in {"a", "an", "the"}
            and name.ent_type_ in _EXPLAINED
            and not is_short
            and is_clear(noun)
        ):
            verb = "was" if clause.finite.tag_ == "VBD" else "is"
            is_who = is_person(name) and _is_role(noun)
            if is_person(name) != is_who:
                continue
            question = f"{'Who' if is_who else 'What'} {verb} {title}?"
            text = span_text(noun, clause.sentence)
            yield Fact(clause.sentence, None, "definition", question, text, noun)


def _things(clause: Clause) -> Iterator[Fact]:
    """Ask for the object of a verb that says what happens to it."""
    if clause.has_infinitive or any(one.dep_ == "xcomp" for one in clause.rest):
        return
    for noun in clause.rest:
        weak = clause.verb.lemma_ in _WEAK_VERBS and len(list(noun.conjuncts)) < 2
        if noun.dep_ != "dobj" or weak or noun.pos_ not in {"NOUN", "PROPN"} or _is_unknown_name(noun):
            continue
        if noun.ent_type_ in {"DATE", "CARDINAL"} or not 1 < len(kept(noun)) <= _MANY_WORDS:
            continue
        is_counted = any(one.dep_ == "nummod" for one in noun.children)
        if is_counted or not is_clear(noun) or len(content_stems(span_text(noun, clause.sentence))) < 2:
            continue
        omit = frozenset({noun.i})
        kind = "list" if len(list(noun.conjuncts)) > 1 else "person" if is_person(noun) else "thing"
        yield from inverted_fact(clause, kind, "Who" if kind == "person" else "What", noun, omit)


def _is_unknown_name(noun: Token) -> bool:
    """Return whether a noun is a name that could be of a person or of a thing."""
    return is_name(noun) and not is_person(noun) and noun.ent_type_ not in _THINGS_WITH_NAMES


def _stranded(clause: Clause) -> Iterator[Fact]:
    """Ask for what follows a verb with its preposition, or what something is called."""
    for one in clause.rest:
        if one.dep_ == "oprd" and clause.verb.lemma_ in {"call", "name", "title"}:
            yield from inverted_fact(clause, "name", "What", one, frozenset({one.i}))
    for prep, noun in clause.objects():
        is_last = prep == clause.rest[-1] and not clause.front
        is_alone = clause.is_passive and prep.lower_ == "with" and len(clause.rest) == 1
        is_asked = is_alone or f"{clause.verb.lemma_} {prep.lower_}" in _STRANDED
        is_thing = noun.ent_type_ not in {"DATE", "PERSON"} and not _is_unknown_name(noun)
        if is_asked and is_last and is_clear(noun) and is_thing:
            for fact in inverted_fact(clause, "thing", "What", noun, frozenset({prep.i})):
                yield replace(fact, question=f"{fact.question[:-1]} {prep.lower_}?", wh="")


def _subjects(clause: Clause) -> Iterator[Fact]:
    """Ask for a thing that does something to another thing."""
    noun = clause.subject
    has_object = clause.has_object and clause.verb.lemma_ not in _WEAK_VERBS
    is_thing = noun.pos_ in {"NOUN", "PROPN"} and noun.ent_type_ in {"", "EVENT", "LAW", "PRODUCT"}
    if not (has_object and is_thing and clause.has_one_subject) or clause.finite.tag_ == "VBP":
        return
    is_open = is_name(noun) and noun.ent_type_ == "" and all(one.lower_ != "the" for one in noun.children)
    if is_indefinite(noun) or is_open or clause.has_infinitive or not any(map(is_name, clause.after_tokens)):
        return
    says_much = len(content_stems(span_text(noun, clause.sentence))) > 1 or is_name(noun)
    if is_clear(noun) and says_much and len(kept(noun)) > 1 and len(content_stems(clause.predicate())) >= 4:
        wh = "Who" if _is_role(noun) else "What"
        yield from subject_fact(clause, "thing", f"{wh} {clause.predicate()}?", noun, clause.subject_tokens)


def _organizations(clause: Clause) -> Iterator[Fact]:
    """Ask for the organization that does something."""
    noun = clause.subject
    has_object = clause.has_object and clause.verb.lemma_ not in _WEAK_VERBS
    words = {one.text for one in kept(noun)}
    is_named = (
        noun.ent_type_ == "ORG"
        and bool(_ORGANIZATION_WORDS & words)
        and noun.text not in clause.sentence.codes
    )
    if has_object and is_named and clause.has_one_subject:
        question = f"Which organization {clause.predicate()}?"
        if len(content_stems(clause.predicate())) >= 3:
            yield from subject_fact(clause, "name", question, noun, clause.subject_tokens)


def _aims(clause: Clause) -> Iterator[Fact]:
    """Ask what someone decided to do."""
    one = clause.rest[-1] if clause.rest else None
    if one is None or one.dep_ != "xcomp" or one.tag_ != "VB" or clause.verb.lemma_ not in _DECIDING:
        return
    is_aim = any(child.tag_ == "TO" and child.i == one.left_edge.i for child in one.lefts)
    if is_aim and not clause.front and is_clear(one) and 2 < len(kept(one)) <= _MANY_WORDS:
        text = span_text(one, clause.sentence).removeprefix("to ")
        for fact in inverted_fact(clause, "thing", "What", one, frozenset({one.i}), text):
            yield replace(fact, question=f"{fact.question[:-1]} to do?", wh="")


def _says_much(clause: Clause) -> bool:
    """Return whether a clause has more than a subject and a verb."""
    return any(one.dep_ not in {"advmod", "advcl"} for one in (*clause.rest, *clause.front))


def _manners(clause: Clause) -> Iterator[Fact]:
    for prep in clause.rest:
        is_done = clause.verb.lemma_ != "do"
        if (
            is_done
            and prep.dep_ == "prep"
            and prep.lower_ == "by"
            and any(one.dep_ == "pcomp" for one in prep.children)
        ):
            yield from inverted_fact(clause, "manner", "How", prep, frozenset({prep.i}))


def _reasons(clause: Clause) -> Iterator[Fact]:
    if not _says_much(clause):
        return
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
        parts = {one.dep_: one for one in child.children}
        mark = parts.get("mark", parts.get("advmod"))
        has_even = any(one.lower_ == "even" for one in child.children)
        if child.dep_ != "advcl" or mark is None or mark.lower_ not in {"if", "when"} or has_even:
            continue
        inside = [token for token in child.subtree if not token.is_punct and token != mark]
        used = {token.i for token in inside}
        is_open = any(
            points_elsewhere(token) or (token.pos_ == "NOUN" and is_vague(token, used)) for token in inside
        )
        says_much = (
            any(map(is_name, inside)) or sum(one.pos_ in {"NOUN", "ADJ", "VERB"} for one in inside) > 2
        )
        main = _main_text(clause, child)
        if is_open or not says_much or len(inside) > _MANY_WORDS or not {"nsubj", "nsubjpass"} & parts.keys():
            continue
        is_wish = bool(_WISHES & {token.lemma_ for token in inside}) or _is_about_reader(child)
        if main and clause.verb.tag_ != "VBD" and not is_wish:
            question = f"What happens {clause.sentence.restored(said(kept(child)))}?"
            yield Fact(clause.sentence, None, "condition", question, main, clause.verb)


def _is_about_reader(condition: Token) -> bool:
    """Return whether a condition says what the reader is or has, or what was: *if you are a developer*."""
    of_you = any(one.lower_ == "you" for one in condition.lefts)
    return condition.tag_ == "VBD" or (of_you and (condition.tag_ != "VBP" or condition.lower_ not in _TASKS))


def _main_text(clause: Clause, condition: Token) -> str:
    """Return the main clause as it is written, if the condition stands before or after it as a whole."""
    doc = clause.sentence.span.doc
    left, right = condition.left_edge.i, condition.right_edge.i
    part = doc[right + 1 : len(doc)] if left == 0 else doc[:left] if right >= len(doc) - 2 else None
    starts = left == 0 and clause.subject.left_edge.i > right + 2 and doc[right + 2].pos_ != "ADV"
    if part is None or starts:
        return ""
    return clause.sentence.restored(part.text).strip(" ,.")


def _instructions(sentence: Sentence) -> Iterator[Fact]:
    """Ask how to do what an imperative sentence has a purpose for: ``To score rows, use X``."""
    root, doc = sentence.span.root, sentence.span.doc
    is_base = root.tag_ == "VB" or root.lower_ in _TASKS
    if not is_base or {"nsubj", "nsubjpass", "neg", "aux"} & {one.dep_ for one in root.children}:
        return
    for aim in (one for one in root.children if one.dep_ == "advcl"):
        left, right = aim.left_edge.i, aim.right_edge.i
        is_aim = any(one.dep_ == "aux" and one.tag_ == "TO" for one in aim.children)
        if not is_aim or (left != 0 and right < len(doc) - 2):
            continue
        answer = doc[right + 1 :] if left == 0 else doc[:left]
        purpose = [token for token in kept(aim) if token.tag_ != "TO" or token.head != aim]
        if {"it", "them", "this", "that", "its", "these", "you"} & {token.lower_ for token in purpose}:
            continue
        if 2 <= len(purpose) <= _MANY_WORDS and len(answer) > 2:
            text = said(purpose)
            question = sentence.restored(f"How do I {text[:1].lower()}{text[1:]}?").replace(" your ", " my ")
            reference = sentence.restored(answer.text).strip(" ,.")
            yield Fact(sentence, None, "instruction", question, reference, root)


_ASKING = (
    *VALUES, _identified, _singled_out, _people, _organizations, _agents, _definitions, _apposed, _stranded,
    _subjects, _manners, _things, _aims, _reasons, _conditions,
)  # fmt: skip
