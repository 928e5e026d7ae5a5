from itertools import combinations

import numpy as np
import pytest

from sgi.stats.two_samples import permutation_p, unpaired_p


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
