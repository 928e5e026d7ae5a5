"""Texts that exceed the token limit of an embedding model."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgi.kernel.errors import UnknownNameError
from sgi.models.batching import counting_work
from sgi.models.cached_embedder import CachedEmbedder
from sgi.models.embedder.load_embedder import load_embedder
from sgi.models.embedder.long_texts import Ends, WindowedTexts
from sgi.models.embedder.onnx_embedder import OnnxEmbedder
from sgi.store.cache import MemoryCache

FOX = "The quick brown fox jumps over the lazy dog. "
LAW = "The court ruled that the contract is void. "
LONG = FOX * 60


@pytest.fixture(scope="module")
def truncating(minilm_files):
    return OnnxEmbedder(minilm_files, long_texts="truncate")


def inputs_of(embedder, monkeypatch):
    """Record the token ids of each input that the network of an embedder computes."""
    computed = []
    network = embedder.network()
    genuine = network.token_vectors
    monkeypatch.setattr(network, "token_vectors", lambda ids: computed.extend(ids) or genuine(ids))
    return computed


@pytest.mark.slow
def test_texts_that_fit_have_the_bits_of_truncation(minilm, truncating):
    fits = ["Paris", "", " ", "a " * 254, FOX * 25, "x" * 1_000_000, "[SEP] [CLS]", "a\x00b"]
    assert minilm.embed(fits).tobytes() == truncating.embed(fits).tobytes()
    assert not truncating.encode(fits).truncated.any()


def test_a_change_at_the_end_changes_only_the_vector_of_windows(minilm, truncating):
    texts = [LONG + FOX, LONG + LAW]
    first, second = minilm.embed(texts)
    assert not np.array_equal(first, second)
    assert truncating.embed(texts[:1]).tobytes() == truncating.embed(texts[1:]).tobytes()


@pytest.mark.parametrize("order", [(FOX * 30, LAW * 4), (LAW * 4, FOX * 30)])
def test_a_part_counts_at_the_beginning_and_at_the_end(minilm, order):
    law, with_law, without = minilm.embed([LAW, "".join(order), FOX * 34])
    assert with_law @ law > without @ law + 0.1


def test_the_vector_is_the_mean_of_those_of_the_windows(minilm_files, monkeypatch):
    embedder = OnnxEmbedder(minilm_files, threads=1)
    tokens = embedder.tokenizer.token_ids([LONG])[0].tolist()
    assert len(tokens) == 602
    own = tokens[1:-1]
    starts = [0, 173, 346]
    windows = [[tokens[0], *own[start : start + 254], tokens[-1]] for start in starts]
    rows = np.vstack([_unit(embedder.network().token_vectors(np.array([ids]))) for ids in windows])
    expected = rows.astype(np.float64).mean(axis=0)
    computed = inputs_of(embedder, monkeypatch)
    vector = embedder.embed([LONG])[0]
    assert vector == pytest.approx(expected / np.linalg.norm(expected), abs=1e-6)
    assert sorted(map(list, computed)) == sorted(windows)


def _unit(hidden):
    mean = hidden[0].mean(axis=0)
    return mean / np.linalg.norm(mean)


def test_each_distinct_window_is_computed_once(minilm_files, monkeypatch):
    embedder = OnnxEmbedder(minilm_files, threads=1)
    computed = inputs_of(embedder, monkeypatch)
    with counting_work() as work:
        work.expect(4)
        embedder.embed([FOX * 60, FOX * 60 + "Yes.", "Paris", FOX * 60])
    # 600 tokens are three windows; the first is also that of the second text, which has two more
    assert len(computed) == 3 + 2 + 1
    assert len({ids.tobytes() for ids in computed}) == len(computed)
    assert work.done == 3


def test_a_text_that_fits_costs_one_input_and_one_tokenization(minilm_files, monkeypatch):
    embedder = OnnxEmbedder(minilm_files, threads=1)
    texts = [f"Sentence number {number}." for number in range(50)]
    computed = inputs_of(embedder, monkeypatch)
    tokenized = []

    def tokenize(tokenizer, given, limit=None):
        from sgi.models import tokenizer as module

        tokenized.extend(given)
        return module.tokenize(tokenizer, given, limit)

    monkeypatch.setattr("sgi.models.embedder.onnx_embedder.tokenize", tokenize)
    embedder.embed(texts)
    assert tokenized == texts
    assert len(computed) == len(texts)


@pytest.mark.slow
def test_a_megabyte(minilm_files):
    text = " ".join(map(str, range(160_000)))
    assert len(text) > 1_000_000
    embedder = OnnxEmbedder(minilm_files, threads=1)
    embedder._networks[False] = _Zeros()
    embedder.embed([text])
    assert embedder.network().sizes == -(-(embedder.token_counts([text])[0] - 2) // 254)
    embedder.network().sizes = 0
    embedder.embed(["x" * 1_000_000, FOX * 23_000])
    # one token; and a text that repeats ten tokens has at most ten distinct windows
    assert embedder.network().sizes <= 1 + 10


class _Zeros:
    """Computes no vectors: only the number of windows matters here."""

    dimension = 3

    def __init__(self):
        self.sizes = 0

    def token_vectors(self, ids):
        self.sizes += len(ids)
        assert ids.shape[1] <= 256
        return np.ones((*ids.shape, 3), dtype=np.float32)


def test_every_window_has_the_prefix(minilm_files, monkeypatch):
    embedder = OnnxEmbedder(replace(minilm_files, prefix="query: "), threads=1)
    computed = inputs_of(embedder, monkeypatch)
    embedder.embed([LONG])
    head = embedder.tokenizer.token_ids(["query: a"])[0].tolist()[:-2]
    assert len(head) == 3
    assert all(list(ids[:3]) == head and len(ids) == 256 for ids in computed)
    assert len(computed) == 3


def test_fingerprint_and_identity_say_how_long_texts_are_read(minilm, truncating):
    assert ",256tok-windows," in minilm.fingerprint
    assert ",256tok," in truncating.fingerprint
    assert minilm.identity != truncating.identity


def test_a_cached_vector_of_the_other_way_is_not_used(minilm, truncating):
    cache = MemoryCache()
    cut, whole = (CachedEmbedder(embedder, cache) for embedder in (truncating, minilm))
    texts = [LONG + LAW * 40, "Paris"]
    before, after = cut.encode(texts), whole.encode(texts)
    assert (before.truncated.tolist(), after.truncated.tolist()) == ([True, False], [False, False])
    assert not np.array_equal(before.rows[0], after.rows[0])
    assert cut.encode(texts).rows.tobytes() == before.rows.tobytes()


def test_an_unknown_way_is_an_error():
    with pytest.raises(UnknownNameError) as caught:
        load_embedder(long_texts="window")
    assert caught.value.suggestions == ("windows",)


@settings(deadline=None)
@given(
    st.lists(st.integers(min_value=0, max_value=90), max_size=6),
    st.integers(min_value=0, max_value=3),
    st.integers(min_value=0, max_value=2),
    st.integers(min_value=1, max_value=12),
)
def test_the_fewest_windows_cover_every_token_evenly(lengths, before, after, width):
    limit = before + width + after
    ids = [np.array([1] * before + [*range(10, 10 + n)] + [2] * after, dtype=np.int64) for n in lengths]
    windowed = WindowedTexts.of(ids, limit, Ends(before, after))
    assert windowed.finished.sum() == len(lengths)
    for length, members in zip(lengths, windowed.members, strict=True):
        windows = [windowed.inputs[place].tolist() for place in members]
        assert len(windows) == max(1, -(-length // width))
        assert all(window[:before] == [1] * before for window in windows)
        assert all(window[len(window) - after :] == [2] * after for window in windows)
        parts = [window[before : len(window) - after] for window in windows]
        if len(parts) == 1:
            assert parts[0] == list(range(10, 10 + length))
            continue
        starts = [part[0] - 10 for part in parts]
        assert parts == [list(range(10 + start, 10 + start + width)) for start in starts]
        assert (starts[0], starts[-1] + width) == (0, length)
        steps = {later - earlier for earlier, later in pairwise(starts)}
        assert max(steps) - min(steps) <= 1
        assert max(steps) <= width


def test_pooling_does_not_divide_by_zero():
    texts = WindowedTexts.of([np.arange(6)], 4, Ends(1, 1))
    assert len(texts.inputs) == 2
    opposite = np.array([[1, 0], [-1, 0]], dtype=np.float32)
    assert texts.pool(opposite).tolist() == [[0, 0]]
