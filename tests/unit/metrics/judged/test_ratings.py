import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.kernel.sample import Sample
from sgi.metrics.composite import LlmJudgedOverall
from sgi.metrics.judged.factual_accuracy import Accuracy, FactualAccuracy, weighted_mean
from sgi.metrics.judged.ratings import (
    AnswerRelevanceRated,
    ContextRelevance,
    Groundedness,
    Ratings,
    StoredRating,
)
from support.scripted import ROW, ask_metric, outcome, score_metric

TRIAD = (AnswerRelevanceRated(), ContextRelevance(), Groundedness())


def one(rating):
    return {"reasoning": f"It is {rating}.", "rating": rating}


def every(answer=1, context=2, grounded=3):
    return {
        "ratings.all": {
            "answer_relevance": one(answer),
            "context_relevance": one(context),
            "groundedness": one(grounded),
        }
    }


@pytest.mark.parametrize(("metric", "rating"), [*zip(TRIAD, (1, 2, 3), strict=True)])
def test_each_takes_its_own_rating_of_one_and_the_same_call(metric, rating):
    evidence, (inquiry,) = ask_metric(metric, ROW, every())
    assert evidence == StoredRating(reasoning=f"It is {rating}.", rating=rating)
    scores = score_metric(metric, ROW, evidence)
    assert scores.values.tolist() == [rating / 3]
    assert scores.details[0]["rated"] == ("bad", "average", "good", "excellent")[rating]
    _, (other,) = ask_metric(LlmJudgedOverall(), ROW, every())
    assert (inquiry.prompt.digest, inquiry.text) == (other.prompt.digest, other.text)


@pytest.mark.parametrize(
    ("metric", "lost", "prompt"),
    [
        (AnswerRelevanceRated(), {"contexts": ()}, "ratings.answer_relevance"),
        (ContextRelevance(), {"response": ""}, "ratings.context_relevance"),
        (Groundedness(), {"question": " "}, "ratings.groundedness"),
    ],
)
def test_where_a_text_is_blank_only_what_can_be_rated_is_asked(metric, lost, prompt):
    evidence, (inquiry,) = ask_metric(metric, ROW.model_copy(update=lost), {prompt: one(3)})
    assert evidence.rating == 3
    assert inquiry.prompt.name == prompt


@pytest.mark.parametrize(
    ("metric", "lost", "expected"),
    [
        (AnswerRelevanceRated(), {"response": "\t"}, (0.0, "ok", "")),
        (AnswerRelevanceRated(), {"question": ""}, (None, "undefined", "the question is blank")),
        (ContextRelevance(), {"question": ""}, (None, "undefined", "the question is blank")),
        (ContextRelevance(), {"contexts": ()}, (None, "missing", "there are no passages, or all are blank")),
        (
            ContextRelevance(),
            {"contexts": ("", " ")},
            (None, "missing", "there are no passages, or all are blank"),
        ),
        (Groundedness(), {"response": ""}, (None, "undefined", "the response is blank")),
        (Groundedness(), {"contexts": (" ",)}, (0.0, "ok", "")),
    ],
)
def test_what_cannot_be_rated_is_not_asked(metric, lost, expected):
    sample = ROW.model_copy(update=lost)
    assert outcome(metric, sample, {}) == expected
    assert ask_metric(metric, sample, {})[1] == []


@pytest.mark.parametrize("rating", [-1, 4, 2.0, "good", True, None])
def test_a_rating_outside_the_scale_fails_every_one_of_them(rating):
    for metric in (*TRIAD, LlmJudgedOverall()):
        value, status, reason = outcome(metric, ROW, every(context=rating))
        assert (value, status) == (None, "failed")
        assert reason


def test_of_passages_in_portions_the_best_counts():
    sample = ROW.model_copy(update={"contexts": ("dull " * 10, "bright " * 8, "plain " * 9)})

    def script(inquiry, schema):
        bright = "bright" in inquiry.text
        return every(3 if bright else 1, 3 if bright else 0, 2)["ratings.all"]

    evidence, inquiries = ask_metric(LlmJudgedOverall(), sample, script, budget=16)
    assert len(inquiries) == 3
    ratings = (evidence.answer_relevance, evidence.context_relevance, evidence.groundedness)
    # The answer's relevance is no matter of passages: more of them are no more chances.
    assert [rated.rating for rated in ratings] == [1, 3, 2]


def test_nothing_to_rate_needs_no_call():
    sample = ROW.model_copy(update={"question": "", "response": ""})
    evidence, inquiries = ask_metric(LlmJudgedOverall(), sample, {})
    assert (evidence, inquiries) == (Ratings(), [])


