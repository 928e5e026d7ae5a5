"""The interval of AUROC; `test_ranking_coverage` measures how often it covers."""

import numpy as np
import pytest

from sgi.stats.auroc_intervals import (
    Influence,
    TieGroups,
    auroc_interval,
    row_influence,
    row_weights,
    scores_and_labels,
    values_and_labels,
)
from sgi.stats.intervals import Interval, NoInterval
from sgi.stats.ranking import auroc, ranking


def drawn(generator, questions, lift=1.0):
    """Two answers per question, one of them positive; both share half of their variance."""
    shared = np.repeat(generator.normal(size=questions), 2)
    labels = np.tile([True, False], questions)
    scores = np.sqrt(0.5) * (shared + generator.normal(size=2 * questions)) + lift * labels
    return scores, labels, np.repeat(np.arange(questions), 2)


@pytest.mark.parametrize("strata_count", [1, 4])
def test_the_influence_of_rows_by_its_definition(strata_count):
    generator = np.random.default_rng(5)
    scores, truth = generator.integers(0, 8, 60).astype(float), generator.random(60) < 0.4
    strata = generator.integers(0, strata_count, 60)
    won, pairs, influence = 0.0, 0, np.zeros(60)
    for p in np.flatnonzero(truth):
        for n in np.flatnonzero(~truth & (strata == strata[p])):
            win = (scores[p] > scores[n]) + 0.5 * (scores[p] == scores[n])
            won, pairs = won + win, pairs + 1
            influence[[p, n]] += win
    expected = won / pairs
    for row in range(60):
        others = (truth != truth[row]) & (strata == strata[row])
        influence[row] = (influence[row] - expected * others.sum()) / pairs
    area, found = row_influence(scores, truth, strata)
    assert area == pytest.approx(expected, abs=1e-15)
    assert found == pytest.approx(influence, abs=1e-15)


def test_the_variance_is_the_clustered_one_of_delong():
    scores, labels, clusters = drawn(np.random.default_rng(0), 50)
    found = Influence.of(scores, labels, clusters, np.zeros(100, dtype=np.int64))
    sums = np.bincount(clusters, row_influence(scores, labels, np.zeros(100, dtype=np.int64))[1])
    assert found.covariance(found) == pytest.approx(50 / 49 * np.square(sums).sum())
    # Of many clusters it alone decides: half the width is z·SE.
    scores, labels, clusters = drawn(np.random.default_rng(1), 20_000)
    made = auroc_interval(scores, labels, clusters)
    many = Influence.of(scores, labels, clusters, np.zeros(40_000, dtype=np.int64))
    assert (made.high - made.low) / 2 == pytest.approx(1.96 * np.sqrt(many.covariance(many)), rel=0.01)


@pytest.mark.parametrize(("labels", "count"), [([1, 1, 0, 0, 0], 1), ([0, 0, 1, 1, 1], 1), ([0, 1] * 4, 4)])
def test_fewer_than_five_clusters_of_the_rarer_class_have_a_reason_in_place_of_an_interval(labels, count):
    clusters = np.arange(len(labels)) // 2
    scores = np.random.default_rng(0).normal(size=len(labels))
    groups = "group" if count == 1 else "groups"
    reason = f"the rarer class occurs in {count} independent {groups}; an interval needs 5"
    assert auroc_interval(scores, labels, clusters) == NoInterval(reason)
    found = ranking(scores, labels, clusters)
    assert (found.interval, found.no_interval) == (None, reason)


@pytest.mark.parametrize("labels", [[True, True], [False, False], []])
def test_one_class_alone_has_no_interval(labels):
    found = auroc_interval(np.arange(float(len(labels))), labels)
    assert found == NoInterval("the rarer class occurs in 0 independent groups; an interval needs 5")


def test_a_perfect_ranking_of_few_rows_does_not_prove_a_perfect_score():
    found = auroc_interval(np.arange(12), np.arange(12) >= 6)
    assert found.high == 1.0
    assert 0.6 < found.low < 0.75
    worst = auroc_interval(-np.arange(12), np.arange(12) >= 6)
    assert (worst.low, worst.high) == pytest.approx((0.0, 1 - found.low))


def test_scores_that_are_constant_within_clusters_of_both_classes_rank_at_chance_for_certain():
    clusters = np.repeat(np.arange(30), 2)
    found = auroc_interval(clusters, np.tile([1, 0], 30), clusters)
    assert found == Interval(0.5, 0.5, 0.95, "constant within clusters")
    # Each cluster orders its rows alike: no spread is seen, but the area is not known for certain.
    steps = auroc_interval(clusters + np.tile([0.5, 0.0], 30), np.tile([1, 0], 30), clusters)
    assert steps == NoInterval("every cluster ranks its rows alike, so the spread is unknown")


def test_a_cluster_that_spans_strata_does_not_count_once_for_each():
    """Six generators answer each question, and every ranking within them is perfect."""
    questions, generators = np.repeat(np.arange(10), 6), np.tile(np.arange(6), 10)
    labels = questions % 2 == 0
    from sgi.stats.confounds import stratified_auroc

    spanning = stratified_auroc(labels, labels, generators, questions).ranking.interval
    one = auroc_interval(labels[::6], labels[::6])
    assert (spanning.low, spanning.high) == pytest.approx((one.low, one.high))
    assert stratified_auroc(labels, labels, generators).ranking.interval.low > spanning.low


def test_order_preserving_changes_of_the_scores_and_of_the_rows_change_nothing():
    scores, labels, clusters = drawn(np.random.default_rng(2), 60)
    turned = np.random.default_rng(0).permutation(120)
    found, other = auroc_interval(scores, labels, clusters), ranking(scores, labels, clusters)
    again = auroc_interval(np.exp(scores)[turned], labels[turned], clusters[turned])
    assert (again.low, again.high) == pytest.approx((found.low, found.high))
    assert (other.interval, other.auroc) == (found, auroc(scores, labels))
    assert auroc_interval(scores, labels, clusters, level=0.8).low > found.low


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
