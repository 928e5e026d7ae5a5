import pytest

import sgi
from sgi.metrics.judged.answerability import Answerable
from sgi.metrics.refusal.by_answerability import (
    AnsweredUnanswerableJudged,
    CorrectRefusalJudged,
    NeedlessRefusalJudged,
)
from support.judged_metrics import RuleJudge
from support.scripted import ROW, ask_metric, outcome

REFUSES, ANSWERS = "I don't know.", "In Rome."
JUDGED = (NeedlessRefusalJudged(), CorrectRefusalJudged(), AnsweredUnanswerableJudged())
NAMES = ("needless_refusal", "correct_refusal", "answered_unanswerable")
NOT_ANSWERABLE, IS_ANSWERABLE = "the question is not answerable", "the question is answerable"
YES, NO = ({"answerability.verdict": {"reason": "Passage 1.", "answerable": value}} for value in (1, 0))


@pytest.mark.parametrize(
    ("answerable", "response", "expected"),
    [
        (True, REFUSES, (1.0, IS_ANSWERABLE, IS_ANSWERABLE)),
        (True, ANSWERS, (0.0, IS_ANSWERABLE, IS_ANSWERABLE)),
        (False, REFUSES, (NOT_ANSWERABLE, 1.0, 0.0)),
        (False, ANSWERS, (NOT_ANSWERABLE, 0.0, 1.0)),
        (False, " ", (NOT_ANSWERABLE, "the response is blank", "the response is blank")),
    ],
)
def test_each_metric_has_values_for_its_rows_only(answerable, response, expected):
    result = sgi.evaluate([{"response": response, "answerable": answerable}], NAMES)
    scores = [result[name].row(0) for name in NAMES]
    assert tuple(score.reason if score.value is None else score.value for score in scores) == expected


@pytest.mark.parametrize(
    ("lost", "script", "expected", "calls"),
    [
        ({}, YES, (1.0, "ok", ""), 1),
        ({}, NO, (0.0, "ok", ""), 1),
        ({"contexts": (" ",)}, {}, (0.0, "ok", ""), 0),
        ({"question": ""}, {}, (None, "undefined", "the question is blank"), 0),
    ],
)
def test_the_judge_says_whether_the_passages_contain_the_answer(lost, script, expected, calls):
    sample = ROW.model_copy(update=lost)
    assert outcome(Answerable(), sample, script) == expected
    assert len(ask_metric(Answerable(), sample, script)[1]) == calls


def test_metrics_with_a_judge_share_one_call():
    texts = set()
    for metric in (
        Answerable(),
        NeedlessRefusalJudged(),
        CorrectRefusalJudged(),
        AnsweredUnanswerableJudged(),
    ):
        _, (inquiry,) = ask_metric(metric, ROW, YES)
        texts.add(inquiry.text)
    assert len(texts) == 1


def test_metrics_with_a_judge_follow_its_verdict():
    row = {"question": "Where?", "contexts": []}
    names = [f"{name}_judged" for name in NAMES]
    result = sgi.evaluate(
        [row | {"id": text, "response": text} for text in (REFUSES, ANSWERS)],
        names,
        judge=RuleJudge(),
        cache=False,
    )
    assert [result[name].row(0).value for name in names] == [None, 1.0, 0.0]
    assert [result[name].row(1).value for name in names] == [None, 0.0, 1.0]
