"""Tables and charts of a leaderboard."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
import vl_convert

from sgi.analysis.amounts import format_amount
from sgi.analysis.leaderboard import leaderboard
from sgi.analysis.leaderboard_result import SystemGroup
from sgi.analysis.pareto import pareto
from sgi.analysis.passage_kinds import SystemPassages
from sgi.analysis.systems import systems_of_runs
from sgi.reporting.leaderboard_figures import pareto_figure, system_groups_figure, systems_figure
from sgi.reporting.leaderboard_view import difference_tables, leaderboard_tables, pareto_table, passages_table
from sgi.reporting.section_findings import leaderboard_findings
from support.scored_runs import column, run

HOSTILE = 'a.b["c\'d"](x=1) </script><img src=x onerror=alert(1)> \x00\x1b\u202e'


def board(*others):
    """A leaderboard of two systems, cheap and expensive, and of ``others`` that are always wrong."""
    generator = np.random.default_rng(1)
    runs = [
        run(
            column("rouge_l", np.clip(generator.normal(0.5, 0.1, 60), 0, 1)),
            column("cost", generator.lognormal(-10, 0.3, 60) * price, high=None, higher_is_better=False),
            column("latency", generator.lognormal(7, 0.3, 60), high=None, higher_is_better=False),
            name=name,
        )
        for name, price in (("cheap", 1), ("expensive", 3))
    ]
    runs += [run(column("rouge_l", np.zeros(60)), name=name) for name in others]
    return leaderboard(systems_of_runs(runs))


def test_small_costs_keep_their_digits_and_their_unit():
    result = board()
    scores = {one.system: one for one in result.metrics[1].systems}
    for table in (*leaderboard_tables(result), pareto_table(pareto(result, "rouge_l", "cost"))):
        shown = table.markdown()
        if "cost" in shown:
            assert all(format_amount(score.mean, "$") in shown for score in scores.values())
            assert "0.0000 " not in shown  # the usual four decimals would show every cost as 0
    differences = [*difference_tables(result)][1].markdown()
    difference = result.metrics[1].differences[0].difference
    assert format_amount(difference.difference, "$", sign="+") in differences
    ends = (format_amount(end, "$") for end in (difference.interval.low, difference.interval.high))
    assert f"[{', '.join(ends)}]" in differences
    assert " ms" in [*leaderboard_tables(result)][3].markdown()


def test_three_systems_have_ranks_and_two_have_none():
    _, table, *_ = leaderboard_tables(board("wrong"))
    assert table.columns[3:5] == ("letters", "rank")
    assert [row[3:5] for row in table.rows] == [("a", "1 to 2"), ("a", "1 to 2"), ("b", "3")]
    assert all("rank" not in table.columns for table in leaderboard_tables(board()))


def right(*numbers):
    """The values of 40 questions, of which these are answered right."""
    values = np.zeros(40)
    values[list(numbers)] = 1
    return column("squad_em", values)


@pytest.mark.parametrize(
    ("better", "sentence"),
    [
        ("", "no significant difference between A, B, C, D"),
        ("AC AD BC BD", "A, B ahead; significantly worse than another system: C, D"),
        ("AD", "A is significantly better than D; B, C are not separated from either"),
        ("BD", "B is significantly better than D; A, C are not separated from either"),
        ("AD BD", "A, B are significantly better than D; C is not separated from any of them"),
        # B is better than C, so that "from either" would be wrong.
        ("AD BC BD CD", "A is significantly better than D; B, C are not separated from A"),
    ],
)
def test_the_finding_says_what_the_tests_of_the_first_system_showed(better, sentence):
    runs = [run(right(*range(36 - 4 * place)), name=name) for place, name in enumerate("ABCD")]
    (metric,) = leaderboard(systems_of_runs(runs)).metrics
    assert [one.system for one in metric.systems] == [*"ABCD"]
    differences = [
        replace(one, adjusted_p=0.01 if f"{one.first}{one.second}" in better.split() else 0.5)
        for one in metric.differences
    ]
    systems = [replace(one, ranks=(1, 4)) for one in metric.systems]
    changed = replace(metric, differences=tuple(differences), systems=tuple(systems))
    (found,) = leaderboard_findings(replace(board(), metrics=(changed,)), percent=False)
    assert re.sub(r" 0\.\d{4}", "", found) == f"squad_em: {sentence}."


def test_the_passages_are_counted_over_all_questions_and_reasons_are_shown():
    kinds = {"source": 4.0, "report": 1.9}
    local = SystemPassages("local", 108, {"no answer": 2}, kinds, {}, 96, {"source": 0.25, "report": 0.75})
    nothing = {"the sample has no contexts (the row has no context_data)": 110}
    table = passages_table([local, SystemPassages("none", 0, nothing, {}, {}, 0, {})], "question")
    assert table.title == "Passages by kind, over the questions with passages, whose number is in brackets"
    assert table.rows == (
        ("local (108 of 110)", "mean number", "4.0", "1.9"),
        ("", "mean words", "–", "–"),
        ("", "share of citations (96 cite)", "25.00 %", "75.00 %"),
        ("", "2 without: no answer", "", ""),
        ("none (0 of 110)", "110 without: the sample has no contexts (the row has no context_data)", "", ""),
    )


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
    of_one = SystemGroup("easy", 40, (metric,), ())
    names = tuple(score.system for score in metric.systems)
    grouped = replace(board(), systems=names, metrics=(metric,), within="kind", groups=(of_one,))
    drawn = system_groups_figure(grouped, 0)
    assert [row["label"] for row in drawn["data"]["values"]] == ["easy"] * 3
    assert vl_convert.vegalite_to_svg(drawn)
    bare = replace(metric, systems=tuple(replace(score, interval=None) for score in metric.systems))
    without = replace(grouped, groups=(replace(of_one, metrics=(bare,)),))
    charts = chart, drawn, systems_figure(bare, "row"), system_groups_figure(without, 0)
    assert ["95 % interval" in json.dumps(one) for one in charts] == [True, True, False, False]
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
