import numpy as np
import pytest
from scipy import stats

from sgi.stats.intervals import clustered_standard_error
from sgi.stats.means import mean_interval
from sgi.stats.sample_size import clusters_needed, detectable_difference


@pytest.mark.parametrize("limit", [-0.02, -0.1, -0.3])
def test_without_a_change_it_is_the_smallest_number_whose_bound_reaches_the_limit(limit):
    few = 5
    end = -(1 - 0.025 ** (1 / few))
    needed = clusters_needed(0.0, limit, clusters=few, end=end, edge=-1.0)
    assert 1 - 0.025 ** (1 / needed) <= -limit < 1 - 0.025 ** (1 / (needed - 1))


def test_four_times_as_many_halve_an_interval():
    wide, narrow = (clusters_needed(0.9, 0.8, clusters=25, end=end) for end in (0.7, 0.8))
    assert wide == pytest.approx(4 * narrow, abs=4)
    assert clusters_needed(0.1, 0.2, clusters=25, end=0.3) == wide
    assert narrow > 25  # an interval that just reaches the limit reaches it again in half of the cases


@pytest.mark.parametrize(("mean", "limit", "pilot"), [(0.85, 0.8, 60), (0.9, 0.7, 30)])
def test_a_gate_passes_with_the_number_in_four_of_five_cases(mean, limit, pilot):
    rng = np.random.default_rng(9)
    values = (np.arange(pilot) < round(mean * pilot)).astype(float)
    end = mean_interval(values, low=0, high=1).low
    needed = clusters_needed(mean, limit, clusters=pilot, end=end, edge=0.0)
    drawn = (rng.random((300, needed)) < mean).astype(float)
    passes = np.mean([mean_interval(one, low=0, high=1).low >= limit for one in drawn])
    assert 0.72 <= passes <= 0.92


@pytest.mark.parametrize(
    ("value", "limit", "end"), [(0.7, 0.8, 0.6), (0.8, 0.8, 0.7), (0.9, 0.8, None), (0.9, 0.8, 0.9)]
)
def test_no_number_helps_a_value_beyond_the_limit(value, limit, end):
    assert clusters_needed(value, limit, clusters=25, end=end) is None


@pytest.mark.parametrize("tests", [1, 3, 10])
def test_the_detectable_difference_has_the_power_of_a_t_test(tests):
    sums, sizes = np.random.default_rng(8).normal(size=25), np.full(25, 4)
    shift = detectable_difference(sums, sizes, tests=tests) / clustered_standard_error(sums, sizes)
    power = stats.nct.sf(stats.t.ppf(1 - 0.025 / tests, 24), 24, shift)
    assert 0.8 <= power <= 0.82  # the interval is a little wider than Student's


def test_equal_differences_have_no_known_spread():
    assert detectable_difference(np.full(30, 0.1) + np.linspace(0, 1e-17, 30), np.ones(30)) is None
    assert detectable_difference(np.zeros(30), np.ones(30)) is None
