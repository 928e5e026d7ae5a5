import numpy as np
import pytest

from sgi.stats.auroc_difference import auroc_difference
from sgi.stats.auroc_intervals import auroc_interval
from sgi.stats.ranking import auroc

GENERATOR = np.random.default_rng(11)
N = 300
LABELS = np.tile([True, False], N // 2)
CLUSTERS = np.arange(N) // 2
COMMON = GENERATOR.normal(size=N)
BETTER = 1.2 * LABELS + COMMON + 0.2 * GENERATOR.normal(size=N)
WORSE = 0.9 * LABELS + COMMON + 0.2 * GENERATOR.normal(size=N)


def difference(first=BETTER, second=WORSE, labels=LABELS, clusters=CLUSTERS, level=0.95):
    return auroc_difference(first, second, labels, clusters, level=level)


def test_it_is_the_difference_of_the_two_areas():
    found = difference()
    assert found.value == pytest.approx(auroc(BETTER, LABELS) - auroc(WORSE, LABELS), abs=1e-12)
    assert found.rows == N
    assert found.interval.low < found.value < found.interval.high


def test_scores_that_go_together_are_told_apart_where_their_own_intervals_overlap():
    first, second = (auroc_interval(column, LABELS, CLUSTERS) for column in (BETTER, WORSE))
    assert second.high > first.low
    assert difference().interval.low > 0


def test_it_turns_with_its_sides():
    forth, back = difference(), difference(WORSE, BETTER)
    assert back.value == -forth.value
    assert (back.interval.low, back.interval.high) == pytest.approx(
        (-forth.interval.high, -forth.interval.low)
    )


def test_rows_that_lack_one_of_the_two_are_left_out():
    gaps = WORSE.copy()
    gaps[:100] = np.nan
    kept = slice(100, None)
    assert difference(second=gaps) == difference(BETTER[kept], WORSE[kept], LABELS[kept], CLUSTERS[kept])
    gaps[LABELS] = np.nan
    assert difference(second=gaps) is None


def test_two_perfect_scores_of_few_rows_may_still_differ():
    found = difference(LABELS[:24], LABELS[:24], LABELS[:24], CLUSTERS[:24])
    assert found.value == 0.0
    assert found.interval.low == -found.interval.high < -0.1


def test_few_clusters_of_a_class_give_a_difference_without_an_interval():
    found = auroc_difference([4, 1, 3, 2], [1, 2, 4, 3], [1, 0, 1, 0], ["a", "b", "a", "b"])
    assert (found.value, found.interval, found.rows) == (0.5, None, 4)
    assert found.no_interval == "the rarer class occurs in 1 independent group; an interval needs 5"
    assert auroc_difference([1, 2], [2, 1], [1, 1]) is None
    assert auroc_difference([], [], []) is None


def test_an_area_without_an_interval_leaves_the_difference_without_one():
    clusters = np.repeat(np.arange(30), 2)
    labels = np.tile([1, 0], 30)
    steps = clusters + 0.5 * labels
    found = auroc_difference(np.random.default_rng(0).normal(size=60), steps, labels, clusters)
    assert found.interval is None
    assert "spread is unknown" in found.no_interval


def test_without_clusters_every_row_stands_for_itself():
    assert difference(clusters=None) == difference(clusters=np.arange(N))
    assert difference(clusters=None) == difference(clusters=[f"row {n:03}" for n in range(N)])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"labels": np.full(N, 2)}, "true or false"),
        ({"second": WORSE[1:]}, "shape"),
        ({"clusters": [1]}, "`clusters` must have the shape"),
        ({"level": 1.0}, "level"),
    ],
)
def test_what_makes_no_sense_is_refused(changes, words):
    with pytest.raises(ValueError, match=words):
        difference(**changes)
