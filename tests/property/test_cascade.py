"""The promise of a cascade, over many draws of labelled rows and new ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.stats.conformal import clearing_threshold, one_row_per_cluster

DRAWS = 2000


def misses(rng, n, alpha, draw):
    """Whether a new unsupported row is cleared by a threshold made of n others, over many draws."""
    missed = 0
    for _ in range(DRAWS):
        scores = draw(rng, n + 1)
        missed += scores[-1] > clearing_threshold(scores[:-1], alpha)
    return missed / DRAWS


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.2])
@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, n: rng.beta(1.0, 4.0, n),
        lambda rng, n: np.round(rng.beta(2.0, 2.0, n), 1),  # ties
    ],
    ids=["continuous", "with ties"],
)
def test_the_miss_rate_of_new_rows_stays_below_alpha(alpha, draw):
    rate = misses(np.random.default_rng(11), 60, alpha, draw)
    assert rate <= alpha + 3 * np.sqrt(alpha / DRAWS)


def test_it_is_not_wasteful_where_scores_do_not_tie():
    rate = misses(np.random.default_rng(12), 99, 0.1, lambda rng, n: rng.random(n))
    assert rate == pytest.approx(0.1, abs=0.015)


def test_many_answers_of_a_question_count_once_and_the_promise_holds_for_a_new_question():
    rng, missed = np.random.default_rng(13), 0
    for _ in range(1000):
        level = rng.normal(size=31)
        answers = rng.integers(1, 12, 31)
        scores = np.repeat(level, answers) + 0.1 * rng.normal(size=answers.sum())
        questions = np.repeat(np.arange(31), answers)
        old = questions < 30
        rows = np.flatnonzero(old)[one_row_per_cluster(questions[old])]
        missed += scores[~old][0] > clearing_threshold(scores[rows], 0.1)
    assert missed / 1000 <= 0.1 + 3 * np.sqrt(0.1 / 1000)


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=60),
    st.floats(0.01, 0.99),
    st.floats(0.01, 0.99),
)
def test_a_greater_alpha_clears_no_fewer_rows_and_never_too_many_of_its_own(scores, one, other):
    low, high = sorted((one, other))
    assert clearing_threshold(scores, high) <= clearing_threshold(scores, low)
    cleared = sum(score > clearing_threshold(scores, low) for score in scores)
    assert cleared <= low * (len(scores) + 1)
