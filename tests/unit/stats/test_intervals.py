import numpy as np
import pytest

from sgi.stats.intervals import cluster_codes, effective_clusters, student_quantile


def test_one_large_cluster_leaves_little_to_go_by():
    assert effective_clusters(np.array([3, 3, 3, 3])) == 4.0
    assert effective_clusters(np.array([1000, 1, 1, 1, 1])) == pytest.approx(1.0, abs=0.01)


def test_students_quantile_by_its_table():
    for freedom, quantile in ((5, 2.5706), (11, 2.2010), (29, 2.0452), (99, 1.9842)):
        assert student_quantile(0.95, freedom) == pytest.approx(quantile, rel=2e-4)
    assert student_quantile(0.95, 3) == pytest.approx(3.1824, rel=0.002)
    assert student_quantile(0.95, 0.1) == student_quantile(0.95, 1)


def test_clusters_of_another_length_are_refused():
    with pytest.raises(ValueError, match=r"`clusters` must have the shape \(3,\), not \(2,\)"):
        cluster_codes([1, 2], 3)
