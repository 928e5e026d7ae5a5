import pytest

import sgi
from sgi.kernel.features import Features
from sgi.kernel.registry import metric
from sgi.kernel.sample import Batch, Sample

PAIR = {"response": "The capital of France is Paris.", "reference": "Paris is the capital of France."}


def test_it_is_the_weighted_mean_of_its_two_parts():
    result = sgi.evaluate(
        [PAIR],
        [
            "semantic_similarity",
            "lexical_aggregate",
            "reference_aggregate",
            "reference_aggregate(weight=0.5)",
        ],
    )
    meaning, wording = (result[name].values[0] for name in ("semantic_similarity", "lexical_aggregate"))
    assert wording == pytest.approx(0.5539, abs=1e-4)
    assert result["reference_aggregate"].values[0] == pytest.approx(0.9 * meaning + 0.1 * wording)
    assert result["reference_aggregate(weight=0.5)"].values[0] == pytest.approx((meaning + wording) / 2)
    assert result["reference_aggregate"].details[0]["parts"] == pytest.approx(
        {"semantic_similarity": meaning, "lexical_aggregate": wording}
    )


def score(chosen, rows, features):
    return chosen.score(chosen.prepare(rows), features)


def test_a_part_without_a_value_is_left_out_and_a_failed_one_fails_the_row():
    rows = Batch.of([Sample(id="1", response="a", reference=" ")])
    blank = score(metric("reference_aggregate"), rows, Features())
    assert blank.values.tolist() == [0.0]
    assert blank.details[0]["parts"]["lexical_aggregate"] is None
    pair = Batch.of([Sample(id="1", response="a", reference="b")])
    failed = score(metric("reference_aggregate"), pair, Features(failures={"demo": "it is away"}))
    assert failed.status.tolist() == ["failed"]
    only_words = score(metric("reference_aggregate(weight=0)"), pair, Features(failures={"demo": "away"}))
    assert only_words.ok.tolist() == [True]


def test_it_uses_the_models_of_semantic_similarity():
    assert metric("reference_aggregate").embedder_names(("a", "b")) == ("a", "b")
    batch = Batch.of([Sample(id="1", **PAIR)])
    chosen = metric("reference_aggregate")
    assert list(chosen.texts(chosen.prepare(batch))) == [PAIR["response"], PAIR["reference"]]
