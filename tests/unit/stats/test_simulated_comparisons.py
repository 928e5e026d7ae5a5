"""Percentiles, pass rates, gates on p95 and tests of many systems are wrong as rarely as they say."""

import numpy as np
import pytest

from sgi.stats.pass_rates import pass_at_k, pass_hat_k
from support.scripts import load_script
from support.slow import slow


@pytest.fixture(scope="module")
def simulation():
    with load_script("simulate") as script:
        yield script.comparisons


# The binomial standard error of 2.5 % is 0.78 points with 400 data sets, and 0.35 with 2,000.
FEW, FEW_MOST = 400, 0.05
MANY, MANY_MOST = 2000, 0.036


@pytest.mark.parametrize("share", [0.95, *slow(0.5)])
@pytest.mark.parametrize("rows", [20, 50, 200, 1000])
def test_neither_end_of_a_percentile_is_wrong_too_often(simulation, share, rows):
    found = simulation.percentile_coverage(share, np.arange(rows), MANY, seed=(rows, 1))
    assert max(found.above, found.below) <= MANY_MOST
    assert found.none == (share == 0.95 and rows < 72)


@pytest.mark.parametrize(("questions", "rows"), [(50, 8), (200, 3)])
def test_neither_end_of_a_percentile_of_clusters_is_wrong_too_often(simulation, questions, rows):
    codes = simulation.clusters_of(questions, rows)
    found = simulation.percentile_coverage(0.95, codes, FEW, seed=(questions, rows))
    assert max(found.above, found.below) <= FEW_MOST


@pytest.mark.parametrize("share", [0.5, 0.95])
@pytest.mark.parametrize("part", [0.7, *slow(0.2, 0.4)])
def test_nor_if_one_question_has_a_large_part_of_the_rows(simulation, share, part):
    codes = simulation.one_large_cluster(100, part)
    found = simulation.percentile_coverage(share, codes, FEW, seed=(100, len(codes)), shared=0.9)
    assert max(found.above, found.below) <= FEW_MOST
    assert found.none == 0


def test_a_gate_on_p95_keeps_its_error_rate_and_passes_a_run_far_below_its_limit(simulation):
    assert simulation.gate_passes(50, 1, 50) == 0
    assert simulation.gate_passes(200, 1, FEW) <= FEW_MOST
    assert simulation.gate_passes(200, 1, 50, excess=0.25) == 1


@pytest.mark.parametrize("formula", [pass_at_k, pass_hat_k])
@pytest.mark.parametrize("k", [1, 3, 5])
def test_pass_rates_have_no_bias_and_their_intervals_cover(simulation, formula, k):
    bias, found = simulation.pass_rates(formula, 5, k, 50, FEW)
    assert abs(bias) < 0.01
    assert max(found.above, found.below) <= FEW_MOST


def test_components_of_variance_have_no_bias_and_their_shares_cover(simulation):
    for bias, found in simulation.component_errors((1.0, 0.5, 0.5), FEW):
        assert abs(bias) < 0.04
        assert max(found.above, found.below) <= FEW_MOST


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "questions", "rows"), [("any", 20, 1), ("any", 50, 1), ("any", 50, 3), ("0 or 1", 60, 1)]
)
def test_five_equal_systems_differ_in_at_most_one_of_twenty_data_sets(simulation, kind, questions, rows):
    assert simulation.false_letters(kind, 5, questions, rows, MANY) <= 0.065


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["0 or 1", "skewed"])
def test_the_ranks_of_equal_and_different_systems_hold_together(simulation, kind):
    wrong, ranks = simulation.rank_errors(kind, (0.8, 0.6, 0.6, 0.4, 0.4), 100, 150)
    assert wrong <= 0.11
    assert ranks < 2.5


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["0 or 1", "skewed"])
def test_few_of_the_named_groups_are_false(simulation, kind):
    wrong, found = simulation.group_errors(kind, 100, 0.8, (0.95, 0.95, 0.7, 0.7, 0.7), 60)
    assert wrong <= 0.12
    assert found >= 0.5
    assert simulation.group_errors(kind, 12, 0.1, (), 60)[0] <= 0.12
