import numpy as np
import pytest

from sgi.kernel.features import Features
from sgi.kernel.judged_metric import JudgedRows
from sgi.kernel.sample import Batch
from sgi.kernel.vectors import VectorTable
from sgi.metrics.judged.answer_relevance import AnsweredQuestions, AnswerRelevance
from support.scripted import ROW, ask_metric, outcome, score_metric

NAME = "answer_relevance.questions"
RATE = "answer_relevance.rating"


def reply(*questions, noncommittal=False):
    return {"questions": list(questions), "reason": "It says so.", "noncommittal": noncommittal}


def value(metric, evidence, rows):
    """The score where the question lies at the first of the rows, and those found at the others."""
    judged = JudgedRows(Batch.of([ROW]), [evidence])
    texts = list(dict.fromkeys(metric.texts(judged)))
    assert texts == [ROW.question, *evidence.questions]
    vectors = VectorTable.of("demo", texts, np.array(rows, dtype=np.float32))
    return metric.score(judged, Features.of(vectors)).values[0]


def test_three_questions_by_one_call_that_shows_the_response_alone():
    evidence, (inquiry,) = ask_metric(AnswerRelevance(), ROW, {NAME: reply("A?", "B?", "C?")})
    assert evidence.questions == ("A?", "B?", "C?")
    assert inquiry.items == 3
    assert ROW.response in inquiry.text
    assert ROW.question not in inquiry.text


def test_the_mean_cosine_and_the_affine_scale():
    evidence = AnsweredQuestions(questions=("A?", "B?"))
    rows = [[1.0, 0.0], [0.6, 0.8], [-0.2, np.sqrt(1 - 0.2**2)]]
    assert value(AnswerRelevance(), evidence, rows) == pytest.approx(0.2, abs=1e-7)
    assert value(AnswerRelevance(scale="affine"), evidence, rows) == pytest.approx(0.6, abs=1e-7)


def test_questions_of_unknown_letters_have_no_value():
    texts, rows = [ROW.question, "A?"], np.eye(2, dtype=np.float32)
    compared, evades = AnsweredQuestions(questions=("A?",)), AnsweredQuestions(noncommittal=True)
    for unread, kind in ((ROW.question, "question"), ("A?", "questions that the response answers")):
        vectors = VectorTable.of("demo", texts, rows, unread=[unread])
        judged = JudgedRows(Batch.of([ROW, ROW.model_copy(update={"id": "2"})]), [compared, evades])
        scores = AnswerRelevance().score(judged, Features.of(vectors))
        assert scores.ok.tolist() == [False, True]
        assert f" of the {kind};" in scores.reasons[0]


def test_a_negative_mean_cosine_is_zero():
    evidence = AnsweredQuestions(questions=("A?", "B?"))
    rows = [[1.0, 0.0], [0.6, 0.8], [-1.0, 0.0]]
    assert value(AnswerRelevance(), evidence, rows) == 0.0
    assert value(AnswerRelevance(scale="affine"), evidence, rows) == pytest.approx(0.4, abs=1e-7)


def test_the_same_question_is_one():
    evidence = AnsweredQuestions(questions=(ROW.question,) * 3)
    scores = score_metric(AnswerRelevance(), ROW, evidence)
    assert scores.values.tolist() == [1.0]
    assert scores.details == ({"similarities": [1.0, 1.0, 1.0]},)


@pytest.mark.parametrize("found", [1, 2, 4])
def test_another_number_of_questions_than_asked_fails_the_row(found):
    _, status, reason = outcome(AnswerRelevance(), ROW, {NAME: reply(*["Q?"] * found)})
    assert status == "failed"
    assert "3 questions were wanted" in reason


def test_a_response_that_evades_is_zero_or_scored_as_any():
    evidence, inquiries = ask_metric(
        AnswerRelevance(), ROW, {NAME: reply("A?", "B?", "C?", noncommittal=True)}
    )
    assert len(inquiries) == 1
    assert list(AnswerRelevance().texts(JudgedRows(Batch.of([ROW]), [evidence]))) == []
    scores = score_metric(AnswerRelevance(), ROW, evidence)
    assert (scores.values.tolist(), scores.details) == ([0.0], ({"noncommittal": True},))
    ignoring = AnswerRelevance(noncommittal="ignore", scale="affine")
    assert score_metric(ignoring, ROW, evidence).values[0] > 0


@pytest.mark.parametrize("rating", range(5))
def test_without_questions_a_second_call_rates_directly(rating):
    script = {NAME: reply(), RATE: {"reasoning": "Partly.", "rating": rating}}
    evidence, inquiries = ask_metric(AnswerRelevance(), ROW, script)
    assert [inquiry.prompt.name for inquiry in inquiries] == [NAME, RATE]
    assert ROW.question in inquiries[1].text
    assert score_metric(AnswerRelevance(), ROW, evidence).values.tolist() == [rating / 4]


@pytest.mark.parametrize("rating", [-1, 5, 0.5, "1", True, None])
def test_a_rating_outside_the_quarters_fails_the_row(rating):
    script = {NAME: reply(), RATE: {"reasoning": "Partly.", "rating": rating}}
    assert outcome(AnswerRelevance(), ROW, script)[1] == "failed"


def test_a_blank_response_is_zero_and_a_blank_question_undefined_without_a_call():
    assert outcome(AnswerRelevance(), ROW.model_copy(update={"response": "\n"}), {}) == (0.0, "ok", "")
    blank = outcome(AnswerRelevance(), ROW.model_copy(update={"question": " "}), {})
    assert blank == (None, "undefined", "the question is blank")


def test_a_long_response_is_shown_in_parts_and_evades_only_if_all_of_it_does():
    sample = ROW.model_copy(update={"response": "Who knows. " * 8 + "It was 1950. " * 8})
    script = lambda inquiry, _: reply("A?", noncommittal="1950" not in inquiry.text)  # noqa: E731
    evidence, inquiries = ask_metric(AnswerRelevance(questions=1), sample, script, budget=22)
    assert len(inquiries) == len(evidence.questions) > 1
    assert not evidence.noncommittal
