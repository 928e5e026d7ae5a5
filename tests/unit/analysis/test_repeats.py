from __future__ import annotations

import numpy as np
import pytest

from sgi.analysis.repeats import repeats
from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.kernel.sample import Sample
from sgi.stats.variance_components import variance_components
from support.scored_runs import column, run, run_of

NAN = float("nan")


def answers(values, *, higher_is_better=True):
    """A run with the given values of each question."""
    samples = [
        Sample(id=f"q{question}#{number}", question=f"Question {question}?")
        for question, of_question in enumerate(values)
        for number, _ in enumerate(of_question, 1)
    ]
    flat = [value for of_question in values for value in of_question]
    return run_of(samples, column("a", flat, higher_is_better=higher_is_better))


def test_pass_rates_are_averages_over_questions():
    result = repeats(answers([[1, 1, 1], [1, 0, 0], [0, 0, 0], [1, 1, 0]]), "a")
    assert (result.threshold, result.questions, result.answers, result.flaky) == (1.0, 4, 12, 2)
    assert [(rate.k, rate.questions) for rate in result.rates] == [(1, 4), (2, 4), (3, 4)]
    one, two, three = result.rates
    assert one.at_least_one == one.all_pass == pytest.approx(6 / 12)
    assert two.at_least_one == pytest.approx((1 + 2 / 3 + 0 + 1) / 4)
    assert two.all_pass == pytest.approx((1 + 0 + 0 + 1 / 3) / 4)
    assert (three.at_least_one, three.all_pass) == (0.75, 0.25)
    assert one.at_least_one_interval is None  # four questions are too few


def test_rows_without_any_text_are_not_answers_to_one_question():
    samples = [Sample(id=str(number), question="", response="r") for number in range(6)]
    with pytest.raises(UsageError):
        repeats(run_of(samples, column("a", [1, 0, 1, 0, 1, 0])), "a")
    judged = [
        Sample(id=f"{answer}~{number}", question="", response="r", metadata={"judge_repeat": number})
        for answer in "xyz"
        for number in (1, 2)
    ]
    result = repeats(run_of(judged, column("a", [1, 0, 1, 1, 0, 0])), "a")
    assert (result.questions, result.answers, result.judgements, result.flaky) == (3, 3, 6, 1)
    assert result.flaky_because == {"judge": 1}


def test_larger_k_uses_only_questions_with_enough_answers():
    result = repeats(answers([[1, 1], [1, 0], [0, 0, 1]]), "a")
    assert [(rate.k, rate.questions) for rate in result.rates] == [(1, 3), (2, 3), (3, 1)]


@pytest.mark.parametrize(("higher", "passed"), [(True, 2), (False, 1)])
def test_a_threshold_makes_any_metric_pass_or_fail(higher, passed):
    result = repeats(answers([[0.2, 0.6, 0.9], [0.1, 0.1]], higher_is_better=higher), "a", threshold=0.5)
    (flaky,) = result.examples
    assert (flaky.ids[0], flaky.values, flaky.passed) == ("q0#1", (0.2, 0.6, 0.9), passed)


def test_without_a_threshold_a_continuous_metric_has_no_pass_rates():
    result = repeats(answers([[0.2, 0.6], [0.1, 0.1], [0.3, 0.4]]), "a")
    assert (result.threshold, result.rates, result.flaky) == (None, (), 2)
    assert [one.ids[0] for one in result.examples] == ["q0#1", "q2#1"]


def test_rows_without_a_value_and_single_answers_are_left_out_and_counted():
    result = repeats(answers([[0.2, NAN], [0.1, 0.5, NAN], [0.3, 0.4]]), "a")
    assert (result.questions, result.answers, result.single) == (2, 4, 1)


def test_components_are_those_of_the_values():
    values = np.random.default_rng(0).random((12, 3))
    result = repeats(answers(values.tolist()), "a")
    assert result.components == variance_components(values.ravel(), np.repeat(range(12), 3))


def judgements(values):
    """A run with the given judgements of each answer to each question."""
    samples = [
        Sample(id=f"q{q}#{a}~{number}", question=f"Question {q}?", metadata={"judge_repeat": number})
        for q, of_question in enumerate(values)
        for a, of_answer in enumerate(of_question, 1)
        for number, _ in enumerate(of_answer, 1)
    ]
    flat = [value for of_question in values for of_answer in of_question for value in of_answer]
    return run_of(samples, column("a", flat))


def test_a_question_is_flaky_because_of_its_answers_or_of_the_judge():
    fails, passes = [0, 0, 0], [1, 1, 1]
    questions = [
        [passes, fails, passes, fails, fails],
        [[1, 1, 0], passes, passes, passes, passes],
        [[1, 1, 0], fails, passes, fails, passes],
        [[1, 1, 0], [0, 0, 1], [1, 1, 0], [0, 0, 1], [1, 0, 1]],
    ]
    result = repeats(judgements(questions), "a")
    assert (result.questions, result.answers, result.judgements, result.flaky) == (4, 20, 60, 4)
    assert {one.ids[0]: one.because for one in result.examples} == {
        "q0#1~1": ("answer",),
        "q1#1~1": ("judge",),
        "q2#1~1": ("answer", "judge"),
        "q3#1~1": ("not separable",),
    }
    assert result.flaky_because == {"answer": 2, "judge": 2, "not separable": 1}
    assert [rate.k for rate in result.rates] == [1, 2, 3, 4, 5]
    assert [one.sources for one in result.components.components] == [("question",), ("answer",), ("judge",)]


def test_chance_alone_makes_no_question_flaky_because_of_the_answer():
    """All judgements are independent. Without a test, 53 of 60 questions were because of the answer."""
    found = 0
    for seed in range(20):
        values = (np.random.default_rng(seed).random((60, 5, 3)) < 0.6) * 1.0
        found += "answer" in repeats(judgements(values.tolist()), "a").flaky_because
    assert found <= 3


def test_a_judge_that_never_differs_leaves_the_answers():
    result = repeats(judgements([[[1, 1], [0, 0]], [[1, 1], [1, 1]], [[0, 0], [0, 0]]]), "a")
    assert result.flaky_because == {"answer": 1}


def test_without_a_threshold_answers_differ_if_their_values_do_not_overlap():
    result = repeats(judgements([[[0.1, 0.2], [0.3, 0.4]], [[0.1, 0.4], [0.2, 0.3]]]), "a")
    assert sorted(one.because for one in result.examples) == [("judge",), ("not separable",)]


def test_judgements_of_one_answer_have_no_pass_rates():
    result = repeats(judgements([[[1, 0]], [[1, 1]], [[0, 0]]]), "a")
    assert (result.rates, result.answers, result.flaky) == ((), 3, 1)
    assert [one.sources for one in result.components.components] == [("question", "answer"), ("judge",)]


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: repeats(answers([[1], [0]]), "a"), UsageError, "No question of last has two answers"),
        (lambda: repeats(answers([[NAN, NAN]]), "a"), UsageError, "No question of last has two answers"),
        (lambda: repeats(run(column("a", [1, 0])), "a"), UsageError, "has no texts"),
        (lambda: repeats(answers([[1, 0]]), "b"), UnknownNameError, "It has: a"),
    ],
)
def test_what_cannot_be_analysed_is_refused(make, error, text):
    with pytest.raises(error, match=text):
        make()
