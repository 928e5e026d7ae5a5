import gzip

import pytest

from sgi.kernel.errors import EmbedderError
from sgi.models.embedder import bounded_reply
from sgi.models.embedder.remote import RemoteEmbedder
from sgi.models.embedder.remote_service import Service
from support.embedding_server import EmbeddingServer, Fault


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
