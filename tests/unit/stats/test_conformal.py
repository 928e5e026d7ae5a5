import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binom

from sgi.stats.conformal import (
    FLAGS_NOTHING,
    clearing_threshold,
    conformal_threshold,
    highest_share,
    length_thresholds,
    one_row_per_cluster,
    rows_needed,
    stratum_of,
)

rates = st.sampled_from([0.01, 0.05, 0.07, 0.1, 0.29, 0.5, 0.9])


def flagged(scores, threshold):
    return np.asarray(scores) < threshold


@given(st.lists(st.integers(-5, 5).map(float), max_size=120), rates)
def test_of_a_row_drawn_from_among_its_like_no_more_than_the_rate_is_flagged(scores, rate):
    """The promise itself, without chance: leave each of n + 1 rows out in turn, and count those flagged."""
    if not scores:
        return
    out = [
        flagged(scores[k], conformal_threshold(scores[:k] + scores[k + 1 :], rate))
        for k in range(len(scores))
    ]
    assert np.mean(out) <= rate + 1e-12


@given(st.lists(st.floats(-1e9, 1e9), unique=True, min_size=1, max_size=120), rates)
def test_without_ties_the_share_is_as_near_as_rows_allow(scores, rate):
    found = [
        flagged(scores[k], conformal_threshold(scores[:k] + scores[k + 1 :], rate))
        for k in range(len(scores))
    ]
    assert np.mean(found) > rate - 1 / len(scores) - 1e-12


@pytest.mark.parametrize(
    ("n", "rate", "place"), [(99, 0.05, 5), (100, 0.05, 5), (99, 0.29, 29), (19, 0.05, 1)]
)
def test_the_place_is_counted_without_rounding(n, rate, place):
    assert conformal_threshold(np.arange(1, n + 1), rate) == place


@pytest.mark.parametrize(("n", "rate"), [(0, 0.5), (18, 0.05), (98, 0.01)])
def test_too_few_rows_flag_nothing(n, rate):
    assert rate < 1 / (n + 1)
    assert conformal_threshold(np.zeros(n), rate) == FLAGS_NOTHING == -math.inf


@pytest.mark.parametrize(("rate", "confidence"), [(0.05, 0.95), (0.1, 0.9), (0.01, 0.99)])
def test_with_a_confidence_the_place_is_that_of_the_binomial_distribution(rate, confidence):
    needed = rows_needed(rate, confidence)
    assert conformal_threshold(range(1, needed), rate, confidence=confidence) == FLAGS_NOTHING
    for n in (needed, 2 * needed, 900):
        place = conformal_threshold(range(1, n + 1), rate, confidence=confidence)
        assert binom.cdf(place - 1, n, rate) <= 1 - confidence < binom.cdf(place, n, rate)


def test_the_confidence_of_all_strata_together_is_shared_among_them():
    scores, lengths = np.arange(200.0), np.tile([1, 2], 100)
    found = length_thresholds(scores, lengths, 0.05, bins=2, confidence=0.95)
    alone = conformal_threshold(scores[::2], 0.05, confidence=0.975)
    assert found.thresholds == (alone, alone + 1)
    assert length_thresholds(scores[:160], lengths[:160], 0.05, bins=2, confidence=0.99).edges == ()


def test_rows_equal_to_the_threshold_pass():
    assert not flagged(np.full(40, 3.0), conformal_threshold(np.full(40, 3.0), 0.5)).any()


def test_the_rate_holds_for_new_questions_where_rows_of_old_ones_break_it():
    """Good answers are given nine times, bad ones once; of all rows they are the lowest tenth."""
    generator = np.random.default_rng(0)
    rate, by_question, by_row = 0.1, [], []
    new = generator.normal(size=5000)
    for draw in range(300):
        known = generator.normal(size=100)
        questions = np.repeat(np.arange(100), np.where(known > 0, 9, 1))
        scores = known[questions] + 0.1 * generator.normal(size=len(questions))
        drawn = one_row_per_cluster(questions, seed=draw)
        by_question.append(flagged(new, conformal_threshold(scores[drawn], rate)).mean())
        by_row.append(flagged(new, conformal_threshold(scores, rate)).mean())
    assert np.mean(by_question) == pytest.approx(10 / 101, abs=0.006)
    assert np.mean(by_row) > 4 * rate


@given(st.lists(st.integers(0, 8), max_size=60), st.integers(0, 3))
def test_one_row_of_each_cluster_is_drawn(clusters, seed):
    drawn = one_row_per_cluster(clusters, seed=seed)
    assert sorted(np.asarray(clusters)[drawn].tolist()) == sorted(set(clusters))
    assert drawn.tolist() == sorted(drawn.tolist())
    assert drawn.tolist() == one_row_per_cluster([f"cluster {code}" for code in clusters], seed=seed).tolist()


