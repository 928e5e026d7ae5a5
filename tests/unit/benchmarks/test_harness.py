from __future__ import annotations

import json
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import Figure, Timing, benchmark_main, rate_figure, time_alternately

numbers = st.floats(1e-6, 1e9)


@given(numbers, numbers, numbers)
def test_the_ratio_to_a_peer_says_how_many_times_better_we_are(ours, peer, target):
    rate = Figure("work", "rows/s", ours, peer, "peer", wanted=target)
    time = replace(rate, unit="s", higher_is_better=False)
    assert rate.ratio == ours / peer
    assert time.ratio == peer / ours
    assert rate.at_least
    assert time.at_least
    assert rate.met == (ours / peer >= target)
    assert time.met == (peer / ours >= target)


@given(numbers, numbers, numbers)
def test_the_ratio_to_a_bound_is_our_share_of_it(ours, bound, target):
    share = Figure("work", "GFLOP/s", ours, bound, "the machine", is_bound=True, wanted=target)
    time = replace(share, unit="s", higher_is_better=False)
    assert share.ratio == time.ratio == ours / bound
    assert share.met == (ours / bound >= target)
    assert time.met == (ours / bound <= target)


@given(numbers, numbers)
def test_without_a_comparison_our_result_is_compared_with_the_target(ours, target):
    assert Figure("work", "rows/s", ours, wanted=target).met == (ours >= target)
    assert Figure("work", "MB", ours, wanted=target, higher_is_better=False).met == (ours <= target)
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
def test_without_a_measurement_or_a_target_the_target_is_neither_met_nor_missed(figure):
    assert figure.met is None


@given(st.text(), st.none() | numbers, st.lists(numbers, max_size=3))
def test_a_figure_survives_a_round_trip_through_json(text, ours, repeats):
    figure = Figure(text, text, ours, 1.0, "peer", note=text, repeats={"ours": repeats})
    line = figure.to_json()
    assert len(line.splitlines()) == 1
    assert Figure.from_json(line) == figure


def test_functions_take_turns_and_warm_up_rounds_are_not_counted():
    calls = []
    times = time_alternately(
        {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, repeats=3, warm=2
    )
    assert "".join(calls) == "ab" * 5
    assert {name: len(timing.seconds) for name, timing in times.items()} == {"a": 3, "b": 3}
    assert all(second >= 0 for timing in times.values() for second in timing.seconds)


def test_a_rate_counts_the_units_of_ours_and_of_the_peer():
    times = {"ours": Timing((1.0, 2.0, 4.0)), "peer": Timing((1.0, 1.0, 5.0))}
    figure = rate_figure("embed", "texts/s", times, 8, peer_count=2, beside="peer", wanted=2)
    assert (figure.ours, figure.peer, figure.wanted) == (4.0, 2.0, 2)
    assert figure.repeats == {"ours": (8.0, 4.0, 2.0), "peer": (2.0, 2.0, 0.4)}
    alone = rate_figure("embed", "texts/s", {"ours": times["ours"]}, 8, beside="peer")
    assert (alone.peer, alone.ratio) == (None, None)


@pytest.mark.parametrize("as_json", [True, False])
def test_a_benchmark_script_prints_its_figures(monkeypatch, capsys, as_json):
    monkeypatch.setattr(sys, "argv", ["benchmark", "--quick", *(["--json"] if as_json else [])])

    def measure(*, quick):
        yield Figure("sort", "rows/s", 2.0 if quick else 1.0)

    benchmark_main(measure)
    out = capsys.readouterr().out
    if as_json:
        assert json.loads(out)["ours"] == 2.0
    else:
        assert "sort" in out
        assert "2 rows/s" in out
