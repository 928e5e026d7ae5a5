from __future__ import annotations

import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.models.cached_embedder import CachedEmbedder
from sgi.store.cache import BoundedCache
from sgi.testing.fakes import HashEmbedder

ENTRY = 256  # bytes that the objects around an entry are taken to need


def test_what_was_used_longest_ago_goes_first():
    cache = BoundedCache(most=3 * (ENTRY + 2))
    cache.put_many({b"a": b"1", b"b": b"2", b"c": b"3"})
    cache.get_many([b"a"])
    cache.put_many({b"d": b"4"})
    assert sorted(cache.get_many([b"a", b"b", b"c", b"d"])) == [b"a", b"c", b"d"]


def test_writing_counts_as_use():
    cache = BoundedCache(most=2 * (ENTRY + 2))
    cache.put_many({b"a": b"1", b"b": b"2"})
    cache.put_many({b"a": b"3"})
    cache.put_many({b"c": b"4"})
    assert cache.get_many([b"a", b"b", b"c"]) == {b"a": b"3", b"c": b"4"}


def test_a_value_beyond_the_bound_is_not_kept():
    cache = BoundedCache(most=1000)
    cache.put_many({b"a": bytes(1000)})
    assert (cache.get_many([b"a"]), cache.bytes) == ({}, 0)


@pytest.mark.parametrize("most", [0, -1])
def test_a_bound_is_above_zero(most):
    with pytest.raises(ValueError, match="above 0"):
        BoundedCache(most)


@given(
    st.integers(1, 2000),
    st.lists(st.dictionaries(st.binary(max_size=2), st.binary(max_size=400), max_size=4), max_size=12),
)
def test_never_outgrows_its_bound_and_never_tells_an_old_value(most, puts):
    cache, latest = BoundedCache(most), {}
    for items in puts:
        cache.put_many(items)
        latest |= items
        kept = cache.get_many(list(latest))
        assert kept.items() <= latest.items()
        assert cache.bytes == sum(len(key) + len(value) + ENTRY for key, value in kept.items()) <= most


def test_the_bound_holds_for_the_memory_that_is_really_taken():
    cache = BoundedCache(most=2 << 20)
    tracemalloc.start()
    for number in range(4000):
        cache.put_many({number.to_bytes(16, "big"): bytes(1537)})
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert cache.bytes <= 2 << 20
    assert taken <= 2.1 * (1 << 20)


def test_threads_share_it():
    cache = BoundedCache(most=50 * (ENTRY + 5))

    def work(start):
        for number in range(start, start + 400):
            key = number.to_bytes(4, "big")
            cache.put_many({key: b"v"})
            cache.get_many([key])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(0, 3200, 400)))
    keys = [number.to_bytes(4, "big") for number in range(3200)]
    assert len(cache.get_many(keys)) == 50
    assert cache.bytes == 50 * (ENTRY + 5)


def test_an_embedder_behind_it_computes_again_only_what_was_dropped():
    inner = HashEmbedder(dimension=8)
    embedder = CachedEmbedder(inner, BoundedCache(most=2 * (ENTRY + 16 + 33)))
    embedder.embed(["a", "b"])
    embedder.embed(["a", "c"])  # b goes
    inner.texts_seen.clear()
    embedder.embed(["a", "c"])
    embedder.embed(["b"])
    assert inner.texts_seen == ["b"]
