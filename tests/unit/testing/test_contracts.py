"""Each promise of an embedder, broken on purpose; those of a metric are broken in tests/contract."""

import numpy as np
import pytest

from sgi.kernel.protocols import Embeddings
from sgi.testing import HashEmbedder, check_embedder


def test_the_fake_keeps_every_promise():
    check_embedder(HashEmbedder())
    check_embedder(HashEmbedder(dimension=1))


class Truncating(HashEmbedder):
    def encode(self, texts, /):
        return Embeddings(self.embed(texts), np.array([len(text) > 50 for text in texts], dtype=bool))


def test_an_embedder_that_says_what_it_cut_passes():
    check_embedder(Truncating())


class Nameless(HashEmbedder):
    fingerprint = "nameless"


class Doubles(HashEmbedder):
    def embed(self, texts, /):
        return super().embed(texts).astype(np.float64)


class Lists(HashEmbedder):
    def embed(self, texts, /):
        return super().embed(texts).tolist()


class Long(HashEmbedder):
    def embed(self, texts, /):
        return super().embed(texts) * np.float32(1.01)


class NotFinite(HashEmbedder):
    def embed(self, texts, /):
        return super().embed(texts) * np.float32(np.nan)


class Deduplicating(HashEmbedder):
    def embed(self, texts, /):
        return super().embed(list(dict.fromkeys(texts)))


class Sorting(HashEmbedder):
    def embed(self, texts, /):
        return super().embed(sorted(texts, key=len))


class Restless(HashEmbedder):
    def embed(self, texts, /):
        return super().embed([f"{self.calls} {text}" for text in texts])


class Positional(HashEmbedder):
    def embed(self, texts, /):
        return super().embed([f"{place} {text}" for place, text in enumerate(texts)])


class Sociable(HashEmbedder):
    def embed(self, texts, /):
        return super().embed([f"{len(texts)} {text}" for text in texts])


class NoneForNone(HashEmbedder):
    def embed(self, texts, /):
        return super().embed(texts) if texts else np.zeros((0, 0), dtype=np.float32)


class Contradicting(Truncating):
    def encode(self, texts, /):
        rows, cut, *_ = super().encode(texts)
        return Embeddings(-rows, cut)


class Miscounting(Truncating):
    def encode(self, texts, /):
        rows, cut, *_ = super().encode(texts)
        return Embeddings(rows, cut[1:])


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Nameless, "name@revision"),
        (Doubles, "float32 array"),
        (Lists, "float32 array"),
        (Long, "length one"),
        (NotFinite, "length one"),
        (Deduplicating, "texts have"),
        (Sorting, "the same text has the same row|order of the texts"),
        (Restless, "embedding twice"),
        (Positional, "in every position"),
        (Sociable, "the same row alone"),
        (NoneForNone, "no texts give no rows"),
        (Contradicting, "encode and embed"),
        (Miscounting, "truncated"),
    ],
)
def test_a_broken_promise_is_told(kind, words):
    with pytest.raises(AssertionError, match=f"^Broken promise: .*({words})"):
        check_embedder(kind())


def test_what_is_no_embedder_is_told():
    with pytest.raises(AssertionError, match="fingerprint and embed"):
        check_embedder(object())


class Rounding(HashEmbedder):
    def embed(self, texts, /):
        rows = super().embed(texts)
        return rows if len(texts) > 1 else rows * np.float32(1 + 1e-6)


def test_rounding_with_the_company_needs_a_tolerance():
    with pytest.raises(AssertionError, match="alone"):
        check_embedder(Rounding())
    check_embedder(Rounding(), tolerance=1e-5)
