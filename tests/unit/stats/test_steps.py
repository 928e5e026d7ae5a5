import numpy as np
import pytest

from sgi.stats.steps import Steps, Within, row_weights, scores_and_truths, values_and_truths

SCORES = np.array([2.0, np.inf, 2.0, -np.inf, 0.0, -0.0, np.inf])


def test_equal_scores_share_a_step():
    steps = Steps.of(SCORES)
    assert SCORES[steps.order][steps.starts].tolist() == [-np.inf, 0.0, 2.0, np.inf]
    weights = np.arange(7.0)
    assert steps.sums(weights).tolist() == [3.0, 9.0, 2.0, 7.0]
    assert steps.of_rows(steps.sums(weights)).tolist() == [2.0, 7.0, 2.0, 3.0, 9.0, 9.0, 7.0]


def test_no_step_reaches_over_two_strata():
    steps = Steps.of(np.zeros(4), np.array([1, 0, 1, 0]))
    assert steps.sums(np.array([1.0, 2.0, 4.0, 8.0])).tolist() == [10.0, 5.0]


def test_no_rows_make_no_steps():
    for steps in (Steps.of(np.zeros(0)), Steps.of(np.zeros(0), np.zeros(0, np.int64))):
        assert steps.sums(np.zeros(0)).tolist() == steps.of_rows(np.zeros(0)).tolist() == []


def test_weights_within_strata_are_repeats_of_rows():
    generator = np.random.default_rng(0)
    scores, truth = generator.integers(0, 5, 60).astype(float), generator.random(60) < 0.5
    strata, times = generator.integers(0, 6, 60), generator.integers(0, 4, 60)
    weighted = Within.of(scores, truth, strata).area(times.astype(float))
    written_out = Within.of(*(np.repeat(column, times) for column in (scores, truth, strata)))
    assert weighted == written_out.area(np.ones(times.sum()))


def test_area_within_strata_is_that_of_pairs():
    generator = np.random.default_rng(1)
    for levels, strata_count in ((3, 1), (3, 4), (1, 2), (50, 9)):
        scores, truth = generator.integers(0, levels, 50).astype(float), generator.random(50) < 0.4
        strata, weights = generator.integers(0, strata_count, 50), generator.integers(0, 3, 50).astype(float)
        won = pairs = 0.0
        for p in np.flatnonzero(truth):
            for n in np.flatnonzero(~truth & (strata == strata[p])):
                pairs += weights[p] * weights[n]
                won += weights[p] * weights[n] * ((scores[p] > scores[n]) + 0.5 * (scores[p] == scores[n]))
        assert Within.of(scores, truth, strata).area(weights) == won / pairs


def test_no_pair_within_a_stratum_has_no_area():
    scores, truth = np.array([1.0, 2.0, 3.0]), np.array([True, False, False])
    within = Within.of(scores, truth, np.array([0, 1, 2]))
    assert within.area(np.ones(3)) is None
    assert Within.of(scores, truth, np.zeros(3, np.int64)).area(np.array([1.0, 0.0, 0.0])) is None
    assert Within.of(scores[:0], truth[:0], np.zeros(0, np.int64)).area(np.zeros(0)) is None


def test_nan_is_a_value_that_is_not_known_but_no_score():
    assert np.isnan(values_and_truths([np.nan], [1])[0]).all()
    with pytest.raises(ValueError, match="NaN"):
        scores_and_truths([np.nan], [1])


def test_rows_count_once_where_nothing_is_said():
    assert row_weights(None, 3).tolist() == [1.0, 1.0, 1.0]
