"""Intervals hold the truth as often as they say, on data whose truth is known."""

import numpy as np
import pytest

from sgi.stats.paired_tests import paired_differences
from support import simulated
from support.scripts import load_script
from support.slow import slow

SETS = 2000
AT_ONCE = 250


@pytest.fixture(scope="module")
def simulation():
    with load_script("simulate") as script:
        yield script.means


def population(populations, name):
    (found,) = (one for one in populations if one.name == name)
    return found


# The bootstrap of the first version had 9 to 20 % of low ends above the truth of nearly constant values, and
# 11 % of high ends below that of the lognormal.
@pytest.mark.parametrize(
    ("name", "clusters", "rows", "most"),
    [
        ("92% at 1, others uniform", 30, 1, 0.045),
        ("0 or 1, share 0.95", 30, 1, 0.045),
        ("lognormal", 30, 1, 0.085),
        *slow(
            ("92% at 1, others uniform", 30, 8, 0.045),
            ("92% at 1, others uniform", 5, 1, 0.045),
            ("beta(8, 1)", 30, 1, 0.06),
            ("t of 3 degrees of freedom", 30, 1, 0.05),
        ),
    ],
)
def test_neither_end_of_an_interval_of_a_mean_is_wrong_too_often(simulation, name, clusters, rows, most):
    found = simulation.mean_coverage(population(simulation.MEANS, name), clusters, rows, 600)
    assert found.none == 0
    assert max(found.above, found.below) <= most


@pytest.mark.parametrize("clusters", [5, 12])
def test_skewed_values_in_few_clusters_have_no_interval(simulation, clusters):
    assert simulation.mean_coverage(population(simulation.MEANS, "lognormal"), clusters, 1, 40).none == 1


@pytest.mark.parametrize(
    ("name", "clusters", "rows"),
    [
        ("0/1: 6% lost, 0% gained", 30, 1),
        ("0/1: 2% lost, 8% gained", 30, 1),
        *slow(("90% unchanged, others −1 to 0.5", 12, 8), ("90% unchanged, others −1 to 0.5", 100, 1)),
    ],
)
def test_neither_end_of_an_interval_of_a_difference_is_wrong_too_often(simulation, name, clusters, rows):
    found, _ = simulation.difference_coverage(population(simulation.DIFFERENCES, name), clusters, rows, 600)
    assert found.none == 0
    assert max(found.above, found.below) <= 0.06


@pytest.mark.parametrize("questions", [10, *slow(5, 30, 100)])
def test_a_drop_of_six_points_does_not_pass_as_two(simulation, questions):
    for drop in simulation.DROPS:
        _, met = simulation.difference_coverage(drop, questions, 1, 400)
        assert met <= 0.03


@pytest.mark.parametrize(
    ("metrics", "clusters"),
    [
        (1, 12),
        *(pytest.param(10, clusters, marks=pytest.mark.slow) for clusters in (12, 100)),
        *slow((3, 30)),
    ],
)
def test_the_detectable_difference_is_found_four_times_in_five(simulation, metrics, clusters):
    assert 0.75 <= simulation.power(metrics, clusters, 4, 1000) <= 0.88


# Yes and no in 12 clusters is left out: sums tie so often that one of seventy is found.
@pytest.mark.parametrize(
    ("kind", "clusters"),
    [("normal", 12), *slow(("normal", 100), ("skewed", 12), ("skewed", 100), ("0.8 0.8", 100))],
)
def test_where_there_is_no_difference_one_of_twenty_is_found(kind, clusters):
    generator = np.random.default_rng((3, clusters))
    found = []
    for _ in range(SETS // AT_ONCE):
        first, second, truth = simulated.pairs(generator, kind, clusters, AT_ONCE)
        made = paired_differences(
            first,
            second - truth,
            simulated.codes(clusters),
            ranges=[1e3 if kind in {"normal", "skewed"} else 1.0] * AT_ONCE,
        )
        found += [each.p < 0.05 for each in made]
    assert 0.03 <= np.mean(found) <= 0.07


@pytest.mark.parametrize("place", [0, *slow(1, 2)])
def test_many_small_gains_and_few_large_losses_are_no_improvement(simulation, place):
    """The true mean is 0. Sign flips found a difference in 12 to 20 %."""
    assert simulation.false_verdicts(*simulation.SKEWED[place], SETS) <= 0.065
