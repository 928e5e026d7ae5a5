from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from sgi.stats.two_samples import compare_labelled, compare_samples, permutation_p, unpaired_p
from support.slow import slow


def test_the_distance_is_that_of_scipy_also_with_ties():
    rng = np.random.default_rng(0)
    for decimals in (0, 1, 9):
        one, other = rng.normal(size=40).round(decimals), rng.normal(0.5, 1, size=70).round(decimals)
        found = compare_samples(one, other)
        assert found.distance == pytest.approx(stats.ks_2samp(one, other).statistic)


def test_the_p_value_is_the_exact_one_up_to_the_draws():
    rng = np.random.default_rng(1)
    one, other = rng.normal(size=25), rng.normal(0.6, 1, size=35)
    exact = stats.ks_2samp(one, other, method="exact").pvalue
    assert compare_samples(one, other, draws=5000).p == pytest.approx(exact, abs=0.02)


@pytest.mark.parametrize("share", [0.0, *slow(0.3)])
def test_equal_distributions_are_rejected_at_the_level(share):
    """Also where a third of the rows has no value."""
    rng = np.random.default_rng(2)

    def sample(rows):
        return np.where(rng.random(rows) < share, -np.inf, rng.normal(size=rows))

    p = np.array([compare_samples(sample(30), sample(200), draws=199, seed=k).p for k in range(300)])
    assert (p <= 0.05).mean() < 0.085
    assert (p <= 0.5).mean() < 0.57


def test_missing_values_count_as_the_lowest():
    many_missing = np.where(np.arange(100) < 60, -np.inf, 1.0)
    assert compare_samples(np.ones(40), many_missing).p <= 0.005


@pytest.mark.parametrize("samples", [([], [1.0]), ([1.0], []), ([np.nan], [1.0])])
def test_samples_without_values_are_refused(samples):
    with pytest.raises(ValueError, match="need values"):
        compare_samples(*samples)


def test_labels_of_middle_rows_are_noticed_and_random_ones_as_often_as_promised():
    rng = np.random.default_rng(3)
    values = rng.normal(size=300)
    clusters = np.arange(300) // 2
    assert compare_labelled(values, np.abs(values) < 0.2, clusters).p <= 0.01
    found = [compare_labelled(values, rng.permutation(300) < 60, clusters).p for _ in range(200)]
    assert np.mean(np.array(found) <= 0.01) <= 0.03


@pytest.mark.parametrize("power", [1, 4])
def test_the_gamma_approximation_is_near_the_exact_p_of_permutations(power):
    values = np.random.default_rng(1).random(16) ** power
    sums = np.array([values[list(each)].sum() for each in combinations(range(16), 5)])
    for chosen in combinations(range(0, 16, 2), 5):
        inside = np.isin(np.arange(16), chosen)
        observed = values[inside].sum()
        exact = 2 * min((sums >= observed - 1e-12).mean(), (sums <= observed + 1e-12).mean())
        assert permutation_p(values, inside) == pytest.approx(min(1, exact), abs=0.15)


def test_rows_of_one_question_on_both_sides_never_make_p_smaller():
    generator = np.random.default_rng(0)
    questions = np.repeat(np.arange(40), 2)
    values = generator.random(40)[questions] * 0.5 + np.tile([0.0, 0.1], 40) + generator.random(80) / 20
    inside = np.tile([True, False], 40)
    apart = unpaired_p(values, inside, low=0, high=1)
    assert unpaired_p(values, inside, questions, low=0, high=1) >= apart * (1 - 1e-9)


def test_equal_and_huge_values_have_a_p():
    inside = np.arange(60) < 30
    assert unpaired_p(np.ones(60), inside, low=0, high=1) == 1
    huge = np.where(inside, 1e110, 2e110) * np.linspace(0.9, 1, 60)
    assert unpaired_p(huge, inside) < 0.01
