from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgi.analysis.compare import compare
from sgi.analysis.leaderboard import leaderboard
from sgi.analysis.pareto import pareto
from sgi.analysis.systems import compared_systems, systems_in_run, systems_of_runs
from sgi.kernel.errors import NotComparableError, UnknownNameError, UsageError
from sgi.stats.intervals import bounded_ratio, ratio_of
from support.scored_runs import column, run, with_systems

NAN = float("nan")


def noise(seed, n=60, mean=0.5):
    return np.clip(np.random.default_rng(seed).normal(mean, 0.1, n), 0, 1)


def three_systems(n=60):
    base = noise(0, n, 0.3)
    return [
        run(column("a", base), name="low"),
        run(column("a", base + 0.4 + noise(1, n, 0.05) / 10), name="high"),
        run(column("a", base + noise(2, n, 0.0) / 100 - 0.0005), name="low again"),
    ]


def test_systems_are_sorted_and_those_that_do_not_differ_share_a_letter():
    (metric,) = leaderboard(systems_of_runs(three_systems())).metrics
    assert metric.systems[0].system == "high"
    assert [score.letters for score in metric.systems] == ["a", "b", "b"]
    assert [(one.first, one.second) for one in metric.differences][:2] == [
        ("high", metric.systems[1].system),
        ("high", metric.systems[2].system),
    ]


@settings(max_examples=25)
@given(
    st.integers(2, 7),
    st.integers(2, 40),
    st.sampled_from([0.0, 0.05, 0.2, 0.5]),
    st.booleans(),
    st.integers(0, 1000),
)
def test_letters_and_ranks_agree_with_the_adjusted_p_of_each_pair(count, units, missing, higher, seed):
    generator = np.random.default_rng(seed)
    values = np.clip(
        generator.normal(0.5, 0.1, (units, 1))
        + generator.normal(0, 0.1, count) * generator.integers(0, 2)
        + generator.normal(0, 0.08, (units, count)),
        0,
        1,
    )
    values[generator.random(values.shape) < missing] = NAN
    runs = [
        run(column("a", of_system, higher_is_better=higher), name=f"s{place}")
        for place, of_system in enumerate(values.T)
    ]

    (metric,) = leaderboard(systems_of_runs(runs, allow_different=True)).metrics

    letters = {score.system: score.letters for score in metric.systems}
    tested = [one.adjusted_p for one in metric.differences if one.adjusted_p is not None]
    assert metric.units == np.isfinite(values).all(axis=1).sum()
    assert len(tested) == (len(metric.differences) if metric.units >= 5 else 0)
    if metric.no_letters:
        assert set(letters.values()) == {""}
        assert {score.ranks for score in metric.systems} == {None}
        assert all(p >= 0.05 for p in tested)
        return
    assert all(letters.values())
    assert "a" in metric.systems[0].letters
    for one in metric.differences:
        assert bool(set(letters[one.first]) & set(letters[one.second])) == (one.adjusted_p >= 0.05)
    won, lost = (
        Counter(getattr(one, side) for one in metric.differences if one.adjusted_p < 0.05)
        for side in ("first", "second")
    )
    for score in metric.systems:
        assert score.ranks == (1 + lost[score.system], count - won[score.system])
    for better, worse in pairwise(score.mean for score in metric.systems):
        assert better >= worse if higher else better <= worse


def test_two_runs_have_the_difference_that_compare_finds():
    base, new = three_systems()[:2]
    (compared,) = compare(base, new).metrics
    (metric,) = leaderboard(systems_of_runs([base, new])).metrics
    (one,) = metric.differences
    assert one.difference.difference == pytest.approx(-compared.difference.difference)
    assert one.difference.interval.low == pytest.approx(-compared.difference.interval.high)
    assert (one.difference.p, one.adjusted_p) == (compared.difference.p, compared.adjusted_p)


def test_p_is_corrected_for_all_pairs_and_all_metrics_also_those_not_selected():
    values = {name: noise(seed) for seed, name in enumerate("xyz")}
    runs = [run(column("a", values[name]), column("b", values[name][::-1]), name=name) for name in "xyz"]
    systems = systems_of_runs(runs)
    both, one = leaderboard(systems).metrics, leaderboard(systems, metrics=["b"]).metrics
    assert [metric.metric for metric in both] == ["a", "b"]
    assert one == both[1:]
    smallest = min((d for metric in both for d in metric.differences), key=lambda d: d.difference.p)
    assert smallest.adjusted_p == pytest.approx(min(1.0, 6 * smallest.difference.p))


def test_means_are_over_the_rows_that_have_a_value_for_every_system():
    runs = three_systems()
    values = runs[1].metrics["a"].values.copy()
    values[:20] = NAN
    runs[1] = run(column("a", values), name="high")
    result = leaderboard(systems_of_runs(runs, allow_different=True))
    (metric,) = result.metrics
    scores = {score.system: score for score in metric.systems}
    assert metric.units == 40
    assert scores["low"].mean == pytest.approx(runs[0].metrics["a"].values[20:].mean())
    assert [(scores[name].ok, scores[name].rows) for name in ("low", "high")] == [(60, 60), (40, 60)]
    assert any("only 40 of 60 rows have a value for each compared system" in note for note in result.notes)
    assert any(
        "high differs in more than the responses: rows without a value" in note for note in result.notes
    )


