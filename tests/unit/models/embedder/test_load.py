import gzip
import sys
from pathlib import Path

import pytest

from sgi.kernel.errors import (
    EmbedderError,
    MissingExtraError,
    ModelMissingError,
    UnknownNameError,
    UsageError,
)
from sgi.kernel.protocols import embedder_name
from sgi.models.embedder import bounded_reply
from sgi.models.embedder.load_embedder import load_embedder
from sgi.models.embedder.onnx_embedder import OnnxEmbedder
from sgi.models.embedder.remote import RemoteEmbedder
from sgi.models.embedder.remote_service import Service
from sgi.models.embedder.torch_embedder import TorchEmbedder
from support.embedding_server import EmbeddingServer, Fault


def test_the_default_is_the_embedded_model(minilm):
    embedder = load_embedder()
    assert isinstance(embedder, OnnxEmbedder)
    assert embedder.fingerprint == minilm.fingerprint
    assert embedder_name(embedder) == "minilm"


def test_threads():
    assert load_embedder("minilm", threads=3).threads == 3
    with pytest.raises(UsageError, match=r"`threads`.* 0"):
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


def test_torch_runs_what_is_named_so_and_a_folder_without_a_graph(folder):
    assert load_embedder("torch:some/model").source == "some/model"
    assert isinstance(load_embedder(f"torch:{folder}"), TorchEmbedder)
    (folder / "onnx" / "model.onnx").unlink()
    with pytest.raises(ModelMissingError):
        load_embedder(folder)
    (folder / "model.safetensors").touch()
    assert isinstance(load_embedder(folder), TorchEmbedder)


@pytest.mark.parametrize(
    ("name", "similar"),
    [("minilmm", "minilm"), ("e5-base", "e5-base-v2"), ("", None), ("openia:x", None)],
)
def test_an_unknown_name(name, similar):
    with pytest.raises(UnknownNameError) as error:
        load_embedder(name)
    assert error.value.name == name
    assert error.value.suggestions[:1] == (() if similar is None else (similar,))


@pytest.mark.parametrize("name", ["/no/such/folder", Path("nowhere"), "./nowhere"])
def test_a_folder_that_is_not_there(name):
    with pytest.raises(ModelMissingError, match=Path(name).name):
        load_embedder(name)


def test_remote_services(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with EmbeddingServer() as server:
        embedder = load_embedder(f"openai:a-model@{server.url}/v1")
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
    with pytest.raises(MissingExtraError, match=r"\[torch\]"):
        load_embedder("torch:some/model").embed(["one"])


def embed(server):
    service = Service("openai", f"{server.url}/v1", "key", "OPENAI_API_KEY")
    return RemoteEmbedder(service, "m", retries=0).embed(["a text"])


@pytest.mark.parametrize("status", [200, 400, 500])
def test_an_endless_reply_is_refused(monkeypatch, status):
    monkeypatch.setattr(bounded_reply, "MAX_REPLY", 100_000)
    with EmbeddingServer([Fault(status=status, body=b" " * 200_000)]) as server:
        with pytest.raises(EmbedderError, match="100,000 bytes"):
            embed(server)
        assert embed(server).shape == (1, 24)


@pytest.mark.parametrize("status", [200, 400])
def test_a_reply_is_not_unpacked(status):
    bomb = gzip.compress(b" " * 1_000_000)
    fault = Fault(status=status, headers={"Content-Encoding": "gzip"}, body=bomb)
    with EmbeddingServer([fault]) as server:
        with pytest.raises(EmbedderError, match="compressed"):
            embed(server)
        assert server.requests[0].headers["accept-encoding"] == "identity"
