import pytest

from sgi.kernel.sample import Sample
from sgi.metrics.judged.completeness_judged import CompletenessJudged
from sgi.metrics.judged.context_precision import ContextPrecision, PassageRelevance, Relevances
from sgi.metrics.judged.faithfulness import ContextRecall, Faithfulness
from support.scripted import ROW, ask_metric, claims, outcome, score_metric, supports

NAME = "context_precision.relevance"


def verdicts(relevant, relevance=50):
    return {
        "verdicts": [
            {"index": index, "reason": f"Reason {index}.", "relevance": relevance, "relevant": flag}
            for index, flag in enumerate(relevant, 1)
        ]
    }


def relevances(relevant):
    return Relevances(
        passages=[PassageRelevance(reason="r", relevance=1, relevant=flag) for flag in relevant]
    )


def test_the_share_of_relevant_passages_by_one_call():
    evidence, (inquiry,) = ask_metric(ContextPrecision(), ROW, {NAME: verdicts([True, False])})
    scores = score_metric(ContextPrecision(), ROW, evidence)
    assert scores.values.tolist() == [0.5]
    assert scores.details == ({"passages": 2, "relevant": 1},)
    assert all(text in inquiry.text for text in (ROW.question, ROW.reference, *ROW.contexts))
    assert ROW.response not in inquiry.text


def test_without_a_reference_none_is_shown():
    _, (inquiry,) = ask_metric(
        ContextPrecision(), ROW.model_copy(update={"reference": None}), {NAME: verdicts([True, False])}
    )
    assert "accepted_answers" not in inquiry.text


@pytest.mark.parametrize(
    ("relevant", "mean", "rank"),
    [
        ((True,), 1.0, 1.0),
        ((False,), 0.0, 0.0),
        ((False, True), 0.5, 0.5),
        ((True, False), 0.5, 1.0),
        ((True, False, True), 2 / 3, (1 + 2 / 3) / 2),
        ((False, False, True, True), 0.5, (1 / 3 + 2 / 4) / 2),
        ((False, False, False), 0.0, 0.0),
    ],
)
def test_weighting(relevant, mean, rank):
    sample = ROW.model_copy(update={"contexts": tuple("abcdefg"[: len(relevant)])})
    evidence = relevances(relevant)
    assert score_metric(ContextPrecision(), sample, evidence).values[0] == pytest.approx(mean, abs=1e-15)
    by_rank = score_metric(ContextPrecision(weighting="rank"), sample, evidence)
    assert by_rank.values[0] == pytest.approx(rank, abs=1e-15)


def test_no_passages_are_missing_or_by_the_document_zero():
    sample = ROW.model_copy(update={"contexts": ()})
    evidence, inquiries = ask_metric(ContextPrecision(), sample, {})
    assert inquiries == []
    scores = score_metric(ContextPrecision(), sample, evidence)
    assert (scores.status[0], scores.reasons[0]) == ("missing", "the list of passages is empty")
    assert score_metric(ContextPrecision(empty="zero"), sample, evidence).values.tolist() == [0.0]


def test_a_blank_question_is_undefined_without_a_call():
    sample = ROW.model_copy(update={"question": " "})
    evidence, inquiries = ask_metric(ContextPrecision(), sample, {})
    assert inquiries == []
    scores = score_metric(ContextPrecision(), sample, evidence)
    assert (scores.status[0], scores.reasons[0]) == ("undefined", "the question is blank")


def test_blank_passages_are_not_relevant_and_not_asked_about():
    sample = ROW.model_copy(update={"contexts": ("", "a", " \n", "b")})
    evidence, (inquiry,) = ask_metric(ContextPrecision(), sample, {NAME: verdicts([True, True])})
    assert inquiry.items == 2
    assert [passage.relevant for passage in evidence.passages] == [False, True, False, True]
    assert evidence.passages[2].reason == "The passage is blank."
    assert score_metric(ContextPrecision(), sample, evidence).values.tolist() == [0.5]


def test_verdicts_of_portions_are_mapped_back_and_the_best_piece_counts():
    sample = ROW.model_copy(update={"contexts": ("a " * 6, "needle " * 2 + "b " * 40, "c " * 6)})

    def script(inquiry, schema):
        reply = verdicts([False] * inquiry.items, relevance=0)
        if "needle" in inquiry.text:
            reply["verdicts"][0] |= {"relevant": True, "relevance": 90}
        return reply

    evidence, inquiries = ask_metric(ContextPrecision(), sample, script, budget=12)
    assert [inquiry.items for inquiry in inquiries] == [1, 1, 1, 1]
    assert [(passage.relevant, passage.relevance) for passage in evidence.passages] == [
        (False, 0),
        (True, 90),
        (False, 0),
    ]


def test_each_fifty_passages_have_a_call_of_their_own():
    sample = ROW.model_copy(update={"contexts": tuple(f"Passage {n}." for n in range(120))})
    script = lambda inquiry, _: verdicts([True] * inquiry.items)
    evidence, inquiries = ask_metric(ContextPrecision(), sample, script)
    assert [inquiry.items for inquiry in inquiries] == [50, 50, 20]
    assert len(evidence.passages) == 120


