import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.kernel.errors import EmbedderError, NonFiniteVectorError, StoreError
from sgi.kernel.protocols import Embeddings, TruncatingEmbedder
from sgi.models import cached_embedder as module
from sgi.models.cached_embedder import CachedEmbedder
from sgi.models.embedder.load_embedder import load_embedder
from sgi.store.cache import MemoryCache, SqliteCache


class Recording:
    """Rows made of the text alone; remembers what it was asked."""

    def __init__(self, fingerprint="recording@1", dimension=4):
        self.fingerprint = fingerprint
        self.dimension = dimension
        self.calls = []

    def embed(self, texts):
        return self.encode(texts).rows

    def encode(self, texts):
        self.calls.append(list(texts))
        rows = np.array([[len(text) + 1, *map(ord, text.ljust(9)[:9])] for text in texts], dtype=np.float32)
        rows = rows.reshape(len(texts), 10)[:, : self.dimension]
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        return Embeddings(rows / norms, np.array([len(text) > 5 for text in texts], dtype=np.bool_))


def test_each_distinct_text_is_computed_once():
    inner = Recording()
    embedder = CachedEmbedder(inner, MemoryCache())
    first = embedder.embed(["b", "a", "b", "a", "c"])
    assert inner.calls == [["b", "a", "c"]]
    assert first.tobytes() == Recording().embed(["b", "a", "b", "a", "c"]).tobytes()
    embedder.embed(["c", "d"])
    assert inner.calls[1:] == [["d"]]


def test_what_was_cut_is_remembered():
    cache = MemoryCache()
    expected = [True, False]
    for calls in ([["too long", "short"]], []):
        inner = Recording()
        embedder = CachedEmbedder(inner, cache)
        assert isinstance(embedder, TruncatingEmbedder)
        assert embedder.encode(["too long", "short"]).truncated.tolist() == expected
        assert inner.calls == calls


def test_an_embedder_that_knows_no_limit_cuts_nothing():
    class Plain:
        fingerprint = "plain@1"

        def embed(self, texts):
            return Recording().embed(texts)

    assert CachedEmbedder(Plain(), MemoryCache()).encode(["too long"]).truncated.tolist() == [False]


def test_another_fingerprint_is_another_vector():
    cache = MemoryCache()
    CachedEmbedder(Recording("one@1"), cache).embed(["a"])
    other = Recording("two@1")
    CachedEmbedder(other, cache).embed(["a"])
    assert other.calls == [["a"]]


@pytest.mark.parametrize("long_texts", ["windows", "truncate"])
def test_the_real_model_through_a_file_bit_for_bit(long_texts, tmp_path, monkeypatch):
    texts = ["Paris", "", "東京", "word " * 400]
    real = load_embedder("minilm", long_texts=long_texts)
    expected = real.encode(texts)
    for again in (False, True):
        if again:
            monkeypatch.setattr(real, "encode", None)  # every vector is in the file
        with SqliteCache(tmp_path / "vectors.db") as cache:
            found = CachedEmbedder(real, cache).encode(texts)
        assert all(one.tobytes() == other.tobytes() for one, other in zip(found, expected, strict=True))
        flags = {"windows": found.windowed, "truncate": found.truncated}
        assert flags.pop(long_texts).tolist() == [False, False, False, True]
        assert not any(other.any() for other in flags.values())


class Scripted(MemoryCache):
    """A cache in which every value was replaced."""

    def __init__(self, spoil):
        super().__init__()
        self.spoil = spoil

    def get_many(self, keys):
        return {key: self.spoil(value) for key, value in super().get_many(keys).items()}


@given(st.binary(max_size=64))
def test_any_bytes_in_the_cache_leave_the_answer_right(junk):
    cache = Scripted(lambda _: junk)
    CachedEmbedder(Recording(), cache).embed(["a", "b"])
    inner = Recording()
    rows = CachedEmbedder(inner, cache).embed(["a", "b", "c"])
    assert rows.tobytes() == Recording().embed(["a", "b", "c"]).tobytes()
    assert inner.calls[-1] in (["a", "b", "c"], ["c"])