def test_a_difference_in_a_metric_that_is_not_selected_is_accepted():
    runs = [
        replace(run, metrics=run.metrics | {"b": replace(run.metrics["a"], metric="b", version=number)})
        for number, run in enumerate(three_systems(), 1)
    ]
    assert systems_of_runs(runs, metrics=["a"]).names == ("low", "high", "low again")
    with pytest.raises(NotComparableError, match="version of b: 1 → 2"):
        systems_of_runs(runs)


def test_rows_that_a_run_lacks_are_left_out_and_counted():
    ids = [f"q{place}" for place in range(60)]
    full = [run(column("a", noise(seed)), ids=ids, name=name) for seed, name in enumerate("xy")]
    part = run(column("a", noise(2)[:50]), ids=ids[:0:-1][:50], name="part")
    systems = systems_of_runs([*full, part])
    assert systems.values["a"].shape == (50, 3)
    assert systems.values["a"][0].tolist() == [noise(0)[10], noise(1)[10], noise(2)[49]]
    assert "50 rows are in all runs; the largest run has 60." in systems.notes


def test_a_ratio_has_the_mean_of_its_bounded_scale():
    values = [np.exp(noise(seed, mean=mean)) for seed, mean in ((0, 0.3), (1, 0.6))]
    columns = [replace(column("a", of, high=None), unit="ratio") for of in values]
    runs = [run(one, name=name) for one, name in zip(columns, "xy", strict=True)]
    (metric,) = leaderboard(systems_of_runs(runs)).metrics
    best = metric.systems[0]
    assert metric.is_ratio
    assert best.mean == pytest.approx(ratio_of(bounded_ratio(values[1]).mean()))
    assert best.interval.low < best.mean < best.interval.high


def test_the_systems_of_one_run_are_paired_by_question():
    questions = [f"q{place // 2}" for place in range(80)]
    values = np.where(np.arange(80) % 2, 0.8, 0.2) + noise(0, 80, 0.0)
    made = with_systems(["x", "y"] * 40, column("a", values), questions=questions)
    systems = systems_in_run(made, "model")
    assert (systems.names, systems.unit, systems.values["a"].shape) == (("x", "y"), "question", (40, 2))
    assert systems.values["a"][3].tolist() == values[6:8].tolist()
    (metric,) = leaderboard(systems).metrics
    assert [(score.system, score.letters) for score in metric.systems] == [("y", "a"), ("x", "b")]


def test_repeated_answers_of_a_system_are_averaged_and_gaps_are_counted():
    names = ["x", "x", "y", "x", "y", None, "x"]
    questions = ["q1", "q1", "q1", "q2", "q2", "q3", "q4"]
    made = with_systems(names, column("a", [0.2, 0.4, 1, 0.5, NAN, 0.9, 0.7]), questions=questions)
    systems = systems_in_run(made, "model")
    np.testing.assert_allclose(systems.values["a"], [[0.3, 1], [0.5, NAN], [0.7, NAN]])
    (metric,) = leaderboard(systems).metrics
    assert {one.system: (one.ok, one.rows) for one in metric.systems} == {"x": (4, 4), "y": (1, 2)}
    assert systems.notes[:3] == (
        "1 of 3 questions lacks an answer of a system.",
        "Left out: 1 row without the name of a system.",
        "1 of 3 questions has several answers of a system; their values are averaged.",
    )


def test_rows_without_any_text_are_not_one_question():
    names, values = ["x", "y"] * 10, column("a", [0.1] * 20)
    questions = ["q1", "q1", "q2", "q2", *[" "] * 16]
    systems = systems_in_run(with_systems(names, values, questions=questions), "model")
    assert len(systems.clusters) == 2
    assert systems.notes[0] == "Left out: 16 rows without question, contexts and reference."
    with pytest.raises(UsageError):
        systems_in_run(with_systems(names, values, questions=[""] * 20), "model")


@pytest.mark.parametrize("blank", ["", "  ", None])
def test_a_blank_name_is_no_system(blank):
    made = with_systems(["x", "y", blank] * 4, column("a", [0.1] * 12), questions=list("aaabbbcccddd"))
    systems = systems_in_run(made, "model")
    assert systems.names == ("x", "y")
    assert "Left out: 4 rows without the name of a system." in systems.notes


def test_a_single_system_with_values_has_no_letters_and_no_error():
    runs = [run(column("a", [0.5] * 9), name="x"), run(column("a", [NAN] * 9), name="y")]
    (metric,) = leaderboard(systems_of_runs(runs, allow_different=True)).metrics
    assert (metric.units, metric.no_letters) == (9, "only x can be compared")
    assert [(one.mean, one.letters, one.ok) for one in metric.systems] == [(0.5, "", 9), (None, "", 0)]


