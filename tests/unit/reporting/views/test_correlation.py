import numpy as np
import pytest

from sgi.reporting.views.correlation_view import correlation
from support.run_columns import columns_of
from support.scored_runs import column


def test_correlations_are_over_the_rows_that_have_both():
    made = correlation(
        columns_of(
            column("a", [1, 2, 3, 4, np.nan], high=None),
            column("b", [4, 3, 2, np.nan, 1], high=None),
            column("c", [5, 5, 5, 5, 5], high=None),
        )
    )
    assert made.metrics == ("a", "b")
    assert made.spearman[0][1] == pytest.approx(-1)
    assert made.spearman[0][0] == pytest.approx(1)
    assert made.rows == ((4, 3), (3, 4))


def test_pairs_that_share_too_few_rows_have_no_correlation():
    made = correlation(columns_of(column("a", [1, 2, np.nan, np.nan]), column("b", [np.nan, 1, 2, 3])))
    assert made.spearman[0][1] is None


def test_one_metric_has_no_correlation():
    assert correlation(columns_of(column("a", [1, 2]))) is None
