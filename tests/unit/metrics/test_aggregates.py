"""Aggregates equal the hand computation, and refuse what they cannot compute."""

import copy
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sgi
from sgi.kernel.errors import JudgeUnavailableError
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.registry import metric
from sgi.kernel.sample import Sample
from sgi.metrics.aggregate_base import MAX_DEPTH, MAX_PARTS
from sgi.metrics.aggregates import Minimum, WeightedMean
from sgi.testing import HashEmbedder, check_metric
from sgi.testing.judging import typical_judge
from support.judged_metrics import RuleJudge
from support.scripted import ROW, ask_metric, score_metric

OFFLINE = ("squad_em", "squad_token_f1", "rouge_l", "uncited_share", "content_f1")
ROWS = [
    Sample(id="1", contexts=["The tower is red [sic]."], response="It is red [1].", reference="It is red."),
    Sample(id="2", contexts=["It was 1950."], response="In 1950. By Ida.", reference="1950"),
    Sample(id="3", contexts=["It was 1950."], response="In 1950 [1].", reference="Ida"),
    Sample(id="4", contexts=["It was 1950."], response="In 1950 [1]."),
    Sample(id="5", question="Who?"),
]
PERCENT = Sample(id="1", question="Who?", contexts=["It was Ida."], response="Ida.", reference="It was Ida.")


def evaluated(*metrics, rows=ROWS, **settings):
    return sgi.evaluate(rows, list(metrics), cache=False, max_failures=1.0, **settings)


def by_hand(values, weights):
    """Return the weighted mean over the values that are not NaN."""
    used = [(value, weight) for value, weight in zip(values, weights, strict=True) if not math.isnan(value)]
    total = sum(weight for _, weight in used)
    return sum(value * weight for value, weight in used) / total if total else math.nan


@given(
    parts=st.lists(st.sampled_from(OFFLINE), min_size=1, max_size=len(OFFLINE), unique=True),
    data=st.data(),
)
def test_an_aggregate_equals_the_computation_by_hand(parts, data):
    weights = data.draw(
        st.lists(st.floats(0, 9), min_size=len(parts), max_size=len(parts)).filter(lambda w: sum(w) > 1e-3)
    )
    mean, least = WeightedMean(tuple(parts), weights=tuple(weights)), Minimum(tuple(parts))
    result = evaluated(mean, least, *parts)
    for row in range(len(ROWS)):
        own = [result[name].values[row] for name in parts]
        values = [1 - v if name == "uncited_share" else v for name, v in zip(parts, own, strict=True)]
        ok = [value for value in values if not math.isnan(value)]
        expected = by_hand(values, weights)
        value = result[mean.canonical].values[row]
        assert value == pytest.approx(expected, abs=1e-12, nan_ok=True)
        assert result[least.canonical].values[row] == pytest.approx(min(ok, default=math.nan), nan_ok=True)
        assert math.isnan(value) or min(ok) - 1e-12 <= value <= max(ok) + 1e-12


def test_the_parts_on_both_scales_are_in_the_details():
    result = evaluated('weighted_mean(of=["uncited_share", "rouge_l"])')
    (scores,) = result.values()
    first, _, _, fourth, fifth = scores.details
    assert first["parts"]["uncited_share"] == 1.0 - first["own_values"]["uncited_share"] == 1.0
    assert "rouge_l" not in first["own_values"]
    assert fourth["parts"]["rouge_l"] is None
    assert fourth["reasons"] == {"rouge_l": "the sample has no reference"}
    assert fifth == {}
    assert scores.status[4] == "missing"
    assert "uncited_share: the sample has no" in scores.reasons[4]


def test_a_percentage_counts_as_a_share():
    result = evaluated(
        'minimum(of=["semantic_similarity_percentage"])', "semantic_similarity", rows=[PERCENT]
    )
    least, plain = result.values()
    assert least.values == pytest.approx(plain.values, abs=1e-4)  # percentages are rounded
    assert least.details[0]["own_values"]["semantic_similarity_percentage"] == pytest.approx(
        100 * plain.values[0], abs=0.01
    )


def test_ragas_score_is_the_weighted_mean_of_its_parts():
    parts = [
        "ragas_faithfulness",
        "ragas_context_precision",
        "ragas_context_recall",
        "ragas_answer_relevance",
    ]
    mean = WeightedMean(tuple(parts), weights=(0.3, 0.2, 0.2, 0.3))
    rows = [ROW.model_copy(update={"id": "0"}), *ROWS]
    judge = RuleJudge()
    result = evaluated(mean, "ragas_score", rows=rows, judge=judge)
    ragas = result["ragas_score"]
    assert 100 * result[mean.canonical].values == pytest.approx(ragas.values, nan_ok=True)
    assert result[mean.canonical].status.tolist() == ragas.status.tolist()


