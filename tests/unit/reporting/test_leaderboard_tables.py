"""Tables of a leaderboard show latency, tokens and cost with their unit."""

import numpy as np

from sgi.analysis.leaderboard import leaderboard
from sgi.analysis.pareto import pareto
from sgi.analysis.systems import systems_of_runs
from sgi.kernel.amounts import format_amount
from sgi.reporting.leaderboard_tables import difference_tables, leaderboard_tables, pareto_table
from support.scored_runs import column, run


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
    (table,) = leaderboard_tables(board("wrong"))
    assert table.columns[3:5] == ("letters", "rank")
    assert [row[3:5] for row in table.rows] == [("a", "1 to 2"), ("a", "1 to 2"), ("b", "3")]
    assert all("rank" not in table.columns for table in leaderboard_tables(board()))
