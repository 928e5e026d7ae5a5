from __future__ import annotations

import pytest

from sgi.kernel.errors import DataError, StoreError
from sgi_traces.live import spool as module
from sgi_traces.live.spool import SpanSpool, encode
from sgi_traces.span import Event, Span

SPAN = Span(
    "a",
    "1",
    name="chain",
    start=3,
    attributes={"n": 1, "t": ["x", {"y": None}]},
    events=(Event("e", {"k": "v"}),),
)


def spans(trace, count, **fields):
    return [encode(Span(trace, str(number), **fields)) for number in range(count)]


@pytest.fixture
def spool(tmp_path):
    with_file = SpanSpool(tmp_path / "otlp", 10_000)
    yield with_file
    with_file.close()


def test_spans_come_back_as_they_were(spool):
    assert spool.add([encode(SPAN)], 1e9)
    assert spool.spans("a") == [SPAN]
    assert spool.spans("b") == []


def test_another_process_finds_the_spans_and_the_finished_traces(tmp_path, spool):
    spool.add(spans("a", 2, parent_id="9") + spans("b", 1), 1e9)
    spool.add(spans("a", 1), 1e9 + 5)
    spool.add(spans("c", 1), 1e9)
    spool.finish(["c"])
    spool.close()
    again = SpanSpool(tmp_path / "otlp", 10_000)
    facts = [(trace.trace_id, trace.spans, trace.first, trace.has_root) for trace in again.traces()]
    assert facts == [("a", 3, 1e9, True), ("b", 1, 1e9, True)]
    assert again.finished() == ["c"]
    assert again.size == spool.size > 0
    again.close()


def test_the_size_is_bounded_and_space_comes_back(spool):
    assert spool.add(spans("a", 10), 1e9)
    assert not spool.add(spans("b", 10), 1e9)
    assert spool.spans("b") == []
    spool.finish(["a"])
    assert spool.size == 0
    assert spool.add(spans("b", 10), 1e9)


def test_a_full_disk_is_named_and_nothing_is_stored(spool):
    spool._most = 10**9
    spool._database.execute("PRAGMA max_page_count=10")
    with pytest.raises(StoreError, match="disk is full"):
        spool.add([encode(Span("a", "1", attributes={"output.value": "x" * 50_000}))] * 2, 1e9)
    assert (spool.traces(), spool.size) == ([], 0)


def test_a_trace_above_the_limit_of_a_file_is_refused(spool, monkeypatch):
    monkeypatch.setenv("SGI_MAX_FILE", "1KB")
    spool.add(spans("a", 1) + spans("b", 3), 1e9)
    assert len(spool.spans("a")) == 1
    with pytest.raises(DataError, match="larger than 1 KB"):
        spool.spans("b")


def test_the_finished_traces_are_bounded(spool, monkeypatch):
    monkeypatch.setattr(module, "MAX_FINISHED", 3)
    for name in "abcdef":
        spool.finish([name])
    assert spool.finished() == ["d", "e", "f"]


def test_a_second_process_cannot_use_the_file(tmp_path, spool):
    spool.add(spans("a", 1), 1e9)
    with pytest.raises(StoreError, match="Another process uses"):
        SpanSpool(tmp_path / "otlp", 10_000)


def test_the_file_is_private(tmp_path, spool):
    spool.add(spans("a", 1), 1e9)
    assert {path.stat().st_mode & 0o077 for path in tmp_path.iterdir()} == {0}


def test_memory_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    spool = SpanSpool(None, 10_000)
    spool.add(spans("a", 1), 1e9)
    assert spool.in_memory
    assert list(tmp_path.iterdir()) == []
    spool.close()


@pytest.mark.parametrize("content", [b"not a database" * 100, b""])
def test_a_file_of_another_kind(tmp_path, content):
    (tmp_path / "otlp").write_bytes(content)
    if content:
        with pytest.raises(StoreError, match="cannot be used"):
            SpanSpool(tmp_path / "otlp", 10_000)
    else:
        SpanSpool(tmp_path / "otlp", 10_000).close()


def test_a_folder_that_does_not_exist(tmp_path):
    with pytest.raises(StoreError, match="cannot be used"):
        SpanSpool(tmp_path / "no" / "otlp", 10_000)
