from __future__ import annotations

import pytest

import sgi
from sgi.engine.given_options import given_options
from sgi.engine.open_resources import open_models
from sgi.kernel.errors import StoreError, UnknownNameError, UsageError
from sgi.kernel.registry import metric
from sgi.models.cached_embedder import CachedEmbedder
from sgi.store.cache import MemoryCache, SqliteCache
from sgi.testing.fakes import HashEmbedder

VECTORS = (metric("theta_rq"),)


def options(embedder=None, *, cache=False):
    return given_options({"cache": cache}, embedder, source="the test")


def test_metrics_without_vectors_open_nothing(tmp_path):
    with open_models(
        (metric("squad_em"),), options("no such model", cache=tmp_path / "vectors.db")
    ) as resources:
        assert (resources.names, resources.fingerprints) == ((), ())
    assert list(tmp_path.iterdir()) == []


def test_the_embedded_model_is_the_default(tmp_path):
    with open_models(VECTORS, options(cache=tmp_path / "vectors.db")) as resources:
        assert resources.names == ("minilm",)
        resources.embedders["minilm"].embed(["one", "two", "one"])
    with SqliteCache(tmp_path / "vectors.db") as cache:
        assert cache.stats().entries == 2


def test_an_embedder_of_ones_own_gets_a_memory_and_a_cached_one_keeps_its_own():
    own, cached = HashEmbedder(), CachedEmbedder(HashEmbedder(name="other"), MemoryCache())
    with open_models(VECTORS, options([own, cached])) as resources:
        assert resources.names == ("hash", "other")
        assert resources.embedders["other"] is cached
        for _ in range(2):
            resources.embedders["hash"].embed(["one"])
    assert own.texts_seen == ["one"]


def test_a_model_that_a_metric_names_is_opened_too():
    named = (metric("semantic_similarity(models=['minilm'])"),)
    with open_models(named, options(HashEmbedder())) as resources:
        assert resources.names == ("hash", "minilm")


@pytest.mark.parametrize(
    ("embedders", "error"),
    [
        ("minilmm", UnknownNameError),
        (3, UsageError),
        ([HashEmbedder(), HashEmbedder()], UsageError),
        (["minilm", "minilm"], UsageError),
    ],
)
def test_what_cannot_be_opened_is_refused(embedders, error):
    with pytest.raises(error), open_models(VECTORS, options(embedders)):
        pass


def test_a_cache_that_is_a_folder_is_refused(tmp_path):
    with pytest.raises(StoreError, match="cannot be used"), open_models(VECTORS, options(cache=tmp_path)):
        pass


def test_load_embedder_is_the_public_door(tmp_path):
    plain, cached = sgi.load_embedder("minilm"), sgi.load_embedder("minilm", cache=tmp_path / "v.db")
    assert plain.fingerprint == cached.fingerprint
    assert (
        plain.embed(["one"]).tobytes() == cached.embed(["one"]).tobytes() == cached.embed(["one"]).tobytes()
    )
    with pytest.raises(UnknownNameError):
        sgi.load_embedder("minilmm")
