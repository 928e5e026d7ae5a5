from itertools import product
from math import comb

import numpy as np
import pytest

from sgi.stats.paired_tests import mcnemar
from sgi.stats.permutation_tests import binomial_tail, old_reply_p, sign_flip_p


@pytest.mark.parametrize("seed", range(4))
def test_signs_of_passes_and_failures_are_mcnemars_test(seed):
    before, after = np.random.default_rng(seed).integers(0, 2, (2, 30)).astype(float)
    exact = mcnemar(before, after)
    changed = exact.lost + exact.gained
    assert sign_flip_p(after - before) == pytest.approx(exact.p - comb(changed, exact.lost) / 2**changed)


@pytest.mark.parametrize("seed", range(4))
def test_sums_are_compared_with_all_signs(seed):
    gaps = np.random.default_rng(seed).integers(-80, 101, 9)
    gaps[0] = 100  # so that nothing is rounded
    sums = np.array([np.dot(signs, np.abs(gaps)) for signs in product((-1, 1), repeat=len(gaps))])
    expected = (np.mean(sums > abs(gaps.sum())) + np.mean(sums >= abs(gaps.sum()))) / 2
    assert sign_flip_p(gaps / 100) == pytest.approx(2 * expected)


def test_the_old_reply_is_compared_with_all_places():
    replies = np.array([[0, 1, 1], [0, 0, 1], [1, 1, 1], [0, 1, 1], [1, 0, 0.5]])
    places = [np.array(place) for place in product(range(3), repeat=len(replies))]
    rows = np.arange(len(replies))

    def middle_p(table):
        sums = np.array([table[rows, place].sum() for place in places])
        seen = table[:, 0].sum()
        return np.mean(sums > seen + 1e-9) + np.mean(np.abs(sums - seen) < 1e-9) / 2

    distances = np.abs(replies[:, :, None] - replies[:, None, :]).sum(axis=2)
    farther = middle_p(distances) / 0.8
    shifted = 2 * min(middle_p(replies), middle_p(-replies)) / 0.2
    assert old_reply_p(replies) == pytest.approx(min(1.0, farther, shifted))


def test_a_common_shift_is_found_within_noise():
    generator = np.random.default_rng(3)
    noise = generator.normal(0, 0.15, (100, 3))
    assert old_reply_p(noise) > 0.05
    assert old_reply_p(noise + np.array([0.0, 0.1, 0.1])) < 0.01


@pytest.mark.parametrize("count", range(8))
def test_the_tail_counts_all_outcomes(count):
    chances = [
        np.prod([0.3 if one else 0.7 for one in outcome])
        for outcome in product((0, 1), repeat=7)
        if sum(outcome) >= count
    ]
    assert binomial_tail(count, 7, 0.3) == pytest.approx(sum(chances))
