import numpy as np
import pytest

from sgi.reporting.views.scatter import scatter, scatter_of
from support.run_columns import columns_of
from support.scored_runs import column


def test_rows_far_apart_in_rank_are_counted_on_their_side():
    lexical = [0.1, 0.2, 0.3, 0.4, 0.5, np.nan]
    semantic = [0.9, 0.2, 0.3, 0.4, 0.1, 0.5]
    columns = columns_of(column("semantic_similarity", semantic), column("rouge_l", lexical))
    found = scatter(columns, most=10)
    assert (found.semantic, found.lexical, found.rows) == ("semantic_similarity", "rouge_l", 5)
    assert (found.paraphrases, found.overlaps) == (1, 1)
    assert (found.points[0].lexical, found.points[0].semantic) == (0.1, 0.9)
    assert [round(point.gap, 2) for point in found.points] == [1.0, 0.0, 0.0, 0.0, -1.0]
    assert found.spearman == pytest.approx(-0.6)


def test_more_rows_than_points_are_thinned_evenly():
    values = np.arange(100.0) / 100
    columns = columns_of(column("semantic_similarity", values), column("rouge_l", values))
    found = scatter(columns, most=4)
    assert [point.semantic for point in found.points] == [0.0, 0.33, 0.66, 0.99]
    assert (found.rows, found.spearman) == (100, pytest.approx(1.0))


def test_without_rows_that_have_both_values_there_is_nothing():
    columns = columns_of(column("semantic_similarity", [0.5, np.nan]), column("rouge_l", [np.nan, 0.5]))
    assert scatter(columns, most=10) is None
    assert scatter(columns_of(column("rouge_l", [0.5])), most=10) is None


def test_a_metric_that_does_not_vary_has_no_correlation():
    columns = columns_of(column("sgi", [0.5, 0.5]), column("rouge_l", [0.1, 0.2]))
    assert scatter_of(columns, *columns.metrics, most=10).spearman is None