TWO_QUESTIONS = with_systems(["x", "y"], column("a", [0, 1]))
MANY_SYSTEMS = with_systems([f"s{place}" for place in range(27)], column("a", [0.5] * 27))


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: compared_systems(three_systems()[:1]), UsageError, "needs 2 to 26 systems; found 1"),
        (lambda: systems_of_runs([three_systems()[0]] * 2), UsageError, "low is given twice"),
        (lambda: systems_in_run(with_systems(["x"], column("a", [0])), "model"), UsageError, "found 1"),
        (lambda: systems_in_run(MANY_SYSTEMS, "model"), UsageError, "needs 2 to 26 systems; found 27"),
        (lambda: systems_in_run(TWO_QUESTIONS, "model"), UsageError, "of last has answers of two systems"),
        (lambda: systems_in_run(TWO_QUESTIONS, "modle"), UnknownNameError, "modle"),
        (lambda: leaderboard(systems_of_runs(three_systems()), metrics=["b"]), UnknownNameError, "have: a"),
    ],
)
def test_what_cannot_be_compared_is_refused(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_a_system_without_values_of_a_metric_leaves_the_others_compared():
    """A method without passages has no grounding; the methods with passages are still compared on it."""
    questions = [f"q{place // 3}" for place in range(60)]
    values = np.column_stack([np.linspace(0.6, 0.9, 20), np.linspace(0.2, 0.5, 20), np.full(20, NAN)])
    made = with_systems(
        ["local", "basic", "none"] * 20,
        column("a", values.ravel()),
        column("b", np.linspace(0, 1, 60)),
        questions=questions,
    )
    result = leaderboard(systems_in_run(made, "model"))
    first, second = result.metrics
    assert first.units == second.units == 20
    shown = [(one.system, one.letters, one.ok, one.rows) for one in first.systems]
    assert shown == [("local", "a", 20, 20), ("basic", "b", 20, 20), ("none", "", 0, 20)]
    assert not first.has_ranks
    assert [one.mean is None for one in first.systems] == [False, False, True]
    assert {(one.first, one.second) for one in first.differences} == {("local", "basic")}
    assert len(second.differences) == 3
    assert "none has no value of a, and is not compared on it." in result.notes
    front = pareto(result, "a", "b")
    assert [one.system for one in front.systems] == ["local", "basic"]
    assert front.notes == ("none is not compared on both a and b.",)


def test_a_metric_of_only_some_runs_is_compared_among_these():
    shared = column("b", noise(3))
    runs = [
        run(column("a", noise(1)), shared, name="x"),
        run(column("a", noise(2, mean=0.8)), shared, name="y"),
    ]
    result = leaderboard(systems_of_runs([*runs, run(shared, name="z")]))
    of_a = next(one for one in result.metrics if one.metric == "a")
    shown = [(one.system, one.letters, one.ok, one.rows) for one in of_a.systems]
    assert shown == [("y", "a", 60, 60), ("x", "b", 60, 60), ("z", "", 0, 60)]


@pytest.mark.slow
def test_equal_systems_get_different_letters_in_at_most_5_percent_of_the_simulations():
    wrong = 0
    for seed in range(400):
        generator = np.random.default_rng(seed)
        difficulty = generator.normal(0.5, 0.15, 50)
        runs = [
            run(
                *(
                    column(metric, np.clip(difficulty + generator.normal(0, 0.1, 50), 0, 1))
                    for metric in "ab"
                ),
                name=name,
            )
            for name in "wxyz"
        ]
        metrics = leaderboard(systems_of_runs(runs)).metrics
        wrong += any(score.letters != "a" for metric in metrics for score in metric.systems)
    # 400 simulations at 5 %: 95 % of such counts are below 28.
    assert wrong <= 28


def constants(*values, questions, high=1.0):
    columns = (column("made", [float(value)] * questions, high=high) for value in values)
    return leaderboard(systems_of_runs([run(one, name=f"s{place}") for place, one in enumerate(columns)]))


def test_where_nothing_can_differ_there_are_no_letters_but_a_reason():
    six = [1, 0.8, 0.6, 0.4, 0.2, 0]
    few, enough = constants(*six, questions=8), constants(*six, questions=9)
    assert {score.letters for score in few.metrics[0].systems} == {""}
    assert any("8 rows cannot show" in note for note in few.notes)
    assert [score.letters for score in enough.metrics[0].systems] == ["a", "ab", "ab", "ab", "ab", "b"]


def test_one_latency_in_each_row_of_a_system_is_a_certain_difference():
    result = constants(100, 200, 200, questions=9, high=None)
    assert [score.letters for score in result.metrics[0].systems] == ["a", "a", "b"]
    assert any("certain" in note for note in result.notes)


def test_the_reason_for_no_letters_names_the_pair_that_has_no_test():
    latency = 200 + np.arange(40) * 7 % 50
    runs = [
        run(column("made", latency + more, high=None, higher_is_better=False), name=name)
        for name, more in (("x", 0), ("y", 100), ("z", 100))
    ]
    (metric,) = leaderboard(systems_of_runs(runs)).metrics
    reason = "all differences are equal, and the metric's scale has no known ends"
    assert metric.no_letters == f"{reason} (x and y)"
    (metric,) = leaderboard(systems_of_runs(runs[:2])).metrics
    assert metric.no_letters == reason
