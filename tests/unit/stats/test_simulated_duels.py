"""A judge that prefers the first and the longer response finds no difference where there is none."""

import numpy as np
import pytest

from support.scripts import load_script


@pytest.fixture(scope="module")
def simulation():
    with load_script("simulate") as script:
        yield script.duels


SETS = 60
# The binomial standard error of 5 % is 2.8 points with 60 data sets.
MOST = 0.13


@pytest.mark.parametrize("questions", [30, 100])
def test_a_longer_system_is_not_found_better_at_equal_length(simulation, questions):
    data = simulation.Data(lengths=(1.5, 1.0), questions=questions)
    found = simulation.results(simulation.Judge(), data, SETS)
    pairs = [one.pairs[0] for one in found]
    assert np.mean([pair.p < 0.05 for pair in pairs]) <= MOST
    assert np.mean([pair.at_equal_length for pair in pairs]) == pytest.approx(0.5, abs=0.03)
    assert np.mean([one.aa.shown_first for one in found]) >= 0.6
    assert abs(np.mean([one.aa.after for one in found])) <= 0.02


def test_a_win_rate_of_65_percent_is_found(simulation):
    data = simulation.Data((0.65, 0.5))
    pairs = [one.pairs[0] for one in simulation.results(simulation.Judge(), data, SETS)]
    assert np.mean([pair.p < 0.05 for pair in pairs]) >= 0.8
    covered = [
        pair.at_equal_length_interval.low <= 0.65 <= pair.at_equal_length_interval.high for pair in pairs
    ]
    assert np.mean(covered) >= 1 - MOST


@pytest.mark.slow
def test_strengths_of_equal_and_different_systems_cover(simulation):
    equal = simulation.Data((0.5,) * 3, (1.5, 1.0, 1.0), 30)
    for data in (equal, equal._replace(rates=(0.8, 0.65, 0.5))):
        named, ends, none = simulation.strength_errors(data, 300)
        assert max(ends) <= 0.055
        assert none == 0
        assert named <= 0.09 or data is not equal
