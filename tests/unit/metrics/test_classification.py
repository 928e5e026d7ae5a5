import pytest

from sgi.kernel.sample import Sample
from sgi.metrics.classification import (
    AnswerClassification,
    AnswerVerdict,
    CorrectAnswers,
    DontKnowAnswers,
    WrongAnswers,
)
from support.scripted import ROW, ask_metric, outcome, score_metric

NAME = "answer_classification.verdict"
COUNTS = (CorrectAnswers, WrongAnswers, DontKnowAnswers)


def verdict_reply(verdict):
    return {NAME: {"reasoning": "It compares so.", "verdict": verdict}}


def answer(response, **fields):
    return Sample(id="1", **({"question": "Who?", "response": response, "reference": "Paris"} | fields))


@pytest.mark.parametrize(
    ("sample", "script", "name", "calls"),
    [
        (answer("Paris."), verdict_reply("CORRECT"), "correct", 1),
        (answer("Lyon."), verdict_reply("WRONG"), "wrong", 1),
        (answer("I don’t know."), {}, "dont_know", 0),
        (answer("The unknown soldier."), verdict_reply("WRONG"), "wrong", 1),
        (answer("I'm not sure, but it was Paris."), verdict_reply("CORRECT"), "correct", 1),
        (answer("N/A"), {}, "dont_know", 0),
        (answer(" \n"), {}, "wrong", 0),
        (answer("I don't know.", reference=" "), {}, "dont_know", 0),
    ],
)
def test_each_answer_has_one_class_and_each_count_its_own(sample, script, name, calls):
    evidence, inquiries = ask_metric(AnswerClassification(), sample, script)
    assert len(inquiries) == calls
    scores = score_metric(AnswerClassification(), sample, evidence)
    assert scores.details[0]["class"] == name
    assert scores.values.tolist() == [float(name == "correct")]
    counts = [score_metric(kind(), sample, evidence) for kind in COUNTS]
    assert [float(run.values[0]) for run in counts] == [
        float(name == one) for one in ("correct", "wrong", "dont_know")
    ]
    assert {run.details[0]["class"] for run in counts} == {name}


def test_all_of_them_ask_in_the_same_words():
    inquiries = [
        ask_metric(kind(), ROW, verdict_reply("WRONG"))[1][0] for kind in (AnswerClassification, *COUNTS)
    ]
    assert len({(inquiry.prompt.digest, inquiry.text) for inquiry in inquiries}) == 1
    assert all(text in inquiries[0].text for text in (ROW.question, ROW.reference, ROW.response))
    assert ROW.contexts[0] not in inquiries[0].text


@pytest.mark.parametrize(
    "verdict",
    ["INCORRECT", "correct", "Correct", "CORRECT.", "CORRECT or WRONG", "", "UNKNOWN", 1, True, None],
)
def test_a_word_outside_the_vocabulary_is_no_verdict(verdict):
    for kind in (AnswerClassification, *COUNTS):
        value, status, reason = outcome(kind(), answer("Paris."), verdict_reply(verdict))
        assert (value, status) == (None, "failed")
        assert reason


def test_a_blank_reference_is_undefined_without_a_call():
    assert outcome(AnswerClassification(), answer("Paris.", reference=["", " "]), {}) == (
        None,
        "undefined",
        "the reference is blank",
    )


def test_by_the_documents_rule_a_phrase_may_stand_anywhere():
    for response in ("The unknown soldier.", "I'm not sure, but it was Paris."):
        evidence, inquiries = ask_metric(AnswerClassification(phrases="substring"), answer(response), {})
        assert inquiries == []
        run = score_metric(AnswerClassification(phrases="substring"), answer(response), evidence)
        assert run.details[0]["class"] == "dont_know"


def test_kept_evidence_is_read_under_the_other_rule_and_never_guessed():
    sample = answer("The unknown soldier.")
    run = score_metric(AnswerClassification(phrases="substring"), sample, AnswerVerdict(verdict="CORRECT"))
    assert run.details[0]["class"] == "dont_know"
    unasked = score_metric(AnswerClassification(), sample, AnswerVerdict())
    assert (unasked.status[0], unasked.reasons[0]) == (
        "failed",
        "the judge was not asked about this response",
    )


def test_classes_are_counted_by_the_run():
    assert AnswerClassification.spec.category == "class"
    assert {kind.spec.category for kind in COUNTS} == {""}  # their number says it
    assert [kind.spec.higher_is_better for kind in COUNTS] == [True, False, False]
