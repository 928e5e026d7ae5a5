from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sgi.kernel.errors import MissingExtraError, ModelMissingError, UnknownNameError, UsageError
from sgi.kernel.protocols import embedder_name
from sgi.models.cached_embedder import CachedEmbedder
from sgi.models.embedder.load import load_embedder
from sgi.models.embedder.onnx import OnnxEmbedder
from sgi.models.embedder.openvino import OpenvinoEmbedder
from sgi.models.embedder.remote import RemoteEmbedder
from sgi.models.embedder.torch import TorchEmbedder
from sgi.store.cache import MemoryCache
from support.embedding_server import EmbeddingServer


def test_the_default_is_the_embedded_model(minilm):
    embedder = load_embedder()
    assert isinstance(embedder, OnnxEmbedder)
    assert embedder.fingerprint == minilm.fingerprint
    assert embedder_name(embedder) == "minilm"


def test_a_cache_is_put_around_it(minilm):
    cache = MemoryCache()
    embedder = load_embedder("minilm", cache=cache)
    assert isinstance(embedder, CachedEmbedder)
    assert embedder.embed(["Paris"]).tobytes() == minilm.embed(["Paris"]).tobytes()
    assert len(cache._values) == 1


def test_threads():
    assert load_embedder("minilm", threads=3).threads == 3
    with pytest.raises(UsageError, match="`threads` must be at least 1, not 0"):
        load_embedder("minilm", threads=0)


@pytest.mark.parametrize("as_type", [str, Path])
def test_a_folder(folder, as_type):
    embedder = load_embedder(as_type(folder))
    assert isinstance(embedder, OnnxEmbedder)
    assert embedder_name(embedder) == "a-model"


def test_a_known_name_goes_before_a_folder(folder, monkeypatch):
    folder.rename(folder.with_name("minilm"))
    monkeypatch.chdir(folder.parent)
    assert load_embedder("minilm").files.limit == 256
    assert load_embedder("minilm").files.weights is not None
    assert load_embedder(Path("minilm")).files.weights is None


def test_backends(folder):
    assert isinstance(load_embedder("minilm", backend="onnx"), OnnxEmbedder)
    assert load_embedder("minilm", backend="torch").source == "sentence-transformers/all-MiniLM-L6-v2"
    assert isinstance(load_embedder(folder, backend="torch"), TorchEmbedder)
    assert load_embedder("torch:some/model").source == "some/model"
    (folder / "onnx" / "model.onnx").unlink()
    (folder / "model.safetensors").touch()
    assert isinstance(load_embedder(folder), TorchEmbedder)
    with pytest.raises(ModelMissingError):
        load_embedder(folder, backend="onnx")


@pytest.mark.parametrize("backend", ["auto", "onnx"])
def test_onnx_runtime_computes_in_float32_alone(backend):
    assert isinstance(load_embedder("minilm", backend=backend, precision="f32"), OnnxEmbedder)
    for precision in ("bf16", "int8"):
        with pytest.raises(UsageError, match=f"{precision} is not available with .* float32.*openvino"):
            load_embedder("minilm", backend=backend, precision=precision)


def test_openvino_runs_known_models_and_folders(folder):
    pytest.importorskip("openvino")
    for name in ("minilm", folder):
        embedder = load_embedder(name, backend="openvino", precision="f32", threads=1)
        assert isinstance(embedder, OpenvinoEmbedder)
        assert (embedder.precision, embedder.threads) == ("f32", 1)
        assert embedder.fingerprint.endswith(",openvino-f32")
    assert isinstance(load_embedder("torch:some/model", backend="openvino"), TorchEmbedder)


def test_precision_for_torch(folder):
    assert load_embedder(folder, backend="torch", precision="f32").precision == "f32"
    assert load_embedder("torch:some/model", precision="f32").precision == "auto"
    with pytest.raises(UsageError, match="the backend torch, which computes in float32"):
        load_embedder(folder, backend="torch", precision="int8")


def test_a_precision_that_is_not_known():
    with pytest.raises(UnknownNameError, match="Did you mean 'f32'"):
        load_embedder("minilm", precision="fp32")
    with pytest.raises(UnknownNameError, match="There are: auto, f32, bf16, int8"):
        load_embedder("minilm", precision="")


def test_the_openvino_extra_is_missing(monkeypatch):
    monkeypatch.setattr("sgi.models.embedder.load.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[openvino\]"):
        load_embedder("minilm", backend="openvino")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("minilmm", r"Unknown model 'minilmm'\. Did you mean 'minilm'"),
        ("e5-base", "Did you mean 'e5-base-v2'"),
        ("", "Unknown model ''.*Name a known model"),
        ("openia:x", "Name a known model"),
    ],
)
def test_an_unknown_name(name, message):
    with pytest.raises(UnknownNameError, match=message):
        load_embedder(name)


def test_an_unknown_backend():
    with pytest.raises(UnknownNameError, match="Did you mean 'onnx'"):
        load_embedder("minilm", backend="onx")


@pytest.mark.parametrize("name", ["/no/such/folder", Path("nowhere"), "./nowhere"])
def test_a_folder_that_is_not_there(name):
    with pytest.raises(ModelMissingError, match=r"The folder .* does not exist"):
        load_embedder(name)


def test_remote_services(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with EmbeddingServer() as server:
        embedder = load_embedder(f"openai:a-model@{server.url}/v1", cache=MemoryCache())
        assert len(embedder.embed(["one", "one"])) == 2
        assert embedder_name(embedder) == "openai:a-model"
        monkeypatch.setenv("AZURE_OPENAI_API_KEY", "key")
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", server.url)
        azure = load_embedder("azure:mine")
        assert isinstance(azure, RemoteEmbedder)
        azure.embed(["one"])
    assert [request.path.partition("?")[0] for request in server.requests] == [
        "/v1/embeddings",
        "/openai/deployments/mine/embeddings",
    ]
    assert server.requests[0].body["input"] == ["one"]


def test_the_torch_extra_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[torch\]"):
        load_embedder("torch:some/model").embed(["one"])
