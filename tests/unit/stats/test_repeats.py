from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.stats.means import mean_interval
from sgi.stats.pass_rates import pass_at_k, pass_hat_k


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


def mean_coverage(answers, judgements, *, by_question=True, runs=1000, questions=40):
    """The share of runs whose interval contains the expected value over questions, answers and judge.

    Each question has a rate from Beta(2, 1); each answer a rate near it, by which each judgement is 1.
    """
    generator = np.random.default_rng(answers * 10 + judgements)
    contained = 0
    for _ in range(runs):
        rates = generator.beta(2, 1, (questions, 1))
        of_answers = generator.beta(4 * rates + 1e-9, 4 * (1 - rates) + 1e-9, (questions, answers))
        values = generator.random((questions, answers, judgements)) < of_answers[:, :, None]
        clusters = np.repeat(np.arange(questions), answers * judgements)
        flat = values.ravel().astype(float)
        interval = mean_interval(flat, clusters if by_question else None, low=0.0, high=1.0)
        contained += interval.low <= 2 / 3 <= interval.high
    return contained / runs


@pytest.mark.slow
@pytest.mark.parametrize(("answers", "judgements"), [(1, 1), (1, 3), (3, 1), (3, 3)])
def test_the_interval_of_a_mean_covers_the_chance_of_answers_and_judge(answers, judgements):
    assert 0.935 < mean_coverage(answers, judgements) < 0.975


@pytest.mark.slow
def test_judgements_as_clusters_of_their_own_would_give_too_short_intervals():
    assert mean_coverage(3, 3, by_question=False) < 0.8