def test_overall_is_the_mean_of_what_is_ok():
    evidence, _ = ask_metric(LlmJudgedOverall(), ROW, every(0, 1, 3))
    scores = score_metric(LlmJudgedOverall(), ROW, evidence)
    assert scores.values[0] == pytest.approx(4 / 9, abs=1e-15)
    assert scores.details[0]["parts"] == {
        "answer_relevance_rated": 0.0,
        "context_relevance": 1 / 3,
        "groundedness": 1.0,
    }


def test_overall_leaves_out_what_is_undefined_and_says_so():
    sample = ROW.model_copy(update={"response": ""})
    evidence, _ = ask_metric(LlmJudgedOverall(), sample, {"ratings.context_relevance": one(3)})
    scores = score_metric(LlmJudgedOverall(), sample, evidence)
    assert scores.values.tolist() == [0.5]  # a blank response is 0 for answer relevance
    assert scores.details[0]["reasons"] == {"groundedness": "the response is blank"}


NAME = "factual_accuracy.criteria"


SCORES = st.integers(0, 100)


def criteria(correctness, completeness, consistency):
    scores = {"correctness": correctness, "completeness": completeness, "consistency": consistency}
    return {name: {"reasoning": "It is so.", "score": score} for name, score in scores.items()}


def accuracy(*scores):
    return Accuracy(criteria=criteria(*scores))


@pytest.mark.parametrize(
    ("scores", "value", "letter"),
    [
        ((100, 100, 100), 1.0, "A"),
        ((79, 80, 82), 0.799, "B"),
        ((60, 60, 60), 0.6, "B"),
        ((0, 100, 50), 0.4, "C"),
        ((20, 20, 20), 0.2, "D"),
        ((20, 20, 19), 0.198, "E"),
    ],
)
def test_the_weighted_mean_and_its_grade(scores, value, letter):
    run = score_metric(FactualAccuracy(), ROW, accuracy(*scores))
    assert run.values.tolist() == [value]
    assert run.details[0]["grade"] == letter
    assert run.details[0]["completeness"] == scores[1] / 100


@given(SCORES, SCORES, SCORES)
def test_the_grade_is_that_of_the_exact_mean(correctness, completeness, consistency):
    tenths = 5 * correctness + 3 * completeness + 2 * consistency
    run = score_metric(FactualAccuracy(), ROW, accuracy(correctness, completeness, consistency))
    assert run.values[0] == tenths / 1000
    assert run.details[0]["grade"] == "EDCBA"[min(4, tenths // 200)]


@given(st.lists(st.tuples(SCORES, st.floats(0, 1e308)), min_size=1, max_size=4))
def test_the_weighted_mean_lies_between_its_values(pairs):
    values, weights = zip(*pairs, strict=True)
    if any(weights):
        assert min(values) <= weighted_mean(values, weights) <= max(values)


def test_other_weights_score_the_same_evidence():
    evidence = accuracy(10, 20, 30)
    assert score_metric(FactualAccuracy(weights=(1, 0, 0)), ROW, evidence).values.tolist() == [0.1]
    assert score_metric(FactualAccuracy(weights=(2, 2, 0)), ROW, evidence).values.tolist() == [0.15]


def test_one_call_shows_question_all_accepted_answers_and_the_response():
    sample = Sample(id="1", question="When?", response="In 1950.", reference=["1950", "  ", "in 1950"])
    _, (inquiry,) = ask_metric(FactualAccuracy(), sample, {NAME: criteria(1, 2, 3)})
    for shown in ("When?", "] 1950\n", "] in 1950\n", "In 1950."):
        assert shown in inquiry.text


def test_a_mean_the_judge_offers_is_not_taken():
    reply = criteria(10, 10, 10) | {"final_score": 100, "grade": "A"}
    assert outcome(FactualAccuracy(), ROW, {NAME: reply}) == (0.1, "ok", "")


def test_blank_texts_need_no_call():
    blank = ROW.model_copy(update={"response": " "})
    evidence, inquiries = ask_metric(FactualAccuracy(), blank, {})
    assert inquiries == []
    scores = score_metric(FactualAccuracy(), blank, evidence)
    assert scores.values.tolist() == [0.0]
    assert scores.details == ({"grade": "E", "warning": "the response is blank"},)
    both = blank.model_copy(update={"reference": ""})
    assert outcome(FactualAccuracy(), both, {}) == (None, "undefined", "the reference is blank")
    assert "grade" not in score_metric(FactualAccuracy(), both, evidence).details[0]


@pytest.mark.parametrize("score", [-1, 101, 50.0, "50", True, None])
def test_a_score_that_is_no_whole_percentage_fails_the_row(score):
    assert outcome(FactualAccuracy(), ROW, {NAME: criteria(50, score, 50)})[1] == "failed"
