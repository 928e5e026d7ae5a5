"""The ways to plant each cause of `sgi_lab.metric_bench.planted_causes`, and correct rows.

A plant is a function of a case and a random generator; it returns None where it does not apply.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgi.kernel.sample import Sample
from sgi_lab.metric_bench.answers import unsupported_added
from sgi_lab.metric_bench.facts import date_shift, entity_swap, number_swap
from sgi_lab.metric_bench.names import sure_names
from sgi_lab.metric_bench.planted_answers import (
    any_answer,
    closest_sentence,
    long_answer,
    reasoned_refusal,
    refusal,
    short_answer,
)
from sgi_lab.metric_bench.planted_causes import CONTEXTS, Draft

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from random import Random

    from sgi_lab.metric_bench.perturbation import Perturbation
    from sgi_lab.metric_bench.planted_causes import Case, Plant, Source

_MIN_SENTENCE_WORDS = 6
_NEAR = 2
_TRIES = 10


def _wrong_from(case: Case, names: Sequence[str], draw: Random) -> tuple[str, str] | None:
    """Answer from one of the first passages: its closest sentence, or an answer to one of its questions.

    Returns:
        The response and the id of the passage, or None.
    """
    answer = case.source.answer
    for name in names[:_NEAR]:
        same = [
            other.answer
            for other in case.corpus.by_paragraph.get(name, ())
            if _question_word(other.answer.question) == _question_word(answer.question)
        ]
        if same and draw.random() < 1 / 2:
            return short_answer(draw.choice(same), draw), name
        sentence = closest_sentence(case.corpus.passages[name], answer.question)
        if len(sentence.split()) >= _MIN_SENTENCE_WORDS:
            return sentence, name
    return None


def _question_word(question: str) -> str:
    return question.split(" ", 1)[0].casefold()


def _answer_from_distractor(
    case: Case, draw: Random, rank: int | None, *, answerable: bool = True
) -> Draft | None:
    names = case.context_ids(rank)
    found = _wrong_from(case, [name for name in names if name != case.source.paragraph], draw)
    if found is None:
        return None
    response, name = found
    return Draft(response, rank, cited=names.index(name) + 1, answerable=answerable)


def miss_wrong_answer(case: Case, draw: Random) -> Draft | None:
    """The gold passage is not retrieved; the response answers from a near distractor."""
    return _answer_from_distractor(case, draw, None)


def miss_refusal(case: Case, draw: Random) -> Draft | None:
    """The gold passage is not retrieved; the response refuses."""
    return Draft(_refuse(case, None, draw), None)


def miss_invention(case: Case, draw: Random) -> Draft | None:
    """The gold passage is not retrieved; the response is an answer of the same kind from nowhere."""
    other = _other_answer(case, draw)
    return None if other is None else Draft(short_answer(other.answer, draw), None, cited=1)


def low_wrong_answer(case: Case, draw: Random) -> Draft | None:
    """The gold passage is at rank 4 to 6; the response answers from a passage above it."""
    return _answer_from_distractor(case, draw, case.low_rank(draw))


def low_refusal(case: Case, draw: Random) -> Draft | None:
    """The gold passage is at rank 4 to 6; the response refuses."""
    rank = case.low_rank(draw)
    return Draft(_refuse(case, rank, draw), rank)


def ignored_for_distractor(case: Case, draw: Random) -> Draft | None:
    """The gold passage is at rank 1 to 3; the response answers from another retrieved passage."""
    return _answer_from_distractor(case, draw, case.high_rank(draw))


def ignored_wrong_span(case: Case, draw: Random) -> Draft | None:
    """The gold passage is at rank 1 to 3; the response is another span of it, from another sentence."""
    answer = case.source.answer
    wrong = [
        other.answer
        for other in case.siblings
        if not _overlap(other, case.source)
        and _question_word(other.answer.question) == _question_word(answer.question)
        and other.answer.sentence != answer.sentence
    ]
    if not wrong:
        return None
    rank = case.high_rank(draw)
    return Draft(short_answer(draw.choice(wrong), draw), rank, cited=rank)


def _overlap(one: Source, other: Source) -> bool:
    """Return whether an answer contains the other, or is in the other's sentence."""
    first, second = one.answer.text.casefold(), other.answer.text.casefold()
    return first in second or second in first