def test_every_row_of_a_cluster_is_as_likely_to_be_drawn():
    counts = np.zeros(6)
    for seed in range(1200):
        counts[one_row_per_cluster([0, 0, 0, 0, 1, 1], seed=seed)] += 1
    assert counts[:4] == pytest.approx(300, abs=60)
    assert counts[4:] == pytest.approx(600, abs=70)


def sample(generator, n):
    """Longer answers score lower, so that one threshold for all flags mostly these."""
    lengths = np.rint(generator.gamma(2.0, 30.0, size=n)).astype(np.int64)
    return generator.normal(size=n) - lengths / 25, lengths


def test_strata_are_fewer_where_rows_are_few():
    generator = np.random.default_rng(2)
    for n, strata in ((400, 4), (150, 3), (100, 2), (79, 1), (10, 1), (0, 1)):
        scores, lengths = sample(generator, n)
        made = length_thresholds(scores, lengths, 0.05, bins=4)
        assert len(made.thresholds) == len(made.rows) == len(made.edges) + 1 == strata
        assert sum(made.rows) == n
        assert strata == 1 or min(made.rows) >= 40


def test_a_small_rate_wants_more_rows_in_a_stratum_than_forty():
    scores, lengths = sample(np.random.default_rng(3), 400)
    made = length_thresholds(scores, lengths, 0.01, bins=4)
    assert min(made.rows) >= 99
    assert len(made.thresholds) == 3
    assert np.isfinite(made.thresholds).all()


@given(st.lists(st.integers(0, 6), min_size=1, max_size=300), st.integers(1, 6), st.integers(1, 40), rates)
def test_every_length_is_in_one_stratum_of_its_own_threshold(lengths, bins, fewest, rate):
    scores = np.random.default_rng(0).normal(size=len(lengths))
    made = length_thresholds(scores, lengths, rate, bins=bins, min_rows=fewest)
    assert 1 <= len(made.thresholds) <= bins
    assert list(made.edges) == sorted(set(made.edges))
    places = stratum_of(lengths, made.edges)
    assert np.bincount(places, minlength=len(made.rows)).tolist() == list(made.rows)
    for stratum, threshold in enumerate(made.thresholds):
        assert threshold == conformal_threshold(scores[places == stratum], rate)
    assert made.of(lengths).tolist() == [made.thresholds[place] for place in places]
    assert made.of([10**9, 0]).tolist() == [made.thresholds[-1], made.thresholds[0]]


@given(
    st.lists(st.integers(0, 5), max_size=60),  # few values, many ties
    st.floats(0.01, 0.99),
)
def test_to_clear_is_to_flag_with_the_kinds_and_the_directions_changed_over(scores, rate):
    threshold = clearing_threshold(scores, rate)
    assert threshold == -conformal_threshold([-score for score in scores], rate)
    cleared = sum(score > threshold for score in scores)
    assert cleared <= math.floor(rate * (len(scores) + 1) + 1e-9)
    assert threshold in scores or threshold == math.inf


@pytest.mark.parametrize("rate", [0, 1, -0.1, 1.5, math.nan, math.inf])
def test_a_rate_lies_between_0_and_1(rate):
    with pytest.raises(ValueError, match=r"`rate` must be in \(0, 1\)"):
        conformal_threshold([1.0], rate)
    with pytest.raises(ValueError, match="`rate` must be in"):
        clearing_threshold([1.0], rate)
    with pytest.raises(ValueError, match="`rate` must be in"):
        length_thresholds([1.0], [1], rate)


@pytest.mark.parametrize(
    ("scores", "lengths", "bins", "words"),
    [
        ([1.0, math.nan], [1, 2], 4, "finite scores"),
        ([[1.0]], [[1]], 4, "finite scores"),
        ([1.0, 2.0], [1], 4, "must be finite"),
        ([1.0, 2.0], [1, math.nan], 4, "must be finite"),
        ([1.0, 2.0], [1, 2], 0, "`bins` must be"),
    ],
)
def test_rows_that_make_no_sense_are_refused(scores, lengths, bins, words):
    with pytest.raises(ValueError, match=words):
        length_thresholds(scores, lengths, 0.05, bins=bins)


@pytest.mark.parametrize(("count", "n"), [(0, 1), (0, 59), (3, 20), (19, 20), (499, 5000)])
@pytest.mark.parametrize("tail", [0.05, 1e-4])
def test_the_highest_share_is_a_quantile_of_beta(count, n, tail):
    assert highest_share(count, n, tail) == pytest.approx(beta.ppf(1 - tail, count + 1, n - count))
    assert highest_share(n, n, tail) == 1
