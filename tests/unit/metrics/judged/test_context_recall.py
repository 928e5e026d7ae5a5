import pytest

from sgi.kernel.sample import Sample
from sgi.metrics.judged.context_recall import ContextRecall
from sgi.metrics.judged.faithfulness import Faithfulness
from support.scripted import ROW, ask_metric, claims, score_metric, supports

SCRIPT = {"claims.extract": claims("It was in 1950.", "It was at Tolvik."), "claims.verify": supports(0, 1)}


def test_the_attributed_share_of_the_references_statements():
    evidence, (extract, verify) = ask_metric(ContextRecall(), ROW, SCRIPT)
    assert score_metric(ContextRecall(), ROW, evidence).values.tolist() == [0.5]
    assert ROW.reference in extract.text
    assert ROW.question in extract.text
    assert ROW.response not in extract.text + verify.text
    assert evidence.claims[1].passage == 1


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