def _unsupported(case: Case, draw: Random, names: Sequence[str], skipped: str = "") -> Draft | None:
    rank = case.high_rank(draw)
    contexts = [case.corpus.passages[name] for name in case.context_ids(rank, skipped)]
    row = Sample(id=case.source.id, contexts=tuple(contexts), response=long_answer(case.source.answer, draw))
    changed = unsupported_added.apply(row, case.corpus.others(names), seed=draw.randrange(1000))
    return None if changed is None else Draft(changed.response, rank, cited=rank, skipped=skipped)


def unsupported_unrelated(case: Case, draw: Random) -> Draft | None:
    """The right answer, and a sentence of an unrelated paragraph."""
    return _unsupported(case, draw, case.unrelated)


def unsupported_related(case: Case, draw: Random) -> Draft | None:
    """The right answer, and a sentence of a related paragraph that is not retrieved."""
    skipped = case.distractors[0]
    return _unsupported(case, draw, [skipped], skipped)


def _contradiction(case: Case, draw: Random, change: Perturbation) -> Draft | None:
    rank = case.high_rank(draw)
    contexts = tuple(case.corpus.passages[name] for name in case.context_ids(rank))
    answer = case.source.answer
    row = Sample(
        id=case.source.id, question=answer.question, contexts=contexts, response=long_answer(answer, draw)
    )
    changed = change.apply(row, case.corpus.others(case.unrelated), seed=draw.randrange(1000))
    return None if changed is None else Draft(changed.response, rank, cited=rank)


def contradicted_number(case: Case, draw: Random) -> Draft | None:
    """A sentence with the answer, in which a number is replaced by one that no passage has."""
    return _contradiction(case, draw, number_swap)


def contradicted_date(case: Case, draw: Random) -> Draft | None:
    """A sentence with the answer, in which a year, month or day is changed."""
    return _contradiction(case, draw, date_shift)


def contradicted_name(case: Case, draw: Random) -> Draft | None:
    """A sentence with the answer, in which a name is replaced by one of another paragraph."""
    return _contradiction(case, draw, entity_swap)


def wrong_passage_cited(case: Case, draw: Random) -> Draft | None:
    """The right answer with a marker of a passage that does not have it."""
    rank = case.high_rank(draw)
    cited = draw.choice([place for place in range(1, CONTEXTS + 1) if place != rank])
    return Draft(any_answer(case.source.answer, draw), rank, cited=cited, must_cite=True)


def missing_passage_cited(case: Case, draw: Random) -> Draft | None:
    """The right answer with a marker of a passage that does not exist."""
    cited = draw.randint(CONTEXTS + 1, CONTEXTS + 4)
    return Draft(any_answer(case.source.answer, draw), case.high_rank(draw), cited=cited, must_cite=True)


def _refuse(case: Case, rank: int | None, draw: Random) -> str:
    if draw.random() < 1 / 2:
        return refusal(draw)
    first = case.context_ids(rank)[0]
    return reasoned_refusal(sure_names(case.corpus.passages[first]), draw)


def needless_refusal_of_one(case: Case, draw: Random) -> Draft | None:
    """The gold passage is at rank 1 to 3; the response refuses, half of the time with a reason."""
    rank = case.high_rank(draw)
    return Draft(_refuse(case, rank, draw), rank)


def needless_refusal_of_two(case: Case, draw: Random) -> Draft | None:
    """Two questions on the passage at rank 1 to 3; the response refuses."""
    joined = _joined(case, 2, draw)
    if joined is None:
        return None
    rank = case.high_rank(draw)
    return Draft(_refuse(case, rank, draw), rank, answers=_texts(joined), asked=_questions(joined))


def unanswerable_from_distractor(case: Case, draw: Random) -> Draft | None:
    """No passage answers the question; the response answers from a near distractor."""
    return _answer_from_distractor(case, draw, None, answerable=False)


def unanswerable_from_memory(case: Case, draw: Random) -> Draft | None:
    """No passage answers the question; the response gives the answer without support."""
    return Draft(any_answer(case.source.answer, draw), None, cited=1, answerable=False)


def _joined(case: Case, n: int, draw: Random) -> tuple[Source, ...] | None:
    """Return the question and others of its paragraph whose answers do not contain each other."""
    chosen = [case.source]
    siblings = list(case.siblings)
    draw.shuffle(siblings)
    for other in siblings:
        if len(chosen) < n and not any(
            _overlap(other, one)
            or other.answer.text in one.answer.sentence
            or one.answer.text in other.answer.sentence
            for one in chosen
        ):
            chosen.append(other)
    return tuple(chosen) if len(chosen) == n else None


