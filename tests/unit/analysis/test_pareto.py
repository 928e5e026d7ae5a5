from __future__ import annotations

import numpy as np
import pytest

from sgi.analysis.leaderboard import leaderboard
from sgi.analysis.pareto import pareto
from sgi.analysis.systems import systems_of_runs
from sgi.kernel.errors import UnknownNameError, UsageError
from support.scored_runs import column, run


def board(n=40, spread=0.02, **systems):
    """A leaderboard of systems with these true means of quality and cost; a lower cost is better."""
    rng = np.random.default_rng(0)
    runs = [
        run(
            column("quality(k=1)", quality + rng.normal(0, spread, n), low=None, high=None),
            column("cost", cost + rng.normal(0, spread, n), low=None, high=None, higher_is_better=False),
            name=name,
        )
        for name, (quality, cost) in systems.items()
    ]
    return leaderboard(systems_of_runs(runs))


def verdicts(front):
    return {one.system: (one.verdict, one.others) for one in front.systems}


def test_clear_differences_give_sure_verdicts_in_the_direction_of_each_metric():
    front = pareto(board(large=(0.9, 0.8), small=(0.6, 0.2), bad=(0.5, 0.5)), "quality", "cost")
    assert verdicts(front) == {
        "large": ("surely on the front", ()),
        "small": ("surely on the front", ()),
        "bad": ("surely dominated", ("small",)),
    }
    assert [one.system for one in front.systems] == ["large", "small", "bad"]
    assert (front.quality.higher_is_better, front.cost.higher_is_better) == (True, False)
    assert (front.unit, front.quality.units, front.notes) == ("row", 40, ())


def test_a_difference_that_is_not_significant_gives_perhaps():
    result = board(spread=0.3, first=(0.500, 0.5), second=(0.501, 0.1))
    found = verdicts(pareto(result, "quality", "cost"))
    assert found["second"][0] == "surely on the front"
    assert found["first"][0] in {"perhaps on the front", "perhaps dominated"}
    assert found["first"][1] == ("second",)


def test_verdicts_follow_from_means_and_adjusted_p():
    rng = np.random.default_rng(3)
    seen = set()
    for _ in range(12):
        means = {f"s{n}": tuple(rng.choice([0.4, 0.42, 0.6, 0.7], 2)) for n in range(5)}
        result = board(spread=0.08, **means)
        quality, cost = result.metrics
        gains = {
            metric.metric: {
                (a.system, b.system): (a.mean - b.mean) * (1 if metric.higher_is_better else -1)
                for a in metric.systems
                for b in metric.systems
            }
            for metric in (quality, cost)
        }
        p = {
            metric.metric: {frozenset((one.first, one.second)): one.adjusted_p for one in metric.differences}
            for metric in (quality, cost)
        }

        def beats(metric, one, two, *, gains=gains, p=p):
            return gains[metric.metric][one, two] > 0 and p[metric.metric][frozenset((one, two))] < 0.05

        for one in pareto(result, "quality", "cost").systems:
            others = [name for name in means if name != one.system]
            sure = [
                name for name in others if beats(quality, name, one.system) and beats(cost, name, one.system)
            ]
            dominating = [
                name
                for name in others
                if gains[quality.metric][name, one.system] > 0 and gains[cost.metric][name, one.system] > 0
            ]
            unbeaten = [
                name
                for name in others
                if not (beats(quality, one.system, name) or beats(cost, one.system, name))
            ]
            expected = next(
                (verdict, names)
                for verdict, names in (
                    ("surely dominated", sure),
                    ("perhaps dominated", dominating),
                    ("perhaps on the front", unbeaten),
                    ("surely on the front", [None]),
                )
                if names
            )
            assert one.verdict == expected[0]
            assert set(one.others) == set(expected[1]) - {None}
            seen.add(one.verdict)
    assert len(seen) == 4


def test_equal_systems_do_not_dominate_each_other():
    same = run(column("quality", [0.5] * 10), column("cost", [0.5] * 10, higher_is_better=False), name="a")
    result = leaderboard(systems_of_runs([same, same.named("b")]))
    assert verdicts(pareto(result, "quality", "cost")) == {
        "a": ("perhaps on the front", ("b",)),
        "b": ("perhaps on the front", ("a",)),
    }


def test_metrics_over_different_questions_have_a_note():
    values = np.full(10, 0.5)
    some = np.where(np.arange(10) < 3, np.nan, values)
    runs = [run(column("quality", values), column("cost", some), name=name) for name in "ab"]
    front = pareto(leaderboard(systems_of_runs(runs)), "quality", "cost")
    assert front.notes == ("quality is compared over 10 rows, cost over 7.",)
    assert "quality against cost" in str(front)
    assert front.to_dict()["systems"][0]["verdict"] == "perhaps on the front"


def test_wrong_metrics_are_refused():
    result = board(a=(0.5, 0.5), b=(0.6, 0.4))
    with pytest.raises(UnknownNameError, match="speed"):
        pareto(result, "quality", "speed")
    with pytest.raises(UsageError):
        pareto(result, "cost", "cost")
    runs = [run(column("a", [0.5]), column("b", [np.nan]), name=name) for name in "xy"]
    with pytest.raises(UsageError):
        pareto(leaderboard(systems_of_runs(runs)), "a", "b")
