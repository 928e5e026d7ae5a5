import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.stats.intervals import bounded_ratio, ratio_of, ratio_slope

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