def _texts(joined: Sequence[Source]) -> tuple[str, ...]:
    return tuple(source.answer.text for source in joined)


def _questions(joined: Sequence[Source]) -> tuple[str, ...]:
    return tuple(source.answer.question for source in joined)


def _answers(joined: Sequence[Source], answered: int, case: Case, draw: Random) -> Draft:
    """Ask all questions, and answer some of them, in random order of the answers."""
    rank = case.high_rank(draw)
    some = draw.sample(list(joined), answered)
    response = " ".join(long_answer(source.answer, draw) for source in some)
    return Draft(response, rank, cited=rank, answers=_texts(joined), asked=_questions(joined))


def incomplete_one_of_two(case: Case, draw: Random) -> Draft | None:
    """Two questions on the paragraph, of which the response answers one."""
    joined = _joined(case, 2, draw)
    return None if joined is None else _answers(joined, 1, case, draw)


def incomplete_two_of_three(case: Case, draw: Random) -> Draft | None:
    """Three questions on the paragraph, of which the response answers two."""
    joined = _joined(case, 3, draw)
    return None if joined is None else _answers(joined, 2, case, draw)


def off_topic_answer(case: Case, draw: Random) -> Draft | None:
    """The right answer, as a statement or sentence, to a question on an unrelated paragraph."""
    other = _unrelated_source(case, draw)
    rank = case.high_rank(draw)
    return None if other is None else Draft(long_answer(other.answer, draw), rank, cited=rank)


def off_topic_sentences(case: Case, draw: Random) -> Draft | None:
    """Two right answers to questions on two unrelated paragraphs."""
    first, second = _unrelated_source(case, draw), _unrelated_source(case, draw)
    if first is None or second is None or first == second:
        return None
    rank = case.high_rank(draw)
    response = f"{long_answer(first.answer, draw)} {long_answer(second.answer, draw)}"
    return Draft(response, rank, cited=rank)


def _unrelated_source(case: Case, draw: Random) -> Source | None:
    for _ in range(_TRIES if case.unrelated else 0):
        found = case.corpus.by_paragraph.get(draw.choice(case.unrelated), ())
        if found:
            return draw.choice(found)
    return None


def _other_answer(case: Case, draw: Random) -> Source | None:
    """Return a question with the same question word on an unrelated paragraph."""
    word = _question_word(case.source.answer.question)
    found = (_unrelated_source(case, draw) for _ in range(_TRIES))
    return next((s for s in found if s and _question_word(s.answer.question) == word), None)


def correct_high(case: Case, draw: Random) -> Draft | None:
    """The right answer, with the gold passage at rank 1 to 3."""
    rank = case.high_rank(draw)
    return Draft(any_answer(case.source.answer, draw), rank, cited=rank)


def correct_low(case: Case, draw: Random) -> Draft | None:
    """The right answer, with the gold passage at rank 4 to 6."""
    rank = case.low_rank(draw)
    return Draft(any_answer(case.source.answer, draw), rank, cited=rank)


def correct_two(case: Case, draw: Random) -> Draft | None:
    """Two questions on the paragraph, and the right answers to both."""
    joined = _joined(case, 2, draw)
    return None if joined is None else _answers(joined, 2, case, draw)


def correct_refusal(case: Case, draw: Random) -> Draft | None:
    """No passage answers the question; the response refuses."""
    return Draft(_refuse(case, None, draw), None, answerable=False)


PLANTS: Mapping[str, tuple[Plant, ...]] = {
    "retrieval_miss": (miss_wrong_answer, miss_refusal, miss_invention),
    "passage_ranked_low": (low_wrong_answer, low_refusal),
    "ignored_context": (ignored_for_distractor, ignored_wrong_span),
    "unsupported_claim": (unsupported_unrelated, unsupported_related),
    "contradicted_fact": (contradicted_number, contradicted_date, contradicted_name),
    "wrong_citation": (wrong_passage_cited, missing_passage_cited),
    "needless_refusal": (needless_refusal_of_one, needless_refusal_of_two),
    "answered_unanswerable": (unanswerable_from_distractor, unanswerable_from_memory),
    "incomplete_answer": (incomplete_one_of_two, incomplete_two_of_three),
    "off_topic": (off_topic_answer, off_topic_sentences),
    "correct": (correct_high, correct_low, correct_two, correct_refusal),
}
"""The ways to plant each cause."""
