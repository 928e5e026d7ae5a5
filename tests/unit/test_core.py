from __future__ import annotations

import numpy as np
import pytest

from sgi import evaluate, load_embedder
from sgi.core import sgi
from sgi.kernel.errors import EmbedderError, NonFiniteVectorError, TruncationWarning, UsageError
from sgi.kernel.protocols import Embeddings


class Fixed:
    """Has one vector for each text."""

    fingerprint = "fixed@1"

    def __init__(self, **rows):
        self.given = rows

    def embed(self, texts, /):
        return np.array([self.given[text] for text in texts], dtype=np.float32)


def test_the_ratio_of_two_angles():
    found = sgi("q", "c", "r", Fixed(q=[1, 0], c=[0, 1], r=[1, 1]))
    assert found["theta_rq"] == found["theta_rc"] == pytest.approx(np.pi / 4)
    assert found["sgi"] == pytest.approx(1.0)


@pytest.mark.parametrize("bad", [[0, 0], [np.nan, 1], [np.inf, 1]])
def test_a_vector_without_direction_is_an_error_not_a_number(bad):
    with pytest.raises(NonFiniteVectorError):
        sgi("q", "c", "r", Fixed(q=[1, 0], c=bad, r=[1, 1]))


def test_an_array_of_another_shape_is_refused():
    class Flat(Fixed):
        def embed(self, texts, /):
            return np.ones(3, dtype=np.float32)

    with pytest.raises(EmbedderError, match="one vector of numbers for each text"):
        sgi("q", "c", "r", Flat())


def test_a_model_of_the_caller_encodes_the_texts():
    class Encoder:  # as sentence_transformers.SentenceTransformer
        def encode(self, sentences, batch_size=32):
            return [{"q": [1, 0], "c": [0, 1], "r": [1, 1]}[text] for text in sentences]

    assert sgi("q", "c", "r", embedder=Encoder())["sgi"] == pytest.approx(1.0)


def test_an_object_that_is_not_an_embedder_has_the_message_of_evaluate():
    class Client:
        def embed_texts(self, texts):
            return [[1.0, 0.0] for _ in texts]

    with pytest.raises(UsageError) as ours:
        sgi("q", "c", "r", embedder=Client())
    with pytest.raises(UsageError) as others:
        evaluate([{"question": "q", "contexts": ["c"], "response": "r"}], ["sgi"], Client())
    assert str(ours.value) == str(others.value)


@pytest.mark.parametrize("texts", [("", "c", "r"), ("q", " \n", "r"), ("q", "c", "")])
def test_a_blank_text_has_no_number(texts):
    with pytest.raises(UsageError, match="is blank"):
        sgi(*texts, Fixed(q=[1, 0], c=[0, 1], r=[1, 1]))


LONG = "Emma is a novel. " * 200


def test_a_text_that_the_model_reads_in_part_is_a_warning_with_the_counts():
    with pytest.warns(
        TruncationWarning, match="^the context has 1,002 tokens; the model reads 256$"
    ) as caught:
        sgi("Who wrote Emma?", LONG, "Jane Austen.", load_embedder(long_texts="truncate"))
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert issubclass(TruncationWarning, UserWarning)


@pytest.mark.filterwarnings("error")
def test_the_bundled_model_reads_a_long_text_to_its_end():
    without, with_answer = (
        sgi("Who wrote Emma?", LONG + end, "Jane Austen.") for end in ("", "Jane Austen wrote it. " * 40)
    )
    assert with_answer["theta_rc"] < without["theta_rc"]


def test_a_model_that_counts_no_tokens_still_warns():
    class Cutting(Fixed):
        def encode(self, texts, /):
            return Embeddings(self.embed(texts), np.array([len(text) > 3 for text in texts]))

    with pytest.warns(TruncationWarning, match="the response is longer than the model reads"):
        sgi("q", "c", "long", Cutting(q=[1, 0], c=[0, 1], long=[1, 1]))


def test_of_several_contexts_the_nearest_to_the_response_counts():
    fixed = Fixed(q=[1, 0], far=[-1, 0], near=[1, 2], r=[1, 3])
    found = sgi("q", ["far", "near"], "r", fixed)
    assert found == sgi("q", "near", "r", fixed) | {"context": 1}
    assert sgi("q", ["near"], "r", fixed)["context"] == 0


def test_without_a_context_there_is_no_number():
    with pytest.raises(UsageError, match="A context is required"):
        sgi("q", [], "r", Fixed(q=[1, 0], r=[1, 1]))
