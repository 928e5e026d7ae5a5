import numpy as np

from sgi.stats.intervals import bootstrap_values, has_spread, rarer_class_clusters, shuffled_labels

CODES = np.array([0, 0, 1, 2, 2, 2])


def test_a_draw_takes_clusters_whole_and_as_many_as_there_are():
    seen = []

    def statistic(weights):
        seen.append(weights)
        return weights[2] or None

    values = bootstrap_values(statistic, CODES, 400, seed=0)
    table = np.array(seen)
    assert (table[:, 0] == table[:, 1]).all()
    assert (table[:, 3] == table[:, 4]).all()
    assert (table[:, [0, 2, 3]].sum(axis=1) == 3).all()
    assert np.array_equal(np.isnan(values), table[:, 2] == 0)
    assert abs(table[:, 0].mean() - 1.0) < 0.15
    assert np.array_equal(bootstrap_values(lambda weights: weights[0], CODES, 400, seed=0), table[:, 0])
    assert not np.array_equal(bootstrap_values(lambda weights: weights[0], CODES, 400, seed=1), table[:, 0])


def test_draws_without_value_are_no_spread():
    assert not has_spread(np.array([np.nan, np.nan]))
    assert not has_spread(np.array([0.3, np.nan, 0.3]))
    assert has_spread(np.array([0.3, np.nan, np.nextafter(0.3, 1.0)]))


def test_the_rarer_class_is_counted_in_clusters_not_in_rows():
    assert rarer_class_clusters(CODES, np.array([1, 1, 0, 0, 0, 0], bool)) == 1
    assert rarer_class_clusters(CODES, np.array([1, 0, 1, 0, 0, 1], bool)) == 2
    assert rarer_class_clusters(CODES, np.zeros(6, bool)) == 0


def test_without_clusters_labels_take_every_order():
    truth = np.array([True, True, False, False])
    orders = {tuple(drawn.tolist()) for drawn in shuffled_labels(truth, np.arange(4), 200, seed=0)}
    assert len(orders) == 6


def test_labels_of_a_cluster_stay_together():
    truth, codes = np.array([1, 1, 0, 1, 0, 0, 0], bool), np.array([0, 0, 1, 1, 2, 2, 3])
    for drawn in shuffled_labels(truth, codes, 100, seed=0):
        # Two, one and no true rows in the clusters of two; the cluster of one is alone of its size.
        assert sorted(np.bincount(codes, drawn)[:3].tolist()) == [0.0, 1.0, 2.0]
        assert not drawn[6]


def test_clusters_need_not_stand_together():
    truth, codes = np.array([1, 0, 1, 0], bool), np.array([0, 1, 0, 1])
    drawn = {tuple(labels.tolist()) for labels in shuffled_labels(truth, codes, 50, seed=1)}
    assert drawn == {(True, False, True, False), (False, True, False, True)}
