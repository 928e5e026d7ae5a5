"""Systems within the groups of a column."""

import numpy as np
import pytest

from sgi.analysis.leaderboard import leaderboard
from sgi.analysis.systems import systems_in_run
from sgi.kernel.errors import UnknownNameError
from sgi.stats.paired_tests import holm
from support.scored_runs import column, with_systems


def test_groups_of_one_question_have_means_and_no_interval():
    kinds = ["rare"] * 2 + ["usual"] * 18
    questions = [f"q{place // 2}" for place in range(20)]
    made = with_systems(["x", "y"] * 10, column("a", [0.4, 0.6] * 10), questions=questions, kind=kinds)
    rare, usual = leaderboard(systems_in_run(made, "model"), within="kind").groups
    (of_rare,), (of_usual,) = rare.metrics, usual.metrics
    assert (rare.name, rare.units, [one.interval for one in of_rare.systems]) == ("rare", 1, [None, None])
    assert [one.mean for one in of_rare.systems] == [0.6, 0.4]
    assert of_rare.no_letters == "1 cluster is too few for an interval; 5 are needed"
    assert all(one.interval is not None for one in of_usual.systems)


def test_the_systems_of_each_group_have_letters_of_their_own():
    questions = [f"q{place // 2}" for place in range(80)]
    kinds = ["easy" if place < 40 else "hard" for place in range(80)]
    values = [0.9, 0.5] * 20 + [0.3, 0.3] * 20
    made = with_systems(["x", "y"] * 40, column("a", values), questions=questions, kind=kinds)
    result = leaderboard(systems_in_run(made, "model"), within="kind")
    easy, hard = result.groups
    assert [(easy.name, easy.units), (hard.name, hard.units)] == [("easy", 20), ("hard", 20)]
    shown = [(one.system, one.mean, one.letters, one.ok, one.rows) for one in easy.metrics[0].systems]
    assert shown == [("x", pytest.approx(0.9), "a", 20, 20), ("y", pytest.approx(0.5), "b", 20, 20)]
    assert [one.letters for one in hard.metrics[0].systems] == ["a", "a"]
    with pytest.raises(UnknownNameError, match="model, kind"):
        leaderboard(systems_in_run(made, "model"), within="type")


def test_a_question_with_another_group_for_each_system_is_in_neither_group():
    kinds = ["short", "long", "short", "short", None, "long", None, None]
    made = with_systems(
        ["x", "y"] * 4, column("a", [0.5] * 8), questions=[f"q{k // 2}" for k in range(8)], kind=kinds
    )
    groups = systems_in_run(made, "model").groups("kind")
    assert {name: mask.nonzero()[0].tolist() for name, mask in groups.items()} == {
        "(differs between systems)": [0],
        "short": [1],
        "long": [2],
        "(none)": [3],
    }


def test_p_in_groups_is_corrected_for_all_groups():
    questions = [f"q{place // 2}" for place in range(400)]
    kinds = [f"k{place // 20}" for place in range(400)]
    values = np.random.default_rng(5).normal(0.5, 0.1, 400)
    made = with_systems(["x", "y"] * 200, column("a", values), questions=questions, kind=kinds)
    groups = leaderboard(systems_in_run(made, "model"), within="kind").groups
    tests = [group.metrics[0].differences[0] for group in groups]
    assert [one.adjusted_p for one in tests] == list(holm([one.difference.p for one in tests]))
    assert min(one.difference.p for one in tests) < 0.05
    assert {score.letters for group in groups for score in group.metrics[0].systems} == {"a"}


@pytest.mark.slow
def test_equal_systems_get_different_letters_in_a_group_in_at_most_5_percent_of_the_simulations():
    wrong, kinds = 0, [f"k{place // 3 % 4}" for place in range(180)]
    questions = [f"q{place // 3}" for place in range(180)]
    for seed in range(400):
        generator = np.random.default_rng(seed)
        difficulty = np.repeat(generator.normal(0.5, 0.15, 60), 3)
        shares = np.clip(difficulty + generator.normal(0, 0.1, 180), 0, 1)
        passed = (generator.random(180) < difficulty).astype(float)
        columns = (column("a", shares), column("b", passed))
        made = with_systems(["x", "y", "z"] * 60, *columns, questions=questions, kind=kinds)
        groups = leaderboard(systems_in_run(made, "model"), within="kind").groups
        scores = [score for group in groups for metric in group.metrics for score in metric.systems]
        wrong += any(score.letters != "a" for score in scores)
    assert wrong <= 28  # 400 simulations at 5 %: 95 % of such counts are below 29
