import numpy as np
import pytest

import sgi
from sgi.kernel.registry import metric
from sgi.kernel.sample import Batch, Sample
from sgi.kernel.vectors import Features
from sgi.metrics.lexical import RougeL, RougeLRecall
from sgi.metrics.references import best_reference, not_blank, pairs_of
from sgi.text.token_columns import TokenColumn
from sgi.text.tokenizers import rouge_words

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


def rows(*pairs: tuple[str, list[str]]) -> Batch:
    return Batch.of([Sample(id=str(i), response=r, reference=g) for i, (r, g) in enumerate(pairs)])


def test_the_best_comparison_of_each_row_is_kept() -> None:
    batch = rows(("a b", ["a", "a b c", ""]), ("a", ["a b c d"]))
    numbers, comparable = np.array([0.5, 2 / 3, 0.9, 0.25]), np.array([True, True, False, True])
    assert best_reference(batch, numbers, comparable=comparable).values.tolist() == [2 / 3, 0.25]


def test_a_blank_reference_and_an_empty_one_have_their_own_reasons() -> None:
    batch = rows(("a", [" ", ""]), ("a", ["?", " "]), ("", ["?"]), ("a", ["a", ""]))
    comparable = np.array([False] * 5 + [True, False])
    scores = best_reference(batch, comparable.astype(float), comparable=comparable, empty="nothing left")
    assert scores.reasons == ("the reference is blank", "nothing left", "nothing left", "")
    assert not_blank(batch).tolist() == [False, False, True, False, True, True, False]


def test_the_pairs_are_every_reference_beside_its_response() -> None:
    pairs = pairs_of(rows(("a b", ["b", "a b"]), ("c", ["c d"])), rouge_words)
    assert pairs.in_order.precision.tolist() == [0.5, 1.0, 1.0]
    assert pairs.in_bags.recall.tolist() == [1.0, 1.0, 0.5]
    assert pairs.have_tokens.tolist() == [True, True, True]


def test_metrics_of_one_batch_share_its_tokens(monkeypatch) -> None:
    tokenized = []
    tokenize = TokenColumn.of
    monkeypatch.setattr(
        TokenColumn, "of", lambda texts, words: tokenized.append(texts) or tokenize(texts, words)
    )
    batch = rows(("a b", ["b"]))
    for made in (RougeL(), RougeLRecall()):
        made.score(batch, Features())
    assert tokenized == [("a b", "b")]
