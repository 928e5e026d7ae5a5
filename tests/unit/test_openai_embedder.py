"""The published AzureOpenAIEmbedder against a real server that speaks Azure's API."""

from __future__ import annotations

import numpy as np
import pytest

from sgi.kernel.errors import EmbedderError, UsageError
from sgi.models.embedder.remote import open_remote
from sgi.openai_embedder import AzureOpenAIEmbedder
from support.embedding_server import DIMENSION, EmbeddingServer, vector

KEY = "azure-very-secret-0123456789"
pytestmark = pytest.mark.usefixtures("no_remote_settings")


@pytest.fixture
def server():
    with EmbeddingServer(key=KEY) as running:
        yield running


@pytest.fixture
def _configured(no_remote_settings, server, monkeypatch):
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", KEY)
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", f"{server.url}/")


@pytest.mark.usefixtures("_configured")
def test_required_variables_are_enough(server):
    rows = AzureOpenAIEmbedder().embed(["a", "b"])
    (request,) = server.requests
    path = "/openai/deployments/text-embedding-3-small/embeddings?api-version=2024-02-15-preview"
    assert request.path == path
    assert request.headers["api-key"] == KEY
    assert "authorization" not in request.headers
    expected = np.array([vector("a"), vector("b")])
    assert np.abs(rows - expected / np.linalg.norm(expected, axis=1, keepdims=True)).max() < 1e-6


@pytest.mark.usefixtures("_configured")
def test_optional_variables_are_read(server, monkeypatch):
    monkeypatch.setenv("AZURE_OPENAI_DEPLOYMENT_NAME", "mine")
    monkeypatch.setenv("AZURE_OPENAI_API_VERSION", "2024-10-21")
    embedder = AzureOpenAIEmbedder()
    embedder.embed(["a"])
    assert server.requests[0].path == "/openai/deployments/mine/embeddings?api-version=2024-10-21"
    assert embedder.fingerprint == f"azure:mine@{server.url.removeprefix('http://')},remote"


@pytest.mark.usefixtures("_configured")
def test_what_is_given_goes_before_variables(server, monkeypatch):
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "wrong")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("AZURE_OPENAI_DEPLOYMENT_NAME", "other")
    embedder = AzureOpenAIEmbedder(deployment="d", api_key=KEY, endpoint=server.url, api_version="v9")
    assert embedder.embed(["a"]).shape == (1, DIMENSION)
    assert server.requests[0].path == "/openai/deployments/d/embeddings?api-version=v9"


@pytest.mark.usefixtures("_configured")
def test_variables_of_other_ways_in_do_not_interfere(server, monkeypatch):
    monkeypatch.setenv("AZURE_OPENAI_AD_TOKEN", "a-token")
    monkeypatch.setenv("OPENAI_API_KEY", "another")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_API_VERSION", "v0")
    AzureOpenAIEmbedder().embed(["a"])
    assert server.requests[0].headers["api-key"] == KEY


@pytest.mark.usefixtures("_configured")
def test_the_same_by_name(server):
    open_remote("azure:by-name").embed(["a"])
    open_remote("azure:").embed(["a"])
    paths = [request.path.split("/")[3] for request in server.requests]
    assert paths == ["by-name", "text-embedding-3-small"]


@pytest.mark.usefixtures("_configured")
@pytest.mark.parametrize("name", ["AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT"])
@pytest.mark.parametrize("value", [None, "", "  "])
def test_a_missing_variable_is_named(name, value, monkeypatch):
    if value is None:
        monkeypatch.delenv(name)
    else:
        monkeypatch.setenv(name, value)
    with pytest.raises(
        UsageError, match=rf"{name} is not set\. Set {name} in the environment or in a file \.env"
    ):
        AzureOpenAIEmbedder()


@pytest.mark.usefixtures("_configured")
@pytest.mark.parametrize("deployment", ["a/b", "..", "a b", "a?b", "é", "-a"])
def test_names_azure_does_not_allow_are_refused(deployment):
    with pytest.raises(UsageError, match="not the name of an Azure deployment"):
        AzureOpenAIEmbedder(deployment=deployment)


@pytest.mark.usefixtures("_configured")
def test_a_missing_deployment_is_named():
    with pytest.raises(EmbedderError, match=r"127\.0\.0\.1:\d+ has no deployment 'missing' \(404\)"):
        AzureOpenAIEmbedder(deployment="missing").embed(["a"])
