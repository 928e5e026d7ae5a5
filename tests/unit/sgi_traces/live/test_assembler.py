from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sgi_traces.live.assembler import Assembler, is_sampled
from sgi_traces.live.spool import EncodedSpan, WaitingTrace

IDS = st.binary(min_size=16, max_size=16).map(bytes.hex)


def span(trace, *, is_root=False):
    return EncodedSpan(trace, is_root, b"")


def done(assembler, now, **options):
    return [trace.trace_id for trace in assembler.complete(now, **options)]


@given(IDS, st.floats(0, 1), st.floats(0, 1))
def test_a_larger_share_has_all_traces_of_a_smaller_one(trace, one, other):
    assert is_sampled(trace, min(one, other)) <= is_sampled(trace, max(one, other))


def test_the_share_is_that_of_the_traces():
    ids = [number.to_bytes(16, "big").hex() for number in range(10_000)]
    assert 900 < sum(is_sampled(trace, 0.1) for trace in ids) < 1100


def test_a_trace_waits_for_its_root_and_for_silence():
    assembler = Assembler(quiet=5, oldest=100)
    assembler.add([span("a")], now=0, arrived=1e9)
    assert done(assembler, 50) == []
    assembler.add([span("a", is_root=True)], now=50, arrived=1e9 + 50)
    assembler.add([span("a")], now=54, arrived=1e9 + 54)
    assert done(assembler, 58.9) == []
    (trace,) = assembler.complete(59)
    assert (trace.spans, trace.arrived) == (3, 1e9)
    assert assembler.is_late("a")
    assert done(assembler, 1000) == []


def test_a_trace_without_a_root_ends_at_its_age():
    assembler = Assembler(quiet=5, oldest=100)
    for now in range(0, 120, 4):
        assembler.add([span("a")], now=now, arrived=1e9)
        if complete := done(assembler, now):
            assert (complete, now) == (["a"], 100)
            return
    raise AssertionError("the trace did not end")


def test_every_trace_can_be_completed_at_once():
    assembler = Assembler(quiet=5, oldest=100)
    assembler.add([span("a"), span("b", is_root=True)], now=0, arrived=1e9)
    assert done(assembler, 0, every=True) == ["a", "b"]


def test_the_traces_of_an_earlier_process_are_known():
    assembler = Assembler(quiet=5, oldest=100)
    assembler.restore([WaitingTrace("a", 3, 1e9, has_root=True)], ["b"], now=0)
    assert assembler.is_late("b")
    assert [(trace.spans, trace.arrived) for trace in assembler.complete(5)] == [(3, 1e9)]
