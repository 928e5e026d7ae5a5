"""Make a quiz: two passes over the documents, one to choose passages, one to check the questions."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

from sgi.metrics.grounding.words import distinct_stems
from sgi.text.tokenizers import sentences
from sgi_quiz import combine
from sgi_quiz.absence import absences
from sgi_quiz.content_check import Absence, ContentCheck
from sgi_quiz.parsing import content_stems, parse
from sgi_quiz.question import Kind, Question
from sgi_quiz.selection import Reservoir, Selection, stable_hash
from sgi_quiz.statement_facts import facts_of
from sgi_quiz.structure import faq_question, step_questions, table_questions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi_quiz.document_files import Documents
    from sgi_quiz.facts import Fact
    from sgi_quiz.passages import Passage

PASSAGES_PER_QUESTION = 10
FACTS_PER_QUESTION = 4
_MIN_PASSAGES = 300
_BATCH = 64


@dataclass
class Quiz:
    """The questions, and what was read for them.

    Attributes:
        questions: in the order of the file.
        passages: the number of passages that were read.
    """

    questions: list[Question]
    passages: int


def build_quiz(documents: Documents, number: int, seed: int = 0) -> Quiz:
    """Make at most ``number`` questions; the same seed and documents give the same questions."""
    reservoir = Reservoir(max(_MIN_PASSAGES, PASSAGES_PER_QUESTION * number), seed)
    faqs = Reservoir(4 * number, seed)
    count = 0
    last: tuple[object, ...] = ()
    for passage in documents.passages():
        count += 1
        section = passage.source, passage.headings
        if section != last and passage.headings and passage.headings[-1].endswith("?"):
            faqs.add(passage)
        last = section
        reservoir.add(passage)
    chosen = reservoir.passages()
    facts = _facts(chosen, FACTS_PER_QUESTION * number)
    candidates = _candidates(facts, chosen, faqs.passages(), seed)
    check = ContentCheck()
    for one in candidates.all:
        check.watch(one, candidates.wrong.get(one.id, ""))
    for absence in candidates.absent:
        check.watch_absence(absence)
    for passage in documents.passages():
        check.read(passage)
    return Quiz(_selected(candidates, check, number, seed), count)


def _facts(passages: Sequence[Passage], most: int) -> list[Fact]:
    """Return the facts of the first passages that give enough, without questions that have two answers."""
    facts: list[Fact] = []
    for start in range(0, len(passages), _BATCH):
        for sentence in parse(passages[start : start + _BATCH]):
            facts += filter(_has_one_answer, facts_of(sentence))
        if len(facts) >= most:
            break
    answers: dict[frozenset[str], set[str]] = defaultdict(set)
    for fact in facts:
        answers[content_stems(fact.question)].add(fact.reference)
    return [fact for fact in facts if len(answers[content_stems(fact.question)]) == 1]


def _has_one_answer(fact: Fact) -> bool:
    """Return whether no other sentence of the passage has all the words of the question."""
    if fact.kind == "definition":  # other sentences are about the same thing
        return True
    asked = content_stems(fact.question)
    others = [
        one for one in sentences(fact.sentence.passage.plain.replace("`", "")) if one != fact.sentence.text
    ]
    return not any(asked <= distinct_stems(one) for one in others)


@dataclass
class _Candidates:
    all: list[Question] = field(default_factory=list)
    facts: dict[str, Fact] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)
    absent: list[Absence] = field(default_factory=list)


def _candidates(
    facts: Sequence[Fact], passages: Sequence[Passage], faqs: Sequence[Passage], seed: int
) -> _Candidates:
    found = _Candidates()
    pool: dict[str, list[str]] = defaultdict(list)
    for fact in facts:
        if fact.kind == "place" and fact.reference not in pool[fact.answer.ent_type_]:
            pool[fact.answer.ent_type_].append(fact.reference)
    for fact in facts:
        question = combine.fact_question(fact)
        found.all.append(question)
        found.facts[question.id] = fact
        for one, value in _with_values(fact, facts, pool, seed):
            found.all.append(one)
            if value:
                found.wrong[one.id] = value
    for make in (combine.comparisons, combine.two_hops, combine.follow_ups):
        found.all += make(facts)
    found.all += filter(None, map(faq_question, faqs))
    for passage in passages:
        found.all += table_questions(passage)
        found.all += step_questions(passage)
    found.absent += absences(facts)
    return found


def _with_values(
    fact: Fact, facts: Sequence[Fact], pool: dict[str, list[str]], seed: int
) -> Iterator[tuple[Question, str]]:
    """Yield the yes/no questions and the false premises of a fact, with their wrong values."""
    draw = Random(stable_hash(seed, fact.question, fact.sentence.text))  # noqa: S311 - no secrets
    value = combine.other_value(fact, pool, draw)
    says_yes = value is None or draw.random() < 0.5
    one = combine.yes_no_question(fact, None if says_yes else value)
    if one is not None:
        yield one, "" if says_yes else value or ""
    if value is not None:
        for asked in facts:
            false = combine.false_premise(asked, fact, value) if asked.clause is fact.clause else None
            if false is not None:
                yield false, value


def _selected(found: _Candidates, check: ContentCheck, number: int, seed: int) -> list[Question]:
    """Choose the questions; if there are few, the shares of the kinds are those of the few."""
    chosen = _select(found, check, number, seed)
    return chosen if len(chosen) == number else _select(found, check, len(chosen), seed)


def _select(found: _Candidates, check: ContentCheck, number: int, seed: int) -> list[Question]:
    right = [one for one in (*found.all, *(one.question for one in found.absent)) if check.is_right(one)]
    groups: dict[Kind, list[Question]] = defaultdict(list)
    for one in right:
        groups[one.kind].append(one)
    selection = Selection(number, seed)
    for kind in (
        Kind.TWO_HOP,
        Kind.COMPARISON,
        Kind.FOLLOW_UP,
        Kind.FALSE_PREMISE,
        Kind.YES_NO,
        Kind.UNANSWERABLE,
        Kind.FAQ,
    ):
        selection.fill(kind, groups[kind])
    rewritten = round(0.11 * number)
    selection.fill(Kind.FACT, groups[Kind.FACT], keep=rewritten)
    draw = Random(stable_hash(seed, "rewritten"))  # noqa: S311 - no secrets
    originals = [one for one in selection.chosen if one.kind in {Kind.FACT, Kind.FAQ}]
    words = [
        combine.in_other_words(found.facts[one.id], one, draw) for one in originals if one.id in found.facts
    ]
    selection.fill(Kind.PARAPHRASE, [one for one in words if one is not None])
    typos = [combine.with_typos(one, draw) for one in originals]
    selection.fill(Kind.TYPOS, [one for one in typos if one is not None])
    selection.fill(Kind.FACT, groups[Kind.FACT])
    return selection.finished()
