import numpy as np
import pytest

from sgi.kernel.protocols import Embedder, embedder_name
from sgi.testing import HashEmbedder, HashEntailment, check_entailment_model


def test_golden_rows_never_change():
    """Numbers in tests of users hang on these."""
    rows = HashEmbedder(dimension=3).embed(["", "Paris", "東京"])
    expected = [
        [0.6901290, -0.7228519, 0.0347433],
        [0.7260879, -0.5670667, -0.3888852],
        [0.5864727, 0.5799431, 0.5654342],
    ]
    np.testing.assert_allclose(rows, expected, atol=1e-7)


def test_it_is_an_embedder_with_a_name():
    embedder = HashEmbedder(dimension=5, name="mine")
    assert isinstance(embedder, Embedder)
    assert embedder_name(embedder) == "mine"
    assert embedder.fingerprint == "mine@1,5d,unlimited,fp32"


@pytest.mark.parametrize("dimension", [1, 2, 16, 17, 64, 1000])
def test_rows_are_unit_float32_of_the_dimension(dimension):
    rows = HashEmbedder(dimension).embed(["a", "b", "", "\ud800", "x" * 100_000])
    assert rows.dtype == np.float32
    assert rows.shape == (5, dimension)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-6)


def test_texts_are_strangers_to_one_another():
    rows = HashEmbedder(dimension=256).embed([f"text {n}" for n in range(300)])
    others = (rows @ rows.T)[~np.eye(300, dtype=bool)]
    assert abs(others.mean()) < 0.002
    assert others.std() == pytest.approx(1 / 16, rel=0.05)
    assert np.abs(others).max() < 0.4


def test_it_counts_its_work():
    embedder = HashEmbedder()
    assert (embedder.calls, embedder.texts_seen) == (0, [])
    embedder.embed(["a", "b"])
    embedder.embed([])
    embedder.embed(("a",))
    assert (embedder.calls, embedder.texts_seen) == (3, ["a", "b", "a"])


def test_a_dimension_below_one_is_refused():
    with pytest.raises(ValueError, match="at least 1"):
        HashEmbedder(dimension=0)


def test_the_entailment_model_keeps_every_promise_and_counts_its_work():
    check_entailment_model(HashEntailment())
    model = HashEntailment()
    result = model.entail([("a", "b"), ("a", "b"), ("\ud800", "")])
    assert model.pairs_seen == [("a", "b"), ("a", "b"), ("\ud800", "")]
    assert model.fingerprint == "entailment:hash@1,unlimited,fp64"
    assert (result.entailment + result.contradiction < 1).all()


def test_golden_probabilities_never_change():
    """Numbers in tests of users hang on these."""
    result = HashEntailment().entail([("Paris is big.", "Paris."), ("", "")])
    np.testing.assert_allclose(result.entailment, [0.5948135, 0.0298662], atol=1e-7)
    np.testing.assert_allclose(result.contradiction, [0.1273111, 0.05478], atol=1e-7)


def test_pairs_are_strangers_to_one_another():
    result = HashEntailment().entail([(f"premise {n}", "it") for n in range(500)])
    assert result.entailment.mean() == pytest.approx(0.5, abs=0.05)
    assert len(set(result.entailment.tolist())) == 500
