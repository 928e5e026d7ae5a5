import dataclasses

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score, roc_curve

from sgi.kernel.errors import UnknownName
from sgi.report.views.columns import RunColumns
from sgi.report.views.correlation import correlation
from sgi.report.views.disagreement import semantic_and_lexical
from sgi.report.views.distribution import distributions
from sgi.report.views.groups import MOST_GROUPS, group_table, group_tables
from sgi.report.views.labelled import labelled
from sgi.report.views.plane import plane
from support.scored_runs import column, run


def columns_of(*given, labels=None, metadata=None, clusters=None):
    made = run(*given, clusters=clusters)
    n = len(made.ids)
    codes = np.full(n, -1, dtype=np.int8) if labels is None else np.array(labels, dtype=np.int8)
    return RunColumns(made, codes, tuple(metadata or [{}] * n), {})


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


def test_labels_are_ranked_as_scikit_learn_ranks_them():
    rng = np.random.default_rng(1)
    truth = rng.random(900) < 0.4
    values = np.round(rng.normal(truth, 1.0), 1)  # with ties
    (found,) = labelled(columns_of(column("m", values, high=None), labels=truth))
    assert found.auroc == pytest.approx(roc_auc_score(truth, values))
    ours = np.array(found.roc)
    false, true, _ = roc_curve(truth, values, drop_intermediate=False)
    assert ours == pytest.approx(np.column_stack([false, true]))
    assert found.reliability is not None
    assert 0 <= found.ece < 0.1


def test_long_curves_are_thinned_and_keep_their_ends():
    rng = np.random.default_rng(2)
    truth = rng.random(5000) < 0.5
    (found,) = labelled(columns_of(column("m", rng.normal(truth), high=None), labels=truth))
    assert len(found.roc) <= 201
    assert (found.roc[0], found.roc[-1]) == ((0.0, 0.0), (1.0, 1.0))
    area = np.trapezoid([y for _, y in found.roc], [x for x, _ in found.roc])
    assert area == pytest.approx(found.auroc, abs=0.005)


def test_a_metric_that_is_better_low_is_ranked_in_its_own_direction():
    values, truth = [1.0, 2.0, 3.0, 4.0], [1, 1, 0, 0]
    (found,) = labelled(columns_of(column("m", values, high=None, higher_is_better=False), labels=truth))
    assert found.auroc == 1.0
    assert found.reliability is None  # too few rows
    assert found.ece is None


@pytest.mark.parametrize("labels", [[1, 1, 1], [0, 0, 0], [-1, -1, -1]])
def test_one_class_ranks_nothing(labels):
    assert labelled(columns_of(column("m", [1.0, 2.0, 3.0], high=None), labels=labels)) == ()


def test_columns_with_few_values_make_groups(kept):
    columns = kept.columns()
    assert len({row["number"] for row in columns.metadata}) > MOST_GROUPS
    by_label, by_topic = group_tables(columns)
    assert {group.name: group.rows for group in by_label.groups} == {"1": 45, "0": 15}
    assert {group.name: group.rows for group in by_topic.groups} == {"bridges": 20, "rivers": 20, "poets": 20}


def test_rows_without_a_group_are_a_group_too():
    columns = columns_of(
        column("m", [0.1, 0.2, 0.3]), metadata=[{"kind": "x"}, {"kind": None}, {"kind": True}]
    )
    (table,) = group_tables(columns)
    assert {group.name: group.rows for group in table.groups} == {"x": 1, "(none)": 1, "true": 1}


def test_any_column_can_be_asked_for(kept):
    assert len(group_table(kept.database, kept.record, "number").groups) == 60
    with pytest.raises(UnknownName, match="Unknown column"):
        group_table(kept.database, kept.record, "colour")


def test_the_plane_holds_the_angles_that_sgi_was_made_of(kept):
    found = plane(kept.database, kept.record, most=1000)
    assert found.metric == "sgi"
    assert found.rows == len(found.points) == 60
    values = kept.columns().run.metrics["sgi"].values
    for point in found.points:
        assert point.value == pytest.approx(values[point.position])
        assert point.theta_rq / point.theta_rc == pytest.approx(point.value, rel=1e-5)


def test_without_angles_there_is_no_plane(kept):
    bare = dataclasses.replace(kept.record, id="another run")
    assert plane(kept.database, bare, most=10) is None


def test_what_compares_meaning_and_what_compares_wording(kept):
    semantic, lexical = semantic_and_lexical(kept.columns())
    assert (semantic.metric, lexical.metric) == ("semantic_similarity", "lexical_aggregate")
    assert semantic_and_lexical(columns_of(column("sgi", [1.0]), column("gone", [1.0]))) is None
