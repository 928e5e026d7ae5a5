from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.stats.repeats import pass_at_k, pass_hat_k


@given(st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_rates_count_all_subsets(case):
    n, passed, k = case
    subsets = list(combinations([True] * passed + [False] * (n - passed), k))
    assert pass_at_k(n, passed, k) == pytest.approx(np.mean([any(one) for one in subsets]))
    assert pass_hat_k(n, passed, k) == pytest.approx(np.mean([all(one) for one in subsets]))


@pytest.mark.parametrize("case", [(3, 4, 1), (3, -1, 1), (3, 1, 0), (3, 1, 4)])
def test_impossible_counts_are_refused(case):
    for function in (pass_at_k, pass_hat_k):
        with pytest.raises(ValueError, match="passed"):
            function(*case)
