import numpy as np
import pytest

from sgi.kernel.protocols import Cache, Embedder, Embeddings, TruncatingEmbedder, embedder_name


class Plain:
    fingerprint = "mini@1,mean,256tok,fp32"

    def embed(self, texts, /):
        return np.ones((len(texts), 1), dtype=np.float32)


class Cutting(Plain):
    def encode(self, texts, /):
        return Embeddings(self.embed(texts), np.zeros(len(texts), dtype=bool))


class Memory:
    def get_many(self, keys, /):
        return {}

    def put_many(self, items, /):
        pass


def test_ports_are_known_by_what_they_can():
    assert isinstance(Plain(), Embedder)
    assert not isinstance(Plain(), TruncatingEmbedder)
    assert isinstance(Cutting(), TruncatingEmbedder)
    assert isinstance(Memory(), Cache)
    assert not any(isinstance(object(), port) for port in (Embedder, TruncatingEmbedder, Cache))


@pytest.mark.parametrize(
    ("fingerprint", "name"), [("mini@1,mean", "mini"), ("a/b@c@d", "a/b"), ("bare", "bare"), ("@1", "")]
)
def test_a_name_stands_before_the_at(fingerprint, name):
    embedder = Plain()
    embedder.fingerprint = fingerprint
    assert embedder_name(embedder) == name
