import dataclasses

import numpy as np
import pytest

from sgi.reporting.views.metric_pairs import (
    correlation,
    disagreeing_ids,
    disagreement,
    scatter,
    scatter_of,
    semantic_and_lexical,
)
from support.scored_rows import columns_of
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


def test_what_compares_meaning_and_what_compares_wording(kept):
    semantic, lexical = semantic_and_lexical(kept.columns())
    assert (semantic.metric, lexical.metric) == ("semantic_similarity", "lexical_aggregate")
    assert semantic_and_lexical(columns_of(column("sgi", [1.0]), column("gone", [1.0]))) is None


def test_rows_on_which_meaning_and_wording_disagree_come_by_their_gap(kept):
    columns = kept.columns()
    found = disagreement(kept.database, kept.record, disagreeing_ids(columns, most=5))
    assert (found.semantic, found.lexical) == ("semantic_similarity", "lexical_aggregate")
    apart = [abs(row.gap) for row in found.rows]
    assert apart == sorted(apart, reverse=True)
    assert all(0 <= gap <= 1 for gap in apart)
    for row in found.rows:
        assert row.semantic == row.sample.scores["semantic_similarity"].value
        assert row.lexical == row.sample.scores["lexical_aggregate"].value


def test_the_gap_is_that_of_the_ranks(kept):
    columns = kept.columns()
    semantic, lexical = (
        columns.run.metrics[name].values for name in ("semantic_similarity", "lexical_aggregate")
    )
    found = disagreement(kept.database, kept.record, disagreeing_ids(columns, most=1)).rows[0]
    place = found.sample.position
    share = [
        ((values < values[place]).sum() + (values == values[place]).sum() / 2 - 0.5) / (len(values) - 1)
        for values in (semantic, lexical)
    ]
    assert found.gap == pytest.approx(share[0] - share[1])


def test_without_a_metric_of_wording_nothing_disagrees(kept):
    columns = kept.columns()
    only = {"semantic_similarity": columns.run.metrics["semantic_similarity"]}
    bare = dataclasses.replace(columns, run=dataclasses.replace(columns.run, metrics=only))
    assert disagreement(kept.database, kept.record, disagreeing_ids(bare, most=3)) is None


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