@pytest.mark.parametrize(
    "spoil",
    [
        lambda value: value[:-1],
        lambda value: value[:-4],
        lambda value: value + b"\0",
        lambda value: b"\3" + value[1:],
        lambda value: value[:1] + b"\0" * (len(value) - 1),
        lambda value: value[:1] + b"\xff" * (len(value) - 1),
        lambda _: b"",
    ],
)
def test_a_spoilt_value_is_computed_anew_and_replaced(spoil):
    cache = MemoryCache()
    CachedEmbedder(Recording(), cache).embed(["a", "b"])
    key = next(iter(cache._values))
    cache._values[key] = spoil(cache._values[key])
    for expected in ([["a"]], []):
        inner = Recording()
        assert (
            CachedEmbedder(inner, cache).embed(["a", "b"]).tobytes()
            == Recording().embed(["a", "b"]).tobytes()
        )
        assert inner.calls == expected


def test_rows_of_another_length_are_all_computed_anew():
    cache = MemoryCache()
    CachedEmbedder(Recording(dimension=3), cache).embed(["a", "b"])
    inner = Recording(dimension=4)
    rows = CachedEmbedder(inner, cache).embed(["a", "b", "c"])
    assert rows.tobytes() == Recording(dimension=4).embed(["a", "b", "c"]).tobytes()
    assert inner.calls[-1] == ["a", "b", "c"]


def test_what_is_finished_is_kept_when_the_embedder_fails(monkeypatch):
    monkeypatch.setattr(module, "_TEXTS_PER_WRITE", 2)

    class Failing(Recording):
        def encode(self, texts):
            if len(self.calls) == 2:
                raise EmbedderError("enough")
            return super().encode(texts)

    cache = MemoryCache()
    with pytest.raises(EmbedderError, match="enough"):
        CachedEmbedder(Failing(), cache).embed(list("abcdef"))
    inner = Recording()
    CachedEmbedder(inner, cache).embed(list("abcdef"))
    assert inner.calls == [["e", "f"]]


def test_a_zero_row_is_an_error_and_not_kept():
    class Zero(Recording):
        def encode(self, texts):
            return Embeddings(
                np.zeros((len(texts), 4), dtype=np.float32), np.zeros(len(texts), dtype=np.bool_)
            )

    cache = MemoryCache()
    with pytest.raises(NonFiniteVectorError):
        CachedEmbedder(Zero(), cache).embed(["a"])
    assert not cache._values


def test_a_cache_that_cannot_keep_is_an_error(tmp_path):
    cache = SqliteCache(tmp_path / "vectors.db")
    cache.close()
    with pytest.raises(StoreError):
        CachedEmbedder(Recording(), cache).embed(["a"])


def test_lone_surrogates_reach_the_embedder_that_judges_them(minilm):
    with pytest.raises(EmbedderError, match="lone surrogate"):
        CachedEmbedder(minilm, MemoryCache()).embed(["\ud800"])


CHINESE, ENGLISH = "公司于2023年盈利", "It made a profit."


def test_texts_of_unknown_letters_are_remembered(minilm):
    cache = MemoryCache()
    for _ in range(2):
        encoded = CachedEmbedder(minilm, cache).encode([CHINESE, ENGLISH])
        assert encoded.unread.tolist() == [True, False]


def test_values_of_an_older_version_are_checked_once_and_keep_their_vectors(minilm, monkeypatch):
    cache = MemoryCache()
    rows = CachedEmbedder(minilm, cache).embed([CHINESE, ENGLISH])
    for key, value in cache._values.items():
        cache._values[key] = bytes([value[0] & 3]) + value[1:]
    checked = []
    find = minilm.unread
    monkeypatch.setattr(minilm, "encode", None)
    monkeypatch.setattr(minilm, "unread", lambda texts: checked.extend(texts) or find(texts))
    for _ in range(2):
        encoded = CachedEmbedder(minilm, cache).encode([CHINESE, ENGLISH])
        assert encoded.rows.tobytes() == rows.tobytes()
        assert encoded.unread.tolist() == [True, False]
    assert checked == [CHINESE, ENGLISH]
