import pytest

from sgi.stats.sample_size import clusters_needed


@pytest.mark.parametrize("limit", [-0.02, -0.1, -0.3])
def test_without_a_change_it_is_the_smallest_number_whose_bound_reaches_the_limit(limit):
    few = 5
    end = -(1 - 0.025 ** (1 / few))
    needed = clusters_needed(0.0, limit, clusters=few, end=end, edge=-1.0)
    assert 1 - 0.025 ** (1 / needed) <= -limit < 1 - 0.025 ** (1 / (needed - 1))


def test_four_times_as_many_halve_an_interval():
    assert clusters_needed(0.9, 0.8, clusters=25, end=0.7) == 100
    assert clusters_needed(0.1, 0.2, clusters=25, end=0.3) == 100


def test_what_is_reached_already_needs_no_more():
    assert clusters_needed(0.9, 0.8, clusters=100, end=0.85) == 25


@pytest.mark.parametrize(
    ("value", "limit", "end"), [(0.7, 0.8, 0.6), (0.8, 0.8, 0.7), (0.9, 0.8, None), (0.9, 0.8, 0.9)]
)
def test_no_number_helps_a_value_beyond_the_limit(value, limit, end):
    assert clusters_needed(value, limit, clusters=25, end=end) is None
