"""Names, addresses, keys and settings of remote models."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.kernel.errors import UsageError
from sgi.kernel.protocols import embedder_name
from sgi.models.embedder.remote import RemoteEmbedder, open_remote
from sgi.models.embedder.remote_service import Service, deployment_name
from support.embedding_server import DIMENSION, EmbeddingServer

KEY = "sk-very-secret-0123456789"
pytestmark = pytest.mark.usefixtures("no_remote_settings")


def test_names_lead_to_services(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    plain = open_remote("openai:text-embedding-3-small")
    assert plain.fingerprint == "openai:text-embedding-3-small@api,remote"
    assert plain.service.url == "https://api.openai.com/v1"
    local = open_remote("openai:BAAI/bge-m3@http://localhost:8080/v1/")
    assert local.fingerprint == "openai:BAAI/bge-m3@localhost:8080,remote"
    assert (local.model, local.service.url) == ("BAAI/bge-m3", "http://localhost:8080/v1")
    odd = open_remote("openai:@cf/baai/bge@https://host/a-tenant/v1")
    assert odd.model == "@cf/baai/bge"
    assert embedder_name(odd) == "openai:%40cf/baai/bge"
    assert "tenant" not in odd.fingerprint
    assert odd.fingerprint != open_remote("openai:@cf/baai/bge@https://host/b-tenant/v1").fingerprint


def test_a_server_of_ones_own_needs_no_key_and_openai_does():
    with EmbeddingServer() as server:
        rows = open_remote(f"openai:m@{server.url}/v1").embed(["a"])
    assert rows.shape == (1, DIMENSION)
    assert server.requests[0].headers["authorization"] == "Bearer none"
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        open_remote("openai:text-embedding-3-small")


def test_the_base_url_variable_is_read(monkeypatch):
    with EmbeddingServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        embedder = open_remote("openai:m")
        embedder.embed(["a"])
    assert len(server.requests) == 1
    assert embedder.fingerprint == f"openai:m@{server.url.removeprefix('http://')},remote"


@pytest.mark.parametrize(
    "name", ["openai:", "openai", "openai: ", "cohere:x", "", ":", "openai:@http://h/v1"]
)
def test_names_of_another_form_are_refused(name, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with pytest.raises(UsageError):
        open_remote(name).embed([])


@given(st.text(max_size=40), st.text(st.characters(codec="ascii"), max_size=20))
def test_any_name_is_an_embedder_or_a_usage_error(name, url):
    for whole in (name, f"openai:{name}", f"azure:{name}", f"openai:m@http://{url}"):
        try:
            embedder = open_remote(whole)
        except UsageError:
            continue
        assert embedder_name(embedder).startswith(("openai:", "azure:"))
        assert embedder.fingerprint.count("@") == 1


def test_the_key_is_in_no_repr():
    embedder = RemoteEmbedder(Service("openai", "http://h/v1", KEY, "OPENAI_API_KEY"), "m")
    assert KEY not in repr(embedder) + repr(embedder.service) + embedder.fingerprint


def test_azure_has_a_version_and_a_deployment_of_its_own(monkeypatch):
    service = Service.of("azure", "https://name.openai.azure.com/", key=KEY)
    assert service.api_version == "2024-02-15-preview"
    assert deployment_name() == "text-embedding-3-small"
    monkeypatch.setenv("AZURE_OPENAI_DEPLOYMENT_NAME", "mine")
    assert (deployment_name(), deployment_name("given")) == ("mine", "given")
    with pytest.raises(UsageError, match="'a/b'"):
        deployment_name("a/b")
