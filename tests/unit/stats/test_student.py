import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import stdtr

from sgi.stats.effects import student_two_sided_p


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
