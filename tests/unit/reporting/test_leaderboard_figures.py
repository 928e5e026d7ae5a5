from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import vl_convert

from sgi.analysis.leaderboard import leaderboard
from sgi.analysis.pareto import pareto
from sgi.analysis.systems import systems_of_runs
from sgi.reporting.leaderboard_figures import pareto_figure, systems_figure
from support.scored_runs import column, run

HOSTILE = 'a.b["c\'d"](x=1) </script><img src=x onerror=alert(1)> \x00\x1b\u202e'


def test_systems_are_drawn_with_their_letters():
    rng = np.random.default_rng(0)
    runs = [
        run(column("a", rng.uniform(low, low + 0.2, 40)), name=f"{name} {HOSTILE}")
        for name, low in (("worse", 0.2), ("best", 0.6), ("poor", 0.2))
    ]
    (metric,) = leaderboard(systems_of_runs(runs)).metrics
    chart = systems_figure(metric, "row")
    assert [row["label"][:4] for row in chart["data"]["values"]] == ["best", "poor", "wors"]
    letters = chart["layer"][-1]["data"]["values"]
    assert [row["letters"] for row in letters] == ["a", "b", "b"]
    assert letters[0]["end"] == pytest.approx(metric.systems[0].interval.high)
    assert chart["description"].startswith("a over 40 rows, best system first: best")
    assert vl_convert.vegalite_to_svg(chart)
    empty = replace(metric, systems=tuple(replace(score, mean=None) for score in metric.systems))
    with pytest.raises(ValueError, match="No system has a mean"):
        systems_figure(empty, "row")


def test_the_front_has_both_intervals_and_joins_its_systems():
    rng = np.random.default_rng(0)
    runs = [
        run(
            column("quality", rng.uniform(quality, quality + 0.2, 40)),
            column("cost", rng.uniform(cost, cost + 0.2, 40), higher_is_better=False),
            name=name,
        )
        for name, quality, cost in (("large", 0.8, 0.8), ("small", 0.5, 0.2), (HOSTILE, 0.3, 0.5))
    ]
    front = pareto(leaderboard(systems_of_runs(runs)), "quality", "cost")
    chart = pareto_figure(front)
    assert chart["layer"][0]["mark"]["interpolate"] == "step-after"
    first, *_, last = chart["data"]["values"]
    assert first["quality_low"] < first["quality"] < first["quality_high"]
    assert first["cost_low"] < first["cost"] < first["cost_high"]
    assert last["verdict"] == "surely dominated"
    assert chart["description"].startswith(
        "quality against cost of 3 systems. Surely on the front: large, small;"
    )
    assert vl_convert.vegalite_to_svg(chart)
    assert (
        pareto_figure(pareto(leaderboard(systems_of_runs(runs)), "cost", "quality"))["layer"][0]["mark"][
            "interpolate"
        ]
        == "step-before"
    )
