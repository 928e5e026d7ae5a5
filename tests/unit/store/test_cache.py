from __future__ import annotations

import json
import os
import sqlite3
import stat
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.kernel.errors import StoreError
from sgi.kernel.protocols import Cache
from sgi.models.cached_embedder import CachedEmbedder
from sgi.store.cache import BoundedCache, MemoryCache, SqliteCache, default_cache_path
from sgi.store.sqlite_file import owner_and_names
from sgi.testing.fakes import HashEmbedder


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "vectors.db"


@pytest.fixture(params=["memory", "file"])
def cache(request, path):
    if request.param == "memory":
        yield MemoryCache()
    else:
        with SqliteCache(path) as opened:
            yield opened


def test_keeps_and_finds(cache):
    assert isinstance(cache, Cache)
    cache.put_many({b"a": b"1", b"b": b"", b"\0": b"\0\xff"})
    cache.put_many({b"a": b"2"})
    cache.put_many({})
    assert cache.get_many([b"a", b"b", b"\0", b"c", b"a"]) == {b"a": b"2", b"b": b"", b"\0": b"\0\xff"}
    assert cache.get_many([]) == {}


@given(st.dictionaries(st.binary(), st.binary()), st.dictionaries(st.binary(), st.binary()))
def test_a_file_keeps_what_memory_keeps(tmp_path_factory, first, second):
    memory = MemoryCache()
    with SqliteCache(tmp_path_factory.mktemp("cache") / "vectors.db") as file:
        for cache in (memory, file):
            cache.put_many(first)
            cache.put_many(second)
        keys = [*first, *second, b"another"]
        assert file.get_many(keys) == memory.get_many(keys)


def test_outlives_its_object(path):
    with SqliteCache(path) as cache:
        cache.put_many({b"a": b"1"})
    with SqliteCache(str(path)) as cache:
        assert cache.get_many([b"a"]) == {b"a": b"1"}


@pytest.mark.slow
def test_a_hundred_thousand_keys(path):
    items = {number.to_bytes(16, "big"): bytes(100) for number in range(100_000)}
    with SqliteCache(path) as cache:
        cache.put_many(items)
        assert cache.get_many(list(items)) == items
        assert cache.stats().entries == 100_000


def test_stats_and_clear(path):
    with SqliteCache(path) as cache:
        cache.put_many({bytes([number]): bytes(10_000) for number in range(100)})
        found = cache.stats()
        assert (found.path, found.entries) == (path, 100)
        assert found.bytes > 1_000_000
        cache.clear()
        assert cache.stats().entries == 0
        assert cache.stats().bytes < 100_000
        cache.put_many({b"a": b"1"})
        assert cache.get_many([b"a"]) == {b"a": b"1"}


@pytest.mark.skipif(os.name != "posix", reason="permissions are told otherwise here")
def test_only_the_user_may_read(path):
    with SqliteCache(path) as cache:
        cache.put_many({b"a": b"1"})
        for file in path.parent.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


WRITER = """
import sys
from sgi.store.cache import SqliteCache
with SqliteCache(sys.argv[1]) as cache:
    for step in range(20):
        own = {f"{sys.argv[2]}-{step}-{k}".encode(): b"v" * 100 for k in range(50)}
        cache.put_many(own | {b"shared": sys.argv[2].encode()})
        assert cache.get_many(list(own)) == own
"""


def test_several_processes_at_once(path):
    running = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(k)], stderr=subprocess.PIPE)
        for k in range(4)
    ]
    errors = [process.communicate(timeout=120)[1] for process in running]
    assert [process.returncode for process in running] == [0] * 4, errors
    with SqliteCache(path) as cache:
        assert cache.stats().entries == 4 * 20 * 50 + 1


def test_several_threads_at_once(path):
    with SqliteCache(path) as cache, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda k: cache.put_many({bytes([k, j]): b"v" for j in range(50)}), range(40)))
        assert cache.stats().entries == 2000


def test_all_or_nothing(path):
    with SqliteCache(path) as cache:
        with pytest.raises(StoreError, match="NOT NULL"):
            cache.put_many({b"a": b"1", b"b": None})
        assert cache.get_many([b"a"]) == {}
        cache.put_many({b"a": b"2"})
        assert cache.get_many([b"a"]) == {b"a": b"2"}


