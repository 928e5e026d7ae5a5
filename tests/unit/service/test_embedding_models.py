import asyncio
import pickle

import anyio.to_thread
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.engine.model_wrappers import EmbedderWrapper
from sgi.kernel.errors import EmbedderError, UsageError
from sgi.kernel.protocols import Embeddings
from sgi.service.embedding_models import OwnModel, UnusableVectorsError, unit_rows_of
from sgi.testing import HashEmbedder


class Cutting(HashEmbedder):
    def encode(self, texts):
        return Embeddings(self.embed(texts), np.array([len(text) > 3 for text in texts]))


class Later:
    """A client whose method is no coroutine function, but returns something to be awaited."""

    def embed_texts(self, texts):
        return self.later(texts)

    async def later(self, texts):
        await asyncio.sleep(0)
        return np.eye(len(texts))


def encoded(model, *texts):
    return asyncio.run(anyio.to_thread.run_sync(OwnModel(model).encode, texts))


def test_an_embedder_keeps_its_name_its_rows_and_what_it_cut():
    model = Cutting()
    made = encoded(model, "abc", "abcd")
    assert OwnModel(model).fingerprint == model.fingerprint
    assert np.allclose(made.rows, model.embed(["abc", "abcd"]), atol=1e-7)
    assert made.truncated.tolist() == [False, True]


def test_whatever_can_be_awaited_is_awaited_on_the_callers_loop():
    assert encoded(Later(), "a", "b").rows.tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_errors_of_ours_pass_as_they_are_and_others_as_causes():
    class Broken(HashEmbedder):
        def embed(self, texts):
            raise {"ours": EmbedderError("The service is away."), "other": OSError("password")}[texts[0]]

    with pytest.raises(EmbedderError):
        encoded(Broken(), "ours")
    with pytest.raises(EmbedderError, match=r"^hash raised OSError\.") as caught:
        encoded(Broken(), "other")
    assert isinstance(caught.value.__cause__, OSError)
    assert "password" not in str(caught.value)


class RejectedKeyError(Exception):
    status_code = 429


class Refusing(HashEmbedder):
    def embed(self, texts):
        raise RejectedKeyError("sk-private")


@pytest.mark.parametrize("kind", [EmbedderWrapper, OwnModel])
def test_the_words_of_a_foreign_error_are_not_repeated(kind):
    with pytest.raises(EmbedderError, match="429") as caught:
        kind(Refusing()).encode(["a"])
    assert "sk-private" not in str(caught.value)
    assert str(caught.value.__cause__) == "sk-private"


def test_a_guarded_embedder_gives_what_it_gives():
    model = Cutting()
    guarded = EmbedderWrapper(model)
    assert guarded.fingerprint == model.fingerprint
    assert guarded.encode(["abc", "abcd"]).truncated.tolist() == [False, True]
    assert guarded.embed(["abc"]).tobytes() == model.embed(["abc"]).tobytes()


def test_what_is_no_model_is_told():
    with pytest.raises(UsageError):
        OwnModel(0.5)


def test_the_error_crosses_between_processes():
    error = UnusableVectorsError("Nothing usable.", hint="Mend it.")
    copied = pickle.loads(pickle.dumps(error))
    assert (type(copied), str(copied)) == (UnusableVectorsError, "Nothing usable. Mend it.")


NUMBERS = st.floats(width=64) | st.integers() | st.booleans() | st.text(max_size=2) | st.none()


@given(st.lists(st.lists(NUMBERS, max_size=3), max_size=3) | st.recursive(NUMBERS, st.lists, max_leaves=6))
def test_anything_is_unit_rows_or_an_error(vectors):
    try:
        rows = unit_rows_of("demo", vectors, 2)
    except UnusableVectorsError:
        return
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows.astype(np.float64), axis=1) == pytest.approx([1, 1], abs=1e-6)
