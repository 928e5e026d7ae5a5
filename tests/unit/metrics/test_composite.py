import anyio
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.kernel.errors import BudgetExceededError, JudgeUnavailableError
from sgi.kernel.judged_metric import JudgedRows
from sgi.kernel.metric import Scores, Status
from sgi.kernel.registry import metric
from sgi.kernel.sample import Batch, Sample
from sgi.kernel.vectors import Features, VectorTable
from sgi.metrics.composite import RagasParts, RagasScore
from sgi.metrics.judged.answer_relevance import AnsweredQuestions
from sgi.metrics.judged.claims import Claim, Claims
from sgi.metrics.judged.context_precision import PassageRelevance, Relevances
from sgi.metrics.parts import weighted_mean_of_parts
from sgi.testing import ScriptedJudge
from sgi.testing.judging import typical_judge
from support.scripted import ROW, ask_metric, claims, score_metric

WEIGHTS = (0.3, 0.2, 0.2, 0.3)
PARTS = ("faithfulness", "context_precision", "context_recall", "answer_relevance")


OTHERS = ("context_precision.relevance", "answer_relevance.questions")


def claimed(*supported):
    return Claims(claims=[Claim(claim=f"{n}.", reason="r", supported=one) for n, one in enumerate(supported)])


def retrieved(relevant):
    return Relevances(passages=[PassageRelevance(reason="r", relevance=1, relevant=one) for one in relevant])


def of_cosine(parts, cosine, **settings):
    """The composite where the only question found lies at this cosine from the one asked."""
    batch = Batch.of([ROW])
    rows = np.array([[1.0, 0.0], [cosine, np.sqrt(1 - cosine**2)]])
    vectors = VectorTable.of("demo", [ROW.question, "Q?"], rows.astype(np.float32))
    composite = RagasScore(**settings)
    prepared = composite.prepare(JudgedRows(batch, [parts]))
    assert list(composite.texts(prepared)) == [ROW.question, "Q?"]
    return composite.score(prepared, Features.of(vectors))


@pytest.mark.parametrize("conventions", ["document", "safe"])
def test_the_values_that_document_002_prints(conventions):
    answered = AnsweredQuestions(questions=("Q?",))
    local = RagasParts(faithfulness=claimed(1), context_recall=claimed(1, 1), answer_relevance=answered)
    basic = RagasParts(
        faithfulness=claimed(0),
        context_precision=retrieved([False, False]),
        context_recall=claimed(0),
        answer_relevance=answered,
    )
    alone = RagasParts(answer_relevance=answered)
    values = [of_cosine(parts, 0.8327, conventions=conventions).values[0] for parts in (local, basic, alone)]
    assert [round(value, 2) for value in values] == [93.73, 24.98, 83.27]


def test_the_parts_are_on_the_scale_of_the_composite():
    spec = RagasScore.spec
    assert (spec.low, spec.high, spec.unit) == (0.0, 100.0, "%")
    parts = RagasParts(faithfulness=claimed(1, 0), answer_relevance=AnsweredQuestions(questions=("Q?",)))
    values = of_cosine(parts, 0.8327).details[0]["parts"]
    assert values["faithfulness"] == 50.0
    assert values["answer_relevance"] == pytest.approx(83.27)


@pytest.mark.parametrize("name", ["faithfulness", "context_precision", "context_recall", "answer_relevance"])
def test_by_default_a_part_equals_the_metric_of_its_ragas_name(name):
    weights = tuple(float(part == name) for part in PARTS)
    for sample in (ROW, ROW.model_copy(update={"response": "", "reference": " "})):
        alone, _ = ask_metric(metric(f"ragas_{name}"), sample, typical_judge().reply)
        parts, _ = ask_metric(RagasScore(weights=weights), sample, typical_judge().reply)
        expected = score_metric(metric(f"ragas_{name}"), sample, alone)
        assert score_metric(RagasScore(weights=weights), sample, parts).values == pytest.approx(
            expected.values
        )


def test_the_parts_used_and_why_others_are_not_stand_in_the_details():
    sample = ROW.model_copy(update={"contexts": ()})
    parts = RagasParts(faithfulness=claimed(1, 0), context_precision=retrieved([]), context_recall=claimed(1))
    scores = score_metric(RagasScore(conventions="safe"), sample, parts)
    assert scores.values[0] == pytest.approx(100 * (0.3 * 0.5 + 0.2) / 0.5)
    assert scores.details[0]["parts"] == {
        "faithfulness": 50.0,
        "context_precision": None,
        "context_recall": 100.0,
        "answer_relevance": None,
    }
    assert scores.details[0]["reasons"]["context_precision"] == "the list of passages is empty"


def failing(name):
    """A judge that is typical, but fails for one prompt."""

    def reply(inquiry, schema):
        if inquiry.prompt.name == name:
            raise JudgeUnavailableError("The judge is away.")
        return typical_judge().reply(inquiry, schema)

    return reply


def test_all_parts_are_asked_at_once():
    running, most = 0, 0

    class Slow(ScriptedJudge):
        async def ask(self, inquiry, schema, /):
            nonlocal running, most
            running += 1
            most = max(most, running)
            await anyio.sleep(0.01)
            running -= 1
            return await super().ask(inquiry, schema)

    anyio.run(RagasScore().ask, ROW, Slow(typical_judge().reply))
    assert most == 4