@pytest.mark.parametrize("content", [b"not a database at all" * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_file_that_is_no_database(tmp_path, content):
    path = tmp_path / "vectors.db"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"vectors\.db"):
        SqliteCache(path)
    assert path.read_bytes() == content


def test_someone_elses_database_is_left_alone(tmp_path):
    path = tmp_path / "precious.db"
    other = sqlite3.connect(path)
    other.executescript("CREATE TABLE precious (x); INSERT INTO precious VALUES (1);")
    other.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"precious\.db"):
        SqliteCache(path)
    assert path.read_bytes() == before


def test_a_file_where_the_folder_should_be(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="SGI_CACHE_DIR"):
        SqliteCache(tmp_path / "file" / "vectors.db")


def test_a_full_disk_is_told_and_loses_nothing_kept(path):
    with SqliteCache(path) as cache:
        cache.put_many({b"a": b"1"})
        (pages,) = cache._connection.execute("PRAGMA page_count").fetchone()
        cache._connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        with pytest.raises(StoreError, match="full"):
            cache.put_many({bytes([k]): bytes(10_000) for k in range(100)})
        assert cache.get_many([b"a", b"\0"]) == {b"a": b"1"}


def test_a_closed_cache_says_so(path):
    cache = SqliteCache(path)
    cache.close()
    cache.close()
    for use in (
        lambda: cache.get_many([b"a"]),
        lambda: cache.put_many({b"a": b"1"}),
        cache.stats,
        cache.clear,
    ):
        with pytest.raises(StoreError, match="closed"):
            use()


def test_a_write_that_was_killed_leaves_what_was_before(path):
    code = """
import os, sys
from sgi.store.cache import SqliteCache
cache = SqliteCache(sys.argv[1])
cache.put_many({b"kept": b"1"})
cache._connection.execute("BEGIN IMMEDIATE")
cache._connection.execute("INSERT INTO entries VALUES (x'00', x'00')")
os.kill(os.getpid(), 9)
"""
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode != 0
    with SqliteCache(path) as cache:
        assert cache.get_many([b"kept", b"\0"]) == {b"kept": b"1"}


def test_where_the_cache_lies(monkeypatch, tmp_path):
    monkeypatch.setenv("SGI_CACHE_DIR", str(tmp_path))
    assert default_cache_path() == tmp_path / "vectors.db"
    monkeypatch.setenv("SGI_CACHE_DIR", "~/somewhere")
    assert default_cache_path() == Path.home() / "somewhere" / "vectors.db"
    monkeypatch.delenv("SGI_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert default_cache_path().name == "vectors.db"
    assert "sgi" in default_cache_path().parts


def test_a_file_that_becomes_ours_while_it_is_looked_at_is_no_strangers(path):
    path.parent.mkdir()
    looking, making = (sqlite3.connect(path, timeout=0, isolation_level=None) for _ in range(2))

    def make_it_ours(statement: str) -> None:
        if "sqlite_master" in statement:
            with suppress(sqlite3.OperationalError):  # locked: whoever looks is not disturbed
                making.execute("PRAGMA application_id = 7")
                making.execute("CREATE TABLE entries (key BLOB PRIMARY KEY)")

    looking.set_trace_callback(make_it_ours)
    owner, names = owner_and_names(looking)
    assert bool(owner) == bool(names)
    looking.close()
    making.close()


_CACHE = "Close other programs; what the cache held before is kept."
_DATABASE = "Close other programs; what was written before is kept, and you can resume the run."
TESTS = Path(__file__).parents[2]


@pytest.mark.slow
def test_a_run_and_a_cache_go_through_every_step_without_memory(tmp_path):
    command = [sys.executable, "-m", "support.short_memory", str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": str(TESTS)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found["same"]
    assert min(found["refused"].values()) > 5
    assert found["messages"] == [
        f"The cache FILE cannot be used: out of memory. {_CACHE}",
        f"The database FILE cannot be used: out of memory. {_DATABASE}",
    ]


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
