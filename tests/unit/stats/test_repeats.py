from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.stats.repeats import pass_at_k, pass_hat_k, variance_components


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


def drawn(seed, sizes, between, within):
    generator = np.random.default_rng(seed)
    questions = np.repeat(np.arange(len(sizes)), sizes)
    effects = generator.normal(0, np.sqrt(between), len(sizes))
    return effects[questions] + generator.normal(0, np.sqrt(within), len(questions)) + 5, questions


def test_balanced_components_are_those_of_the_textbook():
    values, questions = drawn(0, [4] * 30, 2.0, 1.0)
    table = values.reshape(30, 4)
    within = table.var(axis=1, ddof=1).mean()
    result = variance_components(values, questions)
    assert result.within == pytest.approx(within)
    assert result.between == pytest.approx(table.mean(axis=1).var(ddof=1) - within / 4)
    assert result.within_share == pytest.approx(within / (within + result.between))


def test_without_repeats_or_with_one_question_there_are_no_components():
    assert variance_components([1, 2, 3], [1, 2, 3]) is None
    assert variance_components([1, 2, 3], [1, 1, 1]) is None
    assert variance_components([], []) is None


@pytest.mark.parametrize(
    ("values", "between", "within", "share", "reason"),
    [
        ([0.1] * 12, 0.0, 0.0, None, "all values are equal"),
        ([0.1, 0.1, 0.7, 0.7] * 3, 0.108, 0.0, 0.0, "only questions differ"),
        ([0, 1] * 6, 0.0, 0.5, 1.0, "only answers to one question differ"),
    ],
)
def test_components_of_zero_have_a_reason_in_place_of_an_interval(values, between, within, share, reason):
    result = variance_components(values, np.repeat(range(6), 2))
    assert (round(result.between, 4), round(result.within, 4)) == (between, within)
    assert result.within_share == share
    assert (result.interval, result.no_interval) == (None, reason)


def test_more_answers_per_question_reduce_only_the_part_within_questions():
    result = variance_components(*drawn(1, [5] * 2000, 1.0, 4.0))
    one, many = result.standard_error(200, 1), result.standard_error(200, 10_000)
    assert one == pytest.approx(np.sqrt(5 / 200), rel=0.1)
    assert many == pytest.approx(np.sqrt(1 / 200), rel=0.1)


@given(st.floats(-1e6, 1e6), st.floats(0.01, 100))
def test_the_share_does_not_depend_on_shift_and_scale(shift, scale):
    values, questions = drawn(2, [2, 3, 4] * 5, 1.0, 1.0)
    first = variance_components(values, questions)
    second = variance_components(shift + scale * values, questions)
    assert second.within_share == pytest.approx(first.within_share, rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("sizes", "between"), [([3] * 60, 1.0), ([2, 3, 8] * 30, 0.3), ([5] * 40, 3.0)])
def test_the_interval_of_the_share_covers_the_truth(sizes, between):
    true = 1 / (1 + between)
    covered = total = 0
    for seed in range(600):
        interval = variance_components(*drawn(seed, sizes, between, 1.0)).interval
        if interval is not None:
            total += 1
            covered += interval.low <= true <= interval.high
    assert total > 500
    assert 0.92 < covered / total < 0.98
