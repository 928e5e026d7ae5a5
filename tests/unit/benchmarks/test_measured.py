from __future__ import annotations

import json
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measured import Figure, by_turns, peak_megabytes, piece, seconds_of

numbers = st.floats(1e-6, 1e9)


@given(numbers, numbers, numbers)
def test_beside_a_peer_the_ratio_says_how_many_times_better_ours_is(ours, peer, wanted):
    rate = Figure("work", "rows/s", ours, peer, "peer", wanted=wanted)
    time = replace(rate, unit="s", higher_is_better=False)
    assert rate.ratio == ours / peer
    assert time.ratio == peer / ours
    assert rate.at_least
    assert time.at_least
    assert rate.met == (ours / peer >= wanted)
    assert time.met == (peer / ours >= wanted)


@given(numbers, numbers, numbers)
def test_beside_a_bound_the_ratio_is_ours_over_it(ours, bound, wanted):
    share = Figure("work", "GFLOP/s", ours, bound, "the machine", is_bound=True, wanted=wanted)
    time = replace(share, unit="s", higher_is_better=False)
    assert share.ratio == time.ratio == ours / bound
    assert share.met == (ours / bound >= wanted)
    assert time.met == (ours / bound <= wanted)


@given(numbers, numbers)
def test_with_nothing_beside_ours_is_held_against_what_was_wanted(ours, wanted):
    assert Figure("work", "rows/s", ours, wanted=wanted).met == (ours >= wanted)
    assert Figure("work", "MB", ours, wanted=wanted, higher_is_better=False).met == (ours <= wanted)
    assert Figure("work", "MB", ours).ratio is None


@pytest.mark.parametrize(
    "figure",
    [
        Figure("work", "s", 1.0, None, "peer", wanted=2),
        Figure("work", "s", None, 1.0, "peer", wanted=2),
        Figure("work", "s", None, wanted=2),
        Figure("work", "s", 1.0, 1.0, "peer"),
    ],
)
def test_what_was_not_measured_or_not_wanted_is_neither_met_nor_missed(figure):
    assert figure.met is None


def test_a_number_beside_ours_has_a_name():
    with pytest.raises(ValueError, match="embed: a number stands beside ours"):
        Figure("embed", "s", 1.0, 2.0)


@given(st.text(), st.none() | numbers, st.lists(numbers, max_size=3))
def test_a_figure_comes_back_from_its_line(text, ours, repeats):
    figure = Figure(text, text, ours, 1.0, "peer", note=text, repeats={"ours": repeats})
    line = figure.to_json()
    assert len(line.splitlines()) == 1
    assert Figure.from_json(line) == figure


def test_turns_are_taken_and_the_warm_ones_are_not_counted():
    done = []
    times = by_turns({"a": lambda: done.append("a"), "b": lambda: done.append("b")}, repeats=3, warm=2)
    assert "".join(done) == "ab" * 5
    assert {name: len(timing.seconds) for name, timing in times.items()} == {"a": 3, "b": 3}
    assert all(second >= 0 for timing in times.values() for second in timing.seconds)


def test_work_may_bring_the_seconds_of_its_own_clock():
    told = iter([9.0, 3.0, 1.0, 2.0])
    times = by_turns({"peer": lambda: next(told)}, repeats=3, warm=1)
    assert times["peer"].seconds == (3.0, 1.0, 2.0)
    assert (times["peer"].median, times["peer"].least) == (2.0, 1.0)
    assert seconds_of(times) == {"peer": (3.0, 1.0, 2.0)}


def test_memory_is_told_in_megabytes():
    before = peak_megabytes()
    held = bytearray(80_000_000)
    held[::4096] = b"x" * len(held[::4096])
    assert 60 <= peak_megabytes() - before <= 120 or peak_megabytes() > 200
    del held


@pytest.mark.parametrize("as_json", [True, False])
def test_a_piece_alone_tells_its_figures(monkeypatch, capsys, as_json):
    monkeypatch.setattr(sys, "argv", ["piece", "--quick", *(["--json"] if as_json else [])])

    def measure(*, quick):
        yield Figure("sort", "rows/s", 2.0 if quick else 1.0)

    piece(measure)
    out = capsys.readouterr().out
    if as_json:
        assert json.loads(out)["ours"] == 2.0
    else:
        assert "sort" in out
        assert "2 rows/s" in out
