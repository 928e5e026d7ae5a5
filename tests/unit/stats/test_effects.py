from statistics import correlation, fmean, stdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from sgi.stats.effects import cohen_d, pearson, ranks, spearman, welch_p

EFFECTS = [cohen_d, welch_p, pearson, spearman]
ONE, OTHER = [3.0, 5.0, 9.0, 8.0, 2.0], [20.0, 1.0, 6.0, 7.0, 4.0]


def test_cohens_d_by_its_definition():
    first, second = [3.0, 5.0, 9.0], [1.0, 2.0, 2.0, 7.0, 4.0]
    pooled = ((2 * stdev(first) ** 2 + 4 * stdev(second) ** 2) / 6) ** 0.5
    assert cohen_d(first, second) == pytest.approx((fmean(first) - fmean(second)) / pooled, rel=1e-14)
    assert cohen_d(second, first) == -cohen_d(first, second)
    assert cohen_d([1.0], [3.0, 5.0]) == pytest.approx(-3 / 2**0.5)


def test_spearman_sees_order_alone_and_shares_tied_ranks():
    assert spearman(ONE, np.exp(ONE)) == 1.0
    assert spearman([1, 2, 2, 9], [1, 2, 3, 4]) == pytest.approx(correlation([1, 2.5, 2.5, 4], [1, 2, 3, 4]))
    assert spearman([-np.inf, 0.0, np.inf], [3.0, 2.0, 1.0]) == -1.0


@pytest.mark.parametrize("value", [0.0, 0.1, 1e300, 5e-324, -7.3])
def test_what_does_not_vary_has_no_effect(value):
    """0.1 + 0.1 + 0.1 has a mean that is none of them: rounding must not pass for a spread."""
    same = np.full(3, value)
    assert cohen_d(same, same) is None
    assert cohen_d(same, same + 1.0) is None
    assert welch_p(same, same * 2) is None
    assert pearson(same, [1, 2, 3]) is None
    assert spearman([1, 2, 3], same) is None


def test_too_few_values_have_no_effect():
    for effect in EFFECTS:
        assert effect([], []) is None
        assert effect([1.0], [2.0]) is None
    assert cohen_d([], [1.0, 2.0]) is None
    assert welch_p([1.0], [1.0, 2.0]) is None


@pytest.mark.parametrize("effect", EFFECTS)
def test_what_is_no_column_of_numbers_is_refused(effect):
    with pytest.raises(ValueError, match=r"finite|NaN"):
        effect([1.0, np.nan], [1.0, 2.0])
    with pytest.raises(ValueError, match=r"finite|NaN"):
        effect([1.0, 2.0], [[1.0, 2.0]])


def test_infinite_values_are_refused_and_unequal_columns_do_not_pair():
    for effect in (cohen_d, welch_p, pearson):
        with pytest.raises(ValueError, match="finite"):
            effect([1.0, np.inf], [1.0, 2.0])
    for effect in (pearson, spearman):
        with pytest.raises(ValueError, match="must have the same length"):
            effect([1.0, 2.0, 3.0], [1.0, 2.0])


@pytest.mark.parametrize("size", [1e-300, 1e-10, 1e10, 1e300])
def test_the_unit_of_the_values_says_nothing(size):
    """Squares of such values overflow, or vanish."""
    one, other = np.array(ONE) * size, np.array(OTHER) * size
    for effect in EFFECTS:
        assert effect(one, other) == pytest.approx(effect(ONE, OTHER), rel=1e-12)


def test_values_that_differ_in_their_last_digit_do_differ():
    near = [1.0, 1.0 + 2**-52]
    assert pearson(near, [1.0, 2.0]) == pytest.approx(1.0, abs=1e-12)
    assert cohen_d([*near, 1.0], [*near, 1.0 + 2**-52]) == pytest.approx(-(3**-0.5))


def test_a_vast_difference_has_a_p_of_almost_nothing():
    generator = np.random.default_rng(0)
    first, second = generator.normal(size=(2, 4000))
    assert 0.0 <= welch_p(first, second + 5) < 1e-300
    assert welch_p([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]) == 1.0


@given(st.lists(st.floats(allow_nan=False), max_size=30))
def test_ranks_are_those_of_scipy(values):
    assert ranks(values).tolist() == rankdata(values).tolist()
