import numpy as np
import pytest

from sgi.kernel.judged_metric import JudgedRows
from sgi.kernel.registry import metric
from sgi.kernel.sample import Batch
from sgi.kernel.vectors import Features, VectorTable
from sgi.metrics.judged.answer_relevance import AnsweredQuestions, AnswerRelevance
from sgi.metrics.judged.claims import Claim, Claims
from sgi.metrics.judged.faithfulness import Faithfulness
from support.scripted import ROW, ask_metric, claims, outcome, score_metric, supports

TWO = {"claims.extract": claims("The Anke was launched in 1950.", "The Anke was built in Omsund.")}


def test_the_supported_share_of_claims_by_two_calls():
    evidence, inquiries = ask_metric(Faithfulness(), ROW, TWO | {"claims.verify": supports(1, 0)})
    assert [inquiry.prompt.name for inquiry in inquiries] == ["claims.extract", "claims.verify"]
    assert evidence.claims == (
        Claim(claim="The Anke was launched in 1950.", reason="So it reads.", supported=1, passage=1),
        Claim(claim="The Anke was built in Omsund.", reason="So it reads.", supported=0),
    )
    scores = score_metric(Faithfulness(), ROW, evidence)
    assert scores.values.tolist() == [0.5]
    assert scores.details == ({"claims": 2, "supported": 1},)


def test_the_judge_sees_the_question_the_passages_and_the_claims_and_nothing_else():
    _, (extract, verify) = ask_metric(Faithfulness(), ROW, TWO | {"claims.verify": supports(1, 0)})
    assert ROW.question in extract.text
    assert ROW.response in extract.text
    assert ROW.contexts[0] not in extract.text
    assert all(text in verify.text for text in (*ROW.contexts, *TWO["claims.extract"]["claims"]))
    assert ROW.response not in verify.text
    assert ROW.reference not in extract.text + verify.text


@pytest.mark.parametrize(
    ("changes", "script", "expected", "full", "calls"),
    [
        ({"response": " \n"}, {}, 0.0, 1.0, 0),
        ({}, {"claims.extract": claims()}, "the response claims nothing", 1.0, 1),
        ({"contexts": ()}, TWO, 0.0, 0.0, 1),
        ({"contexts": ("", " ")}, TWO, 0.0, 0.0, 1),
        ({"contexts": (), "response": ""}, {}, 0.0, 1.0, 0),
    ],
)
def test_rows_without_claims_or_passages(changes, script, expected, full, calls):
    sample = ROW.model_copy(update=changes)
    evidence, inquiries = ask_metric(Faithfulness(), sample, script)
    assert len(inquiries) == calls
    plain = score_metric(Faithfulness(), sample, evidence)
    assert (plain.reasons[0] or plain.values[0]) == expected
    assert plain.status[0] == ("undefined" if isinstance(expected, str) else "ok")
    assert score_metric(Faithfulness(empty="full"), sample, evidence).values.tolist() == [full]


def test_claims_that_repeat_count_once_and_white_space_is_squeezed():
    script = {"claims.extract": claims("A  is\n1.", "A is 1.", "B is 2."), "claims.verify": supports(0, 1)}
    evidence, _ = ask_metric(Faithfulness(), ROW, script)
    assert [claim.claim for claim in evidence.claims] == ["A is 1.", "B is 2."]


def test_later_portions_are_asked_only_about_what_none_before_supports():
    sample = ROW.model_copy(update={"contexts": ("first " * 8, "", "second " * 8, "third " * 8)})
    seen = []

    def script(inquiry, schema):
        if inquiry.prompt.name == "claims.extract":
            return claims("A.", "B.", "C.")
        seen.append((inquiry.items, [word for word in ("first", "second", "third") if word in inquiry.text]))
        return supports(*[int(number == 2) for number in range(1, inquiry.items + 1)])

    evidence, _ = ask_metric(Faithfulness(), sample, script, budget=16)
    assert seen == [(3, ["first"]), (2, ["second"]), (1, ["third"])]
    assert [(claim.supported, claim.passage) for claim in evidence.claims] == [(0, None), (1, 1), (1, 3)]
    assert evidence.claims[0].reason == "So it reads. So it reads. So it reads."


def test_nothing_more_is_asked_once_every_claim_is_supported():
    sample = ROW.model_copy(update={"contexts": tuple(f"{n} {'word ' * 10}" for n in range(5))})
    _, inquiries = ask_metric(Faithfulness(), sample, {**TWO, "claims.verify": supports(1, 1)}, budget=16)
    assert len(inquiries) == 2


def test_a_long_response_is_taken_apart_in_pieces():
    sample = ROW.model_copy(update={"response": "The Anke sails. " * 20})
    texts = iter(range(100))

    def script(inquiry, schema):
        if inquiry.prompt.name == "claims.extract":
            return claims(f"Claim {next(texts)}.", "The Anke sails.")
        return supports(*[1] * inquiry.items)

    evidence, inquiries = ask_metric(Faithfulness(), sample, script, budget=20)
    parts = [inquiry for inquiry in inquiries if inquiry.prompt.name == "claims.extract"]
    assert len(parts) == 4
    assert len(evidence.claims) == 5


def test_more_than_fifty_claims_are_asked_about_in_turn():
    def script(inquiry, schema):
        if inquiry.prompt.name == "claims.extract":
            return claims(*[f"Claim {n}." for n in range(100)])
        return supports(*[1] * inquiry.items)

    evidence, inquiries = ask_metric(Faithfulness(), ROW, script)
    assert [inquiry.items for inquiry in inquiries[1:]] == [50, 50]
    assert score_metric(Faithfulness(), ROW, evidence).values.tolist() == [1.0]


@pytest.mark.parametrize("passage", [0, 3, -1, 10**30])
def test_a_claim_cannot_rest_on_a_passage_that_was_not_shown(passage):
    reply = supports(1, 0)
    reply["verdicts"][0]["passage"] = passage
    value, status, reason = outcome(Faithfulness(), ROW, TWO | {"claims.verify": reply})
    assert (value, status) == (None, "failed")
    assert "passage" in reason


def test_the_passage_of_a_claim_that_is_not_supported_does_not_matter():
    reply = supports(1, 0)
    reply["verdicts"][1]["passage"] = 7
    evidence, _ = ask_metric(Faithfulness(), ROW, TWO | {"claims.verify": reply})
    assert evidence.claims[1].passage is None


def test_a_claim_supported_by_several_passages_together_names_none():
    reply = supports(1, 1)
    reply["verdicts"][0]["passage"] = None
    evidence, _ = ask_metric(Faithfulness(), ROW, TWO | {"claims.verify": reply})
    assert [claim.passage for claim in evidence.claims] == [None, 1]


def test_kept_evidence_scores_under_another_convention():
    stored_json = Claims().model_dump_json()
    sample = ROW.model_copy(update={"response": "I cannot tell."})
    values = [
        score_metric(metric(text), sample, Claims.model_validate_json(stored_json)).values[0]
        for text in ("faithfulness(empty=full)", "ragas_faithfulness")
    ]
    assert values == [1.0, 100.0]


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
    assert "3 questions are required" in reason


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
    script = lambda inquiry, _: reply("A?", noncommittal="1950" not in inquiry.text)
    evidence, inquiries = ask_metric(AnswerRelevance(questions=1), sample, script, budget=22)
    assert len(inquiries) == len(evidence.questions) > 1
    assert not evidence.noncommittal
