import numpy as np
import pytest

from sgi.stats.auroc_intervals import TieGroups, row_weights, scores_and_labels, values_and_labels

SCORES = np.array([2.0, np.inf, 2.0, -np.inf, 0.0, -0.0, np.inf])


def test_equal_scores_share_a_step():
    steps = TieGroups.of(SCORES)
    assert SCORES[steps.order][steps.starts].tolist() == [-np.inf, 0.0, 2.0, np.inf]
    weights = np.arange(7.0)
    assert steps.sums(weights).tolist() == [3.0, 9.0, 2.0, 7.0]
    assert steps.of_rows(steps.sums(weights)).tolist() == [2.0, 7.0, 2.0, 3.0, 9.0, 9.0, 7.0]


def test_no_step_reaches_over_two_strata():
    steps = TieGroups.of(np.zeros(4), np.array([1, 0, 1, 0]))
    assert steps.sums(np.array([1.0, 2.0, 4.0, 8.0])).tolist() == [10.0, 5.0]


def test_no_rows_make_no_steps():
    for steps in (TieGroups.of(np.zeros(0)), TieGroups.of(np.zeros(0), np.zeros(0, np.int64))):
        assert steps.sums(np.zeros(0)).tolist() == steps.of_rows(np.zeros(0)).tolist() == []


def test_nan_is_a_value_that_is_not_known_but_no_score():
    assert np.isnan(values_and_labels([np.nan], [1])[0]).all()
    with pytest.raises(ValueError, match="NaN"):
        scores_and_labels([np.nan], [1])


def test_rows_count_once_where_nothing_is_said():
    assert row_weights(None, 3).tolist() == [1.0, 1.0, 1.0]
