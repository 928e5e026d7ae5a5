import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import stdtr

from sgi.stats.effects import student_two_sided_p
from sgi.stats.intervals import (
    bootstrap_values,
    bounded_ratio,
    cluster_codes,
    effective_clusters,
    has_spread,
    rarer_class_clusters,
    ratio_of,
    ratio_slope,
    shuffled_labels,
    student_quantile,
)


def test_one_large_cluster_leaves_little_to_go_by():
    assert effective_clusters(np.array([3, 3, 3, 3])) == 4.0
    assert effective_clusters(np.array([1000, 1, 1, 1, 1])) == pytest.approx(1.0, abs=0.01)


def test_students_quantile_by_its_table():
    for freedom, quantile in ((5, 2.5706), (11, 2.2010), (29, 2.0452), (99, 1.9842)):
        assert student_quantile(0.95, freedom) == pytest.approx(quantile, rel=2e-4)
    assert student_quantile(0.95, 3) == pytest.approx(3.1824, rel=0.002)
    assert student_quantile(0.95, 0.1) == student_quantile(0.95, 1)


def test_clusters_of_another_length_are_refused():
    with pytest.raises(ValueError, match=r"`clusters` must have the shape \(3,\), not \(2,\)"):
        cluster_codes([1, 2], 3)


ratios = st.floats(1e-6, 1e6)


@given(ratios)
def test_a_ratio_and_its_inverse_balance_to_one(ratio):
    first, second = bounded_ratio([ratio, 1 / ratio])
    assert first + second == pytest.approx(1.0)
    assert ratio_of(float(first)) == pytest.approx(ratio, rel=1e-6)


@given(ratios, ratios)
def test_the_slope_turns_a_difference_of_shares_into_one_of_ratios(one, other):
    first, second = map(float, bounded_ratio([one, other]))
    assert ratio_slope(first, second) * (second - first) == pytest.approx(other - one, rel=1e-5, abs=1e-5)


def test_missing_values_stay_missing():
    assert np.isnan(bounded_ratio([np.nan])[0])


CODES = np.array([0, 0, 1, 2, 2, 2])


def test_a_draw_takes_clusters_whole_and_as_many_as_there_are():
    seen = []

    def statistic(weights):
        seen.append(weights)
        return weights[2] or None

    values = bootstrap_values(statistic, CODES, 400, seed=0)
    table = np.array(seen)
    assert (table[:, 0] == table[:, 1]).all()
    assert (table[:, 3] == table[:, 4]).all()
    assert (table[:, [0, 2, 3]].sum(axis=1) == 3).all()
    assert np.array_equal(np.isnan(values), table[:, 2] == 0)
    assert abs(table[:, 0].mean() - 1.0) < 0.15
    assert np.array_equal(bootstrap_values(lambda weights: weights[0], CODES, 400, seed=0), table[:, 0])
    assert not np.array_equal(bootstrap_values(lambda weights: weights[0], CODES, 400, seed=1), table[:, 0])


def test_draws_without_value_are_no_spread():
    assert not has_spread(np.array([np.nan, np.nan]))
    assert not has_spread(np.array([0.3, np.nan, 0.3]))
    assert has_spread(np.array([0.3, np.nan, np.nextafter(0.3, 1.0)]))


def test_the_rarer_class_is_counted_in_clusters_not_in_rows():
    assert rarer_class_clusters(CODES, np.array([1, 1, 0, 0, 0, 0], bool)) == 1
    assert rarer_class_clusters(CODES, np.array([1, 0, 1, 0, 0, 1], bool)) == 2
    assert rarer_class_clusters(CODES, np.zeros(6, bool)) == 0


def test_without_clusters_labels_take_every_order():
    truth = np.array([True, True, False, False])
    orders = {tuple(drawn.tolist()) for drawn in shuffled_labels(truth, np.arange(4), 200, seed=0)}
    assert len(orders) == 6


def test_labels_of_a_cluster_stay_together():
    truth, codes = np.array([1, 1, 0, 1, 0, 0, 0], bool), np.array([0, 0, 1, 1, 2, 2, 3])
    for drawn in shuffled_labels(truth, codes, 100, seed=0):
        # Two, one and no true rows in the clusters of two; the cluster of one is alone of its size.
        assert sorted(np.bincount(codes, drawn)[:3].tolist()) == [0.0, 1.0, 2.0]
        assert not drawn[6]


def test_clusters_need_not_stand_together():
    truth, codes = np.array([1, 0, 1, 0], bool), np.array([0, 1, 0, 1])
    drawn = {tuple(labels.tolist()) for labels in shuffled_labels(truth, codes, 50, seed=1)}
    assert drawn == {(True, False, True, False), (False, True, False, True)}


@given(st.floats(-2, 2.5), st.floats(-0.3, 6))
def test_student_equals_scipys(power_of_t, power_of_freedom):
    t, freedom = 10**power_of_t, 10**power_of_freedom
    assert student_two_sided_p(t, freedom) == pytest.approx(2 * stdtr(freedom, -t), rel=1e-12, abs=1e-300)


@pytest.mark.parametrize(("t", "expected"), [(0.0, 1.0), (1e200, 0.0), (float("inf"), 0.0)])
def test_student_at_the_ends(t, expected):
    assert student_two_sided_p(t, 7.5) == expected


@pytest.mark.parametrize("t", [1e-6, 1.0, 1e6])
def test_student_of_one_degree_of_freedom_is_cauchy(t):
    assert student_two_sided_p(t, 1.0) == pytest.approx(2 / math.pi * math.atan(1 / t), rel=1e-14)
