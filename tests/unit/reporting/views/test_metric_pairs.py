import dataclasses

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, roc_auc_score, roc_curve

from sgi.reporting.views.metric_pairs import (
    correlation,
    disagreeing_ids,
    disagreement,
    scatter,
    scatter_of,
    semantic_and_lexical,
)
from sgi.reporting.views.metric_values import distributions, label_metrics
from sgi.stats.calibration import out_of_fold_probabilities
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


def test_every_row_with_a_value_stands_in_a_bin():
    rng = np.random.default_rng(0)
    values = np.append(rng.normal(1, 0.2, 500), [50.0, -50.0, np.nan])
    columns = columns_of(column("sgi", values, high=None), labels=[1] * 300 + [0] * 200 + [-1] * 3)
    (found,) = distributions(columns)
    assert {name: sum(counts) for name, counts in found.counts.items()} == {
        "label 1": 300,
        "label 0": 200,
        "no label": 2,
    }
    assert len(found.edges) == 41
    assert found.below > 0
    assert found.above > 0


def test_a_share_has_bins_over_its_whole_range():
    (found,) = distributions(columns_of(column("rouge_l", [0.2, 0.4])))
    assert (found.edges[0], found.edges[-1]) == (0.0, 1.0)
    assert sum(found.counts["all rows"]) == 2


def test_equal_values_have_bins_around_them():
    (found,) = distributions(columns_of(column("sgi", [2.0, 2.0], high=None)))
    assert (found.edges[0], found.edges[-1]) == (1.5, 2.5)


def test_a_metric_without_values_has_no_distribution():
    assert distributions(columns_of(column("sgi", [np.nan, np.nan]))) == ()


def test_labels_are_ranked_as_scikit_learn_ranks_them():
    rng = np.random.default_rng(1)
    truth = rng.random(900) < 0.4
    values = np.round(rng.normal(truth, 1.0), 1)  # with ties
    (found,) = label_metrics(columns_of(column("m", values, high=None), labels=truth))
    assert found.auroc == pytest.approx(roc_auc_score(truth, values))
    ours = np.array(found.roc)
    false, true, _ = roc_curve(truth, values, drop_intermediate=False)
    assert ours == pytest.approx(np.column_stack([false, true]))
    assert found.reliability is not None
    assert 0 <= found.ece < 0.1


def test_long_curves_are_thinned_and_keep_their_ends():
    rng = np.random.default_rng(2)
    truth = rng.random(5000) < 0.5
    (found,) = label_metrics(columns_of(column("m", rng.normal(truth), high=None), labels=truth))
    assert len(found.roc) <= 201
    assert (found.roc[0], found.roc[-1]) == ((0.0, 0.0), (1.0, 1.0))
    area = np.trapezoid([y for _, y in found.roc], [x for x, _ in found.roc])
    assert area == pytest.approx(found.auroc, abs=0.005)


def test_a_metric_that_is_better_low_is_ranked_in_its_own_direction():
    values, truth = [1.0, 2.0, 3.0, 4.0], [1, 1, 0, 0]
    (found,) = label_metrics(columns_of(column("m", values, high=None, higher_is_better=False), labels=truth))
    assert found.auroc == 1.0
    assert found.reliability is None  # too few rows
    assert (found.ece, found.brier, found.base_rate_brier) == (None, None, None)


@pytest.mark.parametrize("labels", [[1, 1, 1], [0, 0, 0], [-1, -1, -1]])
def test_one_class_ranks_nothing(labels):
    assert label_metrics(columns_of(column("m", [1.0, 2.0, 3.0], high=None), labels=labels)) == ()


def test_the_brier_score_stands_beside_that_of_the_base_rate():
    rng = np.random.default_rng(3)
    truth = rng.random(600) < 0.3
    informative, idle = rng.normal(truth, 0.5), rng.normal(size=600)
    sharp, blunt = label_metrics(
        columns_of(
            column("informative", informative, high=None), column("idle", idle, high=None), labels=truth
        )
    )
    rate = truth.mean()
    assert sharp.base_rate_brier == blunt.base_rate_brier == pytest.approx(rate * (1 - rate), abs=0.002)
    forecast = out_of_fold_probabilities(informative, truth, np.arange(600))
    assert sharp.brier == pytest.approx(brier_score_loss(truth, forecast))
    assert sharp.brier < 0.6 * sharp.base_rate_brier
    assert blunt.brier == pytest.approx(blunt.base_rate_brier, abs=0.005)