@pytest.mark.parametrize(
    "change",
    [
        {"relevant": 1},
        {"relevant": "true"},
        {"relevance": 101},
        {"relevance": 50.5},
        {"reason": ""},
        {"index": 2},
    ],
)
def test_a_verdict_that_is_not_what_was_asked_fails_the_row(change):
    reply = verdicts([True, False])
    reply["verdicts"][0] |= change
    value, status, reason = outcome(ContextPrecision(), ROW, {NAME: reply})
    assert (value, status) == (None, "failed")
    assert reason


SCRIPT = {"claims.extract": claims("It was in 1950.", "It was at Tolvik."), "claims.verify": supports(0, 1)}


def test_the_attributed_share_of_the_references_statements():
    evidence, (extract, verify) = ask_metric(ContextRecall(), ROW, SCRIPT)
    assert score_metric(ContextRecall(), ROW, evidence).values.tolist() == [0.5]
    assert ROW.reference in extract.text
    assert ROW.question in extract.text
    assert ROW.response not in extract.text + verify.text
    assert evidence.claims[1].passage == 1


def test_the_share_of_the_references_statements_that_the_response_states():
    evidence, (extract, verify) = ask_metric(CompletenessJudged(), ROW, SCRIPT)
    scores = score_metric(CompletenessJudged(), ROW, evidence)
    assert [each["stated"] for each in scores.details[0]["statements"]] == [False, True]
    assert ROW.reference in extract.text
    assert ROW.response in verify.text
    assert ROW.contexts[0] not in extract.text + verify.text


@pytest.mark.parametrize(
    ("changes", "status", "value", "calls"),
    [
        (
            {"metadata": {"must": ["It was in 1950.", "The answer must say that it is red."]}},
            "ok",
            0.5,
            1,
        ),
        ({"metadata": {"must": ["It was in 1950."]}, "response": " "}, "ok", 0.0, 0),
        ({"metadata": {"must": 7}}, "missing", None, 0),
    ],
)
def test_facts_of_a_column_need_no_reference(changes, status, value, calls):
    metric = CompletenessJudged(facts="must")
    sample = Sample(id="1", response="In 1950.").model_copy(update=changes)
    evidence, inquiries = ask_metric(metric, sample, SCRIPT)
    score = score_metric(metric, sample, evidence).row(0)
    assert (score.status, score.value, len(inquiries)) == (status, value, calls)
    assert "must" in score.reason or calls or value == 0
    assert not inquiries or "should" not in inquiries[0].text.rpartition("</instructions>")[2]


@pytest.mark.parametrize(
    ("changes", "script", "expected", "full", "calls"),
    [
        ({"reference": " "}, {}, "the reference is blank", 1.0, 0),
        ({}, {"claims.extract": claims()}, "the reference states nothing", 1.0, 1),
        ({"contexts": ()}, SCRIPT, 0.0, 0.0, 1),
    ],
)
def test_rows_without_statements_or_passages(changes, script, expected, full, calls):
    sample = ROW.model_copy(update=changes)
    evidence, inquiries = ask_metric(ContextRecall(), sample, script)
    assert len(inquiries) == calls
    plain = score_metric(ContextRecall(), sample, evidence)
    assert (plain.reasons[0] or plain.values[0]) == expected
    assert score_metric(ContextRecall(empty="full"), sample, evidence).values.tolist() == [full]


def test_no_passages_cannot_become_full_recall_of_kept_evidence():
    sample = ROW.model_copy(update={"contexts": ()})
    evidence, _ = ask_metric(ContextRecall(), sample, SCRIPT)
    assert score_metric(ContextRecall(empty="full"), sample, evidence).values.tolist() == [0.0]


def test_a_row_without_a_question_can_be_asked():
    sample = Sample(id="1", contexts=ROW.contexts, reference="In 1950.")
    _, (extract, _) = ask_metric(ContextRecall(), sample, SCRIPT)
    assert "<question" not in extract.text


def test_of_several_accepted_answers_the_first_is_the_reference():
    sample = Sample(id="1", contexts=["a"], reference=["the first", "the second"])
    _, (extract, _) = ask_metric(ContextRecall(), sample, SCRIPT)
    assert "the first" in extract.text
    assert "the second" not in extract.text


def test_a_reference_equal_to_the_response_is_asked_about_in_the_same_words():
    sample = ROW.model_copy(update={"reference": ROW.response})
    _, recall = ask_metric(ContextRecall(), sample, SCRIPT)
    _, faithfulness = ask_metric(Faithfulness(), sample, SCRIPT)
    assert [inquiry.text for inquiry in recall] == [inquiry.text for inquiry in faithfulness]
    assert [inquiry.prompt.digest for inquiry in recall] == [i.prompt.digest for i in faithfulness]
