"""A fact of a sentence that a question can ask for, and what makes a question fair."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sgi_quiz.clauses import Clause, is_self_contained, is_vague, points_elsewhere
from sgi_quiz.english import word_set
from sgi_quiz.parsing import Sentence, content_stems, kept

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spacy.tokens import Token

_LONG_ANSWERS = {"instruction", "condition", "reason", "manner"}
_LEAST_STEMS = {"thing": 3, "person": 3, "name": 3, "list": 3, "number": 4, "duration": 4}
"""The smallest number of content words of a question, where few words leave open what is meant."""
_OPEN_ENDS = word_set("open_ends")
_PASSING = re.compile(
    r"(?i)\s\.|\b(?:today|yesterday|tomorrow|(?:mon|tues|wednes|thurs|fri|satur|sun)day|ago|recently|now|currently)\b"
    r"|\b(?:this|last|next) (?:year|month|week)\b"
)
"""Words that mean something else on another day."""
_ELSEWHERE = re.compile(r"(?i)\b(?:below|above|following|here|this|these|those|us|our|we)\b| / ")
_REFERRAL = re.compile(r"(?i)(?:please )?(?:see|refer|check out|read|visit|consult|look at|click)\b")
"""Answers that only say where the answer is."""
_BAD_ANSWER = re.compile(
    r"(?i)^(?:that|those|and|or|his|her|its)\b|\b(?:following|below|above|it|they|them|he|she|this|these|their|so)\b|\b(?:the|a|an|of|and|or|to|in|with|for|by|its)$|^\W|[(\"“”]|-$|\bas\s\w+$"
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


def is_fair(fact: Fact) -> bool:
    """Return whether the question has a usual length, and neither gives its answer away nor is open."""
    words = fact.question.split()
    asked, given = content_stems(fact.reference), content_stems(fact.question)
    return (
        4 <= len(words) <= 24
        and words[-1].strip("?") not in _OPEN_ENDS
        and not re.search(
            r"-\s|\b(?:after|before|in|during) (?:round|week|game|season|chapter)\b", fact.question
        )
        and not _PASSING.search(fact.question)
        and not _ELSEWHERE.search(fact.question)
        and not re.search(r"[–—](?:\s|\?)|\s-", fact.question)
        and not (fact.kind in _LONG_ANSWERS and _REFERRAL.match(fact.reference))
        and not re.search(r"\b(\w+(?: \w+)?) \1\b|[a-z] The\b", f"{fact.question} {fact.reference}")
        and not re.search(r"\b([A-Z]\w+)\b[\w .'’-]{0,25}\b\1\b|\b(?:even|merely)\b", fact.question)
        and not re.search(re.escape(fact.reference) + "[-–&/]", fact.sentence.text)
        and not re.search(r"\w['’](?!s\b|ll\b|re\b|ve\b)\w{2,}|\s['‘]\w", fact.question)
        and not (fact.kind == "instruction" and fact.reference.startswith(("To ", "In order")))
        and not _BAD_ANSWER.search(fact.reference)
        and bool(asked)
        and (bool(asked - given) if fact.kind in _LONG_ANSWERS else not asked & given)
        and fact.reference in fact.sentence.text
        and len(given - {"do", "did", "does"}) >= _LEAST_STEMS.get(fact.kind, 2)
        and not re.search(r"[,;:(\"“”]", fact.question)
    )


def span_text(token: Token, sentence: Sentence) -> str:
    """Return the tokens below a token as they are written, without an aside at the end."""
    tokens = kept(token)
    doc = token.doc
    if token.ent_type_ == "PERSON":
        name = next((one for one in doc.ents if one.start <= token.i < one.end), ())
        tokens = [one for one in tokens if one in name] or tokens
    first, last = tokens[0], tokens[-1]
    if first.lower_ in {"just", "only", "precisely"} and len(tokens) > 1:
        first = tokens[1]
    return sentence.restored(doc[first.i : last.i + 1].text).strip(" ,")


def is_clear(answer: Token) -> bool:
    """Return whether an answer says what it means without the text around it."""
    tokens = kept(answer)
    used = {token.i for token in tokens}
    return not any(
        points_elsewhere(token) or (token.pos_ == "NOUN" and is_vague(token, used)) for token in tokens
    )


def inverted_fact(
    clause: Clause, kind: str, wh: str, answer: Token, omit: frozenset[int], reference: str = ""
) -> Iterator[Fact]:
    """Yield the fact that a question with the verb before the subject asks for."""
    question = clause.inverted(wh, omit)
    left = [one for one in (*clause.rest, *clause.front) if one.i not in omit]
    if clause.verb.lemma_ == "be" and not left and kind not in {"definition", "name", "place", "number"}:
        return  # *Since when has she been?*
    if question and is_self_contained(clause, omit):
        text = reference or span_text(answer, clause.sentence)
        yield Fact(clause.sentence, clause, kind, question, text, answer, omit, wh)


def subject_fact(
    clause: Clause, kind: str, question: str, answer: Token, omit: frozenset[int]
) -> Iterator[Fact]:
    """Yield the fact that the subject of a clause has, or is."""
    if is_self_contained(clause, omit):
        text = span_text(answer, clause.sentence)
        yield Fact(clause.sentence, clause, kind, clause.sentence.restored(question), text, answer, omit)


def year_of(text: str) -> int | None:
    """Return the only year of a date as it is written; None if there is none or more than one.

    >>> year_of("7 January 1943"), year_of("1623–25")
    (1943, None)
    """
    years = re.findall(r"\b(?:1\d|20)\d\d\b", text)
    return int(years[0]) if len(years) == 1 and not re.search(r"\d[–-]\d|BC", text) else None
