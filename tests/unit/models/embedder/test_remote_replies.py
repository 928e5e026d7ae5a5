"""Malformed replies of a service of embeddings."""

import base64

import numpy as np
import pytest

from sgi.kernel.errors import DimensionError, EmbedderError, NonFiniteVectorError
from support.embedding_server import DIMENSION, EmbeddingServer, Fault, remote

pytestmark = pytest.mark.usefixtures("no_remote_settings")


def changed(at, **values):
    def change(payload):
        payload["data"][at] |= values
        return payload

    return change


def packed(*numbers):
    return base64.b64encode(np.array(numbers, dtype="<f4").tobytes()).decode()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda p: p | {"data": p["data"][:1]}, "1 vectors for 2 texts"),
        (lambda _: {}, "without a list"),
        (lambda p: p | {"data": None}, "without a list"),
        (changed(0, index=1), "indices"),
        (changed(0, index=None), "indices"),
        (changed(0, index=False), "indices"),
        (changed(1, embedding=packed(1, 2)), f"different dimensions: {DIMENSION} and 2"),
        (changed(0, embedding="%%%"), "not base64"),
        (changed(0, embedding=["0.1"] * DIMENSION), "values that are not numbers"),
    ],
)
def test_malformed_answers_become_errors_not_vectors(change, words):
    with EmbeddingServer([Fault(change=change)]) as server, pytest.raises(EmbedderError, match=words):
        remote(server).embed(["a", "b"])


@pytest.mark.parametrize("value", [0.0, np.nan, np.inf])
def test_vectors_without_a_direction_become_errors(value):
    fault = Fault(change=changed(1, embedding=packed(*[value] * DIMENSION)))
    with EmbeddingServer([fault]) as server, pytest.raises(NonFiniteVectorError, match="'b'"):
        remote(server).embed(["a", "b"])


def test_a_service_that_changes_its_model_in_between_is_found_out():
    change = changed(0, embedding=packed(1, 2))
    with EmbeddingServer([Fault(), Fault(change=change)]) as server:
        embedder = remote(server)
        embedder.embed(["a"])
        with pytest.raises(DimensionError, match=f" 2 dimensions.* {DIMENSION}") as caught:
            embedder.embed(["b"])
    assert isinstance(caught.value, ValueError)
