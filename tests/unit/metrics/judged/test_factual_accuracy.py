import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.kernel.sample import Sample
from sgi.metrics.judged.factual_accuracy import Accuracy, FactualAccuracy, weighted_mean
from support.scripted import ROW, ask_metric, outcome, score_metric

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