def test_parts_whose_fields_are_absent_are_not_asked():
    sample = Sample(id="1", question="When?", response="In 1950.")
    parts, inquiries = ask_metric(RagasScore(), sample, typical_judge().reply)
    assert [inquiry.prompt.name for inquiry in inquiries] == ["answer_relevance.questions"]
    scores = score_metric(RagasScore(), sample, parts)
    assert scores.ok[0]
    assert scores.details[0]["reasons"]["faithfulness"] == "the sample has no contexts"


@pytest.mark.parametrize(
    "prompt", ["claims.verify", "context_precision.relevance", "answer_relevance.questions"]
)
def test_a_part_whose_judge_failed_fails_the_row(prompt):
    parts, _ = ask_metric(RagasScore(), ROW, failing(prompt))
    scores = score_metric(RagasScore(), ROW, parts)
    assert scores.status[0] == "failed"
    assert "The judge is away." in scores.reasons[0]
    left_out = score_metric(
        RagasScore(failed="leave_out"), ROW, RagasParts.model_validate_json(parts.model_dump_json())
    )
    assert left_out.ok[0]
    assert "The judge is away." in left_out.details[0]["reasons"].values()


def test_the_details_of_a_failed_row_hold_the_reply_that_could_not_be_used():
    parts, _ = ask_metric(
        RagasScore(), ROW, {"claims.extract": "Well, that depends."} | dict.fromkeys(OTHERS, "no")
    )
    reread = RagasParts.model_validate_json(parts.model_dump_json())
    details = score_metric(RagasScore(), ROW, reread).details[0]
    assert details == {"judge_reply": "Well, that depends.", "reply_from_cache": False}
    assert (
        score_metric(RagasScore(failed="leave_out", weights=(0, 0, 0, 1)), ROW, reread).status[0] == "failed"
    )


def test_all_parts_failed_have_no_value_however_one_counts():
    def away(inquiry, schema):
        raise JudgeUnavailableError("The judge is away.")

    parts, _ = ask_metric(RagasScore(), ROW, away)
    assert len(parts.failed) == 4
    for composite in (RagasScore(), RagasScore(failed="leave_out")):
        assert score_metric(composite, ROW, parts).status[0] == "failed"


def test_what_is_no_failure_of_the_judge_stops_all_and_is_raised_as_it_is():
    def spent(inquiry, schema):
        raise BudgetExceededError("All is spent.")

    with pytest.raises(BudgetExceededError):
        ask_metric(RagasScore(), ROW, spent)


def test_a_part_of_weight_nought_neither_counts_nor_fails_the_row():
    parts, _ = ask_metric(RagasScore(), ROW, failing("answer_relevance.questions"))
    scores = score_metric(RagasScore(weights=(1, 1, 1, 0)), ROW, parts)
    assert scores.ok[0]
    assert scores.details[0]["parts"]["answer_relevance"] is None


def test_kept_evidence_scores_under_other_weights():
    parts = RagasParts(
        faithfulness=claimed(1), context_precision=retrieved([True, False]), context_recall=claimed(0)
    )
    assert score_metric(RagasScore(weights=(0, 1, 0, 0)), ROW, parts).values.tolist() == [50.0]
    assert score_metric(metric("ragas_score(weights=[0, 1, 1, 0])"), ROW, parts).values.tolist() == [25.0]


def test_a_row_with_no_part_is_missing_and_one_with_undefined_parts_undefined():
    bare = Sample(id="1", question="When?")
    parts, inquiries = ask_metric(RagasScore(), bare, {})
    assert inquiries == []
    assert score_metric(RagasScore(), bare, parts).status[0] == "missing"
    refusal = Sample(id="1", contexts=["a"], response="Sorry.")
    parts, _ = ask_metric(RagasScore(), refusal, {"claims.extract": claims()})
    scores = score_metric(RagasScore(conventions="safe"), refusal, parts)
    assert scores.status[0] == "undefined"
    assert scores.reasons[0] == "none of its parts has a value: faithfulness: the response claims nothing"


@pytest.mark.parametrize(("conventions", "expected"), [("document", 100.0), ("safe", 0.0)])
def test_only_the_convention_of_the_document_calls_a_blank_response_faithful(conventions, expected):
    blank = Sample(id="1", contexts=["a"], response=" ")
    parts, _ = ask_metric(RagasScore(), blank, {})
    assert score_metric(RagasScore(conventions=conventions), blank, parts).values.tolist() == [expected]


VALUES = st.one_of(st.floats(0, 1), st.sampled_from(["failed", "undefined", "missing"]))


def column(found):
    if isinstance(found, str):
        return Scores.without_value(Status(found), [f"it is {found}"])
    return Scores.of(np.array([found]))


@given(st.lists(st.tuples(VALUES, st.floats(0, 1e6)), min_size=1, max_size=5), st.booleans())
def test_the_mean_lies_between_the_parts_that_count_and_no_failure_ever_raises_it(pairs, lenient):
    weights = [weight for _, weight in pairs]
    if not any(weights):
        return
    parts = {f"part_{n}": column(found) for n, (found, _) in enumerate(pairs)}
    scores = weighted_mean_of_parts(parts, weights, failed="leave_out" if lenient else "fail")
    counted = [found for found, weight in pairs if weight > 0]
    numbers = [found for found in counted if not isinstance(found, str)]
    if "failed" in counted and (not lenient or not numbers):
        assert scores.status[0] == "failed"
    elif numbers:
        assert min(numbers) - 1e-12 <= scores.values[0] <= max(numbers) + 1e-12
        assert 0 <= scores.values[0] <= 1
    else:
        assert scores.status[0] == ("undefined" if "undefined" in counted else "missing")


def test_the_default_weights_are_those_of_the_document():
    assert RagasScore().weights == WEIGHTS
