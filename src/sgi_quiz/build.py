"""Make a quiz: two passes over the documents, one to choose passages, one to check the questions."""

from __future__ import annotations

from collections import Counter, defaultdict
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
from sgi_quiz.selection import MAX_PER_PASSAGE, Reservoir, Selection, stable_hash
from sgi_quiz.statement_facts import facts_of
from sgi_quiz.structure import (
    heading_question,
    item_questions,
    next_questions,
    step_questions,
    table_questions,
    unknown_names,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sgi_quiz.document_files import Documents
    from sgi_quiz.facts import Fact
    from sgi_quiz.passages import Passage

PASSAGES_PER_QUESTION = 10
FACTS_PER_QUESTION = 4
_MIN_PASSAGES = 300
_PASSAGES_PER_NAME = 3
_MAX_UNKNOWN = 200
_NOT_FACTS, _REWRITTEN = 0.4, 0.11
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
    heads = Reservoir(4 * number, seed)
    count = 0
    for passage in documents.passages():
        if passage.is_code:
            continue
        count += 1
        if passage.is_first:
            heads.add(passage)
        reservoir.add(passage)
    chosen = reservoir.passages()
    facts = _facts(chosen, FACTS_PER_QUESTION * number)
    facts = _with_more_about(facts, documents, 2 * number)
    candidates = _candidates(facts, chosen, heads.passages(), seed)
    check = ContentCheck()
    for one in candidates.all:
        check.watch(one, candidates.wrong.get(one.id, ""))
    for absence in candidates.absent:
        check.watch_absence(absence)
    for question, name in candidates.unknown:
        check.watch_name(question, name)
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
    return _without_second_answers(facts)


def _without_second_answers(facts: Sequence[Fact]) -> list[Fact]:
    answers: dict[frozenset[str], set[str]] = defaultdict(set)
    for fact in facts:
        answers[content_stems(fact.question)].add(fact.reference)
    return [fact for fact in facts if len(answers[content_stems(fact.question)]) == 1]


def _with_more_about(facts: Sequence[Fact], documents: Documents, most: int) -> list[Fact]:
    """Add the facts of other passages about the names that a fact describes."""
    names: dict[str, list[str]] = defaultdict(list)
    for name in combine.described_names(facts):
        names[name.split()[0]].append(name)
    known = {fact.sentence.passage for fact in facts}
    counts: Counter[str] = Counter()
    chosen = []
    for passage in documents.passages() if names else ():
        words = names.keys() & passage.plain.replace(",", " ").split()
        named = [name for word in words for name in names[word] if name in passage.plain]
        if (
            passage not in known
            and not passage.is_code
            and any(counts[name] < _PASSAGES_PER_NAME for name in named)
        ):
            counts.update(named)
            chosen.append(passage)
        if len(chosen) == most:
            break
    more = [fact for sentence in parse(chosen) for fact in facts_of(sentence) if _has_one_answer(fact)]
    return _without_second_answers([*facts, *more])


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
    unknown: list[tuple[Question, str]] = field(default_factory=list)


def _candidates(
    facts: Sequence[Fact], passages: Sequence[Passage], heads: Sequence[Passage], seed: int
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
    found.all += filter(None, map(heading_question, heads))
    for passage in passages:
        cells = list(table_questions(passage))
        found.all += cells
        found.all += next_questions([one for one in cells if one.kind is Kind.FACT])
        found.all += step_questions(passage)
        found.all += item_questions(passage)
    found.absent += absences(facts)
    unknown = sorted(unknown_names(passages), key=lambda pair: stable_hash(seed, pair[1]))
    found.unknown += unknown[:_MAX_UNKNOWN]
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
    """Choose the questions; if there are few, more of them may be about one passage."""
    absent = (*(one.question for one in found.absent), *(question for question, _ in found.unknown))
    groups: dict[Kind, list[Question]] = defaultdict(list)
    for one in filter(check.is_right, (*found.all, *absent)):
        groups[one.kind].append(one)
    for per_passage in (MAX_PER_PASSAGE, 2 * MAX_PER_PASSAGE):
        chosen = _select(groups, found.facts, number, seed, per_passage)
        if len(chosen) == number:
            return chosen
    return _select(groups, found.facts, len(chosen), seed, per_passage)


def _select(
    groups: Mapping[Kind, list[Question]], facts: Mapping[str, Fact], number: int, seed: int, per_passage: int
) -> list[Question]:
    selection = Selection(number, seed, per_passage)
    for kind in (Kind.TWO_HOP, Kind.COMPARISON, Kind.FOLLOW_UP, Kind.UNANSWERABLE, Kind.FAQ):
        selection.fill(kind, groups[kind])
    # Yes/no questions and false premises repeat the words of facts, so they get what is left of few facts.
    selection.fill(Kind.FACT, groups[Kind.FACT], keep=round(_NOT_FACTS * number))
    selection.fill(Kind.FALSE_PREMISE, groups[Kind.FALSE_PREMISE])
    selection.fill(Kind.YES_NO, groups[Kind.YES_NO])
    selection.fill(Kind.FACT, groups[Kind.FACT], keep=round(_REWRITTEN * number))
    draw = Random(stable_hash(seed, "rewritten"))  # noqa: S311 - no secrets
    originals = [one for one in selection.chosen if one.kind in {Kind.FACT, Kind.FAQ}]
    words = [combine.in_other_words(facts.get(one.id), one, draw) for one in originals]
    selection.fill(Kind.PARAPHRASE, [one for one in words if one is not None])
    typos = [combine.with_typos(one, draw) for one in originals]
    selection.fill(Kind.TYPOS, [one for one in typos if one is not None])
    selection.fill(Kind.FACT, groups[Kind.FACT])
    return selection.finished()
