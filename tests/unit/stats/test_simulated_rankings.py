"""Test the coverage of ranking intervals where a percentile bootstrap fails."""

import math

import pytest

from sgi.stats.intervals import Interval
from support.scripts import load_script

SETS = 150


@pytest.fixture(scope="module")
def simulation():
    with load_script("simulate") as script:
        yield script.rankings


# A percentile bootstrap of whole questions covers in 82 to 85 % of these cells.
@pytest.mark.parametrize(
    ("design", "questions", "share", "area"),
    [
        ("one or two", 30, 0.3, 0.96),
        ("same label", 100, 0.1, 0.96),
        ("pairs", 30, 0.5, 0.96),
    ],
)
def test_intervals_of_auroc_cover(simulation, design, questions, share, area):
    coverage = simulation.area_coverage(design, questions, share, area, SETS)
    assert coverage.covered >= 0.91
    assert coverage.above <= 0.06


def test_five_questions_rarely_have_an_interval(simulation):
    assert simulation.area_coverage("one or two", 5, 0.3, 0.76, 100).none >= 0.95


@pytest.mark.parametrize(("questions", "share", "area"), [(12, 0.5, 0.76), (100, 0.1, 0.76), (30, 0.5, 0.96)])
def test_equal_scores_rarely_differ_significantly(simulation, questions, share, area):
    coverage = simulation.difference_coverage("one or two", questions, share, (area, area), SETS)
    assert coverage.covered >= 0.91


def test_a_difference_near_1_is_covered(simulation):
    coverage = simulation.difference_coverage("one or two", 100, 0.1, (0.99, 0.9), SETS)
    assert coverage.covered >= 0.91  # AUROC difference ± t·SE covers in 88 %


def test_an_unknown_end_excludes_nothing_and_few_intervals_have_no_coverage(simulation):
    intervals = [Interval(low, 1.0, 0.95, "any") for low in (0.1, 0.3, 0.6, 0.7)] * 10
    coverage = simulation.coverage([*intervals, "a reason", None], 0.5)
    assert (coverage.above, coverage.below, coverage.covered) == (0.5, 0.0, 0.5)
    assert coverage.none == 2 / 42
    assert math.isnan(simulation.coverage(intervals[:29], 0.5).covered)