@pytest.mark.parametrize(
    "text",
    [
        'weighted_mean(of=["faithfulness", "rouge_l"], weights=[2, 1])',
        'minimum(of=["answer_relevance", "grounding", "sgi_bounded"])',
        'minimum(of=["bertscore", "grounding(nli=\\"hash\\")", "semantic_similarity"])',
        'weighted_mean(of=["semantic_similarity(models=[\\"other\\"])", "grounding"])',
        'minimum(of=["faithfulness", "faithfulness(empty=full)", "weighted_mean(of=[\\"rouge_l\\"])"])',
    ],
)
def test_an_aggregate_keeps_the_promises_of_a_metric(text):
    check_metric(metric(text))


def test_each_embedder_gets_only_the_texts_of_its_parts():
    models = [HashEmbedder(name="one"), HashEmbedder(name="two")]
    both = 'semantic_similarity(models=["two"])'
    aggregate = metric(Minimum((both, "sgi_bounded")).canonical)
    row = PERCENT.model_copy(update={"question": "Only in the question?"})
    needed = aggregate.texts_by_embedder(aggregate.prepare(sgi.types.Batch.of([row])), ("one", "two"))
    assert "Only in the question?" in needed["one"]
    assert set(needed["two"]) == {row.response, row.reference}
    result = evaluated(aggregate, both, "sgi_bounded", rows=[row], embedder=models)
    values = [scores.values[0] for scores in result.values()]
    assert values[0] == pytest.approx(min(values[1], (values[2] + 1) / 2))


def test_judged_parts_and_other_parts_are_combined():
    aggregate = metric('weighted_mean(of=["faithfulness", "rouge_l"], weights=[3, 1])')
    assert isinstance(aggregate, JudgedMetric)
    assert isinstance(aggregate, WeightedMean)
    judgement, inquiries = ask_metric(aggregate, ROW, typical_judge().reply)
    assert {inquiry.prompt.name for inquiry in inquiries} <= {p.name for p in aggregate.prompts}
    faithful = score_metric(metric("faithfulness"), ROW, judgement.parts["faithfulness"]).values[0]
    similar = evaluated("rouge_l", rows=[ROW])["rouge_l"].values[0]
    assert score_metric(aggregate, ROW, judgement).values[0] == pytest.approx((3 * faithful + similar) / 4)


def unavailable(_inquiry, _schema):
    raise JudgeUnavailableError("The judge is away.")


def test_a_failed_part_fails_the_row_unless_it_is_left_out():
    text = 'weighted_mean(of=["faithfulness", "rouge_l"])'
    judgement, _ = ask_metric(metric(text), ROW, unavailable)
    scores = score_metric(metric(text), ROW, judgement)
    assert (scores.status[0], scores.reasons[0]) == ("failed", "faithfulness: The judge is away.")
    lenient = score_metric(metric(f"{text[:-1]}, failed=leave_out)"), ROW, judgement)
    assert lenient.values[0] == evaluated("rouge_l", rows=[ROW])["rouge_l"].values[0]
    assert lenient.details[0]["reasons"] == {"faithfulness": "The judge is away."}


def test_a_judgement_that_is_not_stored_fails_the_row():
    other, _ = ask_metric(metric('minimum(of=["faithfulness"])'), ROW, typical_judge().reply)
    scores = score_metric(metric('minimum(of=["context_recall", "rouge_l"])'), ROW, other)
    assert scores.reasons[0] == "context_recall: no judgement of this part was stored"


def test_a_new_version_of_a_part_is_a_new_version_of_the_aggregate():
    versions = [metric(name).spec.version for name in ("ragas_score", "grounding")]
    assert metric('minimum(of=["ragas_score", "grounding"])').spec.version == sum(versions) - 1
    assert Minimum.spec.version == 1


def test_copies_are_equal():
    aggregate = metric('weighted_mean(of=["faithfulness", "rouge_l"])')
    assert copy.copy(aggregate) == aggregate == metric(aggregate.canonical)
    assert hash(copy.copy(aggregate)) == hash(aggregate)


def test_the_number_and_depth_of_aggregates_is_limited():
    with pytest.raises(ValueError, match="50"):
        Minimum(tuple(f"recall@{k}" for k in range(1, MAX_PARTS + 2)))
    nested = Minimum(("rouge_l",))
    for _ in range(MAX_DEPTH - 1):
        nested = Minimum((nested,))
    with pytest.raises(ValueError, match="more than 5 levels deep"):
        Minimum((nested,))


def test_an_embedder_that_fails_fails_only_its_part():
    class Broken(HashEmbedder):
        def embed(self, texts):
            raise sgi.errors.EmbedderError("It broke.")

    part = 'semantic_similarity(models=["two"])'
    aggregate = metric(WeightedMean((part, "sgi_bounded"), failed="leave_out").canonical)
    models = [HashEmbedder(name="one"), Broken(name="two")]
    result = evaluated(aggregate, "sgi_bounded", rows=[PERCENT], embedder=models)
    scores, bounded = result.values()
    assert scores.values[0] == pytest.approx((bounded.values[0] + 1) / 2)
    assert "It broke." in scores.details[0]["reasons"]["semantic_similarity"]


def test_equal_questions_are_asked_once():
    judge = RuleJudge()
    names = ["faithfulness", 'minimum(of=["faithfulness"])']
    result = evaluated(*names, rows=[ROW], judge=judge)
    assert np.array_equal(result[names[0]].values, result[names[1]].values)
