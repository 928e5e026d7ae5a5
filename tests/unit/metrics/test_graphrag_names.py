import numpy as np
import pytest

from sgi.kernel.judged_metric import JudgedRows
from sgi.kernel.registry import metric
from sgi.kernel.sample import Batch, Sample
from sgi.kernel.vectors import Features, VectorTable
from sgi.metrics.graphrag_names import SemanticSimilarityPercentage
from sgi.metrics.judged.answer_relevance import AnsweredQuestions
from sgi.metrics.judged.factual_accuracy import CRITERIA
from sgi.testing import HashEmbedder
from sgi.testing.judging import typical_judge
from support.scripted import ROW, ask_metric, score_metric

PERCENT = {
    "ragas_faithfulness": "faithfulness",
    "ragas_context_precision": "context_precision",
    "ragas_context_recall": "context_recall",
    "factual_accuracy_percentage": "factual_accuracy",
}
COUNTS = {f"{name}_count": name for name in ("correct_answers", "wrong_answers", "dont_know_answers")}


@pytest.mark.parametrize(("name", "plain"), PERCENT.items())
def test_an_ordinary_row_is_the_plain_score_times_a_hundred(name, plain):
    evidence, _ = ask_metric(metric(name), ROW, typical_judge().reply)
    mine, other = score_metric(metric(name), ROW, evidence), score_metric(metric(plain), ROW, evidence)
    assert mine.values[0] == pytest.approx(100 * other.values[0])
    assert other.values[0] > 0
    for percent, share in zip(mine.details, other.details, strict=True):
        criteria = {key: 100 * value for key, value in share.items() if key in CRITERIA}
        assert percent == share | {key: pytest.approx(value) for key, value in criteria.items()}


@pytest.mark.parametrize(
    "name", [*PERCENT, *COUNTS, "ragas_answer_relevance", "semantic_similarity_percentage"]
)
def test_unit_range_needs_and_version(name):
    plain = metric((PERCENT | COUNTS).get(name, name.removeprefix("ragas_").removesuffix("_percentage"))).spec
    spec = metric(name).spec
    assert (spec.unit, spec.high) == (("count", 1.0) if name in COUNTS else ("%", 100.0))
    assert (spec.needs, spec.category, spec.low) == (plain.needs, plain.category, 0.0)
    assert spec.citation.startswith("GraphRAG evaluation metrics, section ")


@pytest.mark.parametrize("name", [*PERCENT, *COUNTS, "ragas_answer_relevance"])
def test_they_ask_what_the_plain_ones_ask(name):
    plain = metric((PERCENT | COUNTS | {"ragas_answer_relevance": "answer_relevance"})[name])
    for sample in (ROW, ROW.model_copy(update={"contexts": ()})):
        _, mine = ask_metric(metric(name), sample, typical_judge().reply)
        _, other = ask_metric(plain, sample, typical_judge().reply)
        assert [(one.prompt.digest, one.text) for one in mine] == [
            (one.prompt.digest, one.text) for one in other
        ]


@pytest.mark.parametrize(
    ("name", "changes", "value"),
    [
        ("ragas_faithfulness", {"response": ""}, 100.0),
        ("ragas_context_precision", {"contexts": ()}, 0.0),
        ("ragas_context_recall", {"reference": ""}, 100.0),
        ("ragas_answer_relevance", {"response": ""}, 0.0),
        ("dont_know_answers_count", {"response": "The Unknown Soldier."}, 1.0),
        ("correct_answers_count", {"response": "I don't know"}, 0.0),
    ],
)
def test_the_documents_conventions(name, changes, value):
    sample = ROW.model_copy(update=changes)
    evidence, _ = ask_metric(metric(name), sample, typical_judge().reply)
    assert score_metric(metric(name), sample, evidence).values.tolist() == [value]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("ragas_answer_relevance", 35.22), ('ragas_answer_relevance(scale="affine")', 67.61)],
)
def test_answer_relevance_is_the_mean_cosine_that_the_document_prints(name, expected):
    batch = Batch.of([ROW])
    cosines = np.array([0.5, 0.3066, 0.25])
    rows = np.column_stack([cosines, np.sqrt(1 - cosines**2)])
    texts = [ROW.question, "A?", "B?", "C?"]
    features = Features.of(VectorTable.of("demo", texts, np.vstack([[1.0, 0.0], rows])))
    judged = JudgedRows(batch, [AnsweredQuestions(questions=("A?", "B?", "C?"))])
    chosen = metric(name)
    assert chosen.score(chosen.prepare(judged), features).values.round(2).tolist() == [expected]


def test_an_evading_response_is_scored_by_its_questions():
    reply = {"questions": [ROW.question] * 3, "reason": "It evades.", "noncommittal": True}
    evidence, _ = ask_metric(metric("ragas_answer_relevance"), ROW, {"answer_relevance.questions": reply})
    assert score_metric(metric("ragas_answer_relevance"), ROW, evidence).values.tolist() == [100.0]
    assert score_metric(metric("answer_relevance"), ROW, evidence).values.tolist() == [0.0]


def percentage(sample, rows=None):
    similarity = SemanticSimilarityPercentage()
    prepared = similarity.prepare(Batch.of([sample]))
    texts = list(dict.fromkeys(similarity.texts(prepared)))
    vectors = HashEmbedder().embed(texts) if rows is None else np.array(rows, dtype=np.float32)
    return similarity.score(prepared, Features.of(VectorTable.of("demo", texts, vectors)))


def test_semantic_similarity_is_rounded_to_two_digits_and_never_negative():
    pair = Sample(id="1", response="a", reference="b")
    assert percentage(pair, [[1.0, 0.0], [0.123456, np.sqrt(1 - 0.123456**2)]]).values.tolist() == [12.35]
    assert percentage(pair, [[1.0, 0.0], [-1.0, 0.0]]).values.tolist() == [0.0]
    assert percentage(Sample(id="1", response="a", reference="a")).values.tolist() == [100.0]


@pytest.mark.parametrize("texts", [("", "a"), ("a", " "), ("", "")])
def test_blank_texts_are_zero(texts):
    response, reference = texts
    assert percentage(Sample(id="1", response=response, reference=reference)).values.tolist() == [0.0]
