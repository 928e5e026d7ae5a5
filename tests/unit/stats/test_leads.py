from __future__ import annotations

import numpy as np
import pytest

from sgi.stats.leads import auroc_lead
from sgi.stats.ranking import auroc, auroc_interval

GENERATOR = np.random.default_rng(11)
N = 300
LABELS = np.tile([True, False], N // 2)
CLUSTERS = np.arange(N) // 2
COMMON = GENERATOR.normal(size=N)
BETTER = 1.2 * LABELS + COMMON + 0.2 * GENERATOR.normal(size=N)
WORSE = 0.9 * LABELS + COMMON + 0.2 * GENERATOR.normal(size=N)


def lead(first=BETTER, second=WORSE, labels=LABELS, clusters=CLUSTERS, draws=300, seed=0):
    return auroc_lead(first, second, labels, clusters, draws=draws, seed=seed)


def test_it_is_the_difference_of_the_two_areas():
    found = lead()
    assert found.value == pytest.approx(auroc(BETTER, LABELS) - auroc(WORSE, LABELS), abs=1e-12)
    assert found.rows == N
    assert found.interval.low < found.value < found.interval.high


def test_scores_that_go_together_are_told_apart_where_their_own_intervals_overlap():
    first, second = (auroc_interval(column, LABELS, CLUSTERS) for column in (BETTER, WORSE))
    assert second.high > first.low
    assert lead().interval.low > 0


def test_it_turns_with_its_sides():
    forth, back = lead(), lead(WORSE, BETTER)
    assert back.value == -forth.value
    assert (back.interval.low, back.interval.high) == pytest.approx(
        (-forth.interval.high, -forth.interval.low)
    )


def test_rows_that_lack_one_of_the_two_are_left_out():
    gaps = WORSE.copy()
    gaps[:100] = np.nan
    kept = slice(100, None)
    assert lead(second=gaps) == lead(BETTER[kept], WORSE[kept], LABELS[kept], CLUSTERS[kept])
    gaps[LABELS] = np.nan
    assert lead(second=gaps) is None


def test_a_score_beside_itself_leads_by_nothing_and_has_no_interval():
    found = lead(BETTER, BETTER)
    assert (found.value, found.interval) == (0.0, None)


def test_one_cluster_of_a_class_gives_a_lead_without_an_interval():
    found = auroc_lead([4, 1, 3, 2], [1, 2, 4, 3], [1, 0, 1, 0], ["a", "b", "a", "b"], draws=20)
    assert (found.value, found.interval, found.rows) == (0.5, None, 4)
    assert auroc_lead([1, 2], [2, 1], [1, 1]) is None
    assert auroc_lead([], [], []) is None


def test_without_clusters_every_row_stands_for_itself():
    assert lead(clusters=None) == lead(clusters=np.arange(N))
    assert lead(clusters=None) == lead(clusters=[f"row {n:03}" for n in range(N)])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"labels": np.full(N, 2)}, "true or false"),
        ({"second": WORSE[1:]}, "shape"),
        ({"clusters": [1]}, "clusters of shape"),
        ({"draws": 0}, "draws"),
    ],
)
def test_what_makes_no_sense_is_refused(changes, words):
    with pytest.raises(ValueError, match=words):
        lead(**changes)


def test_intervals_hold_the_truth_as_often_as_they_say():
    generator = np.random.default_rng(5)
    labels = np.tile([True, False], 60)
    held = 0
    for _ in range(120):
        common = generator.normal(size=120)
        first, second = (labels + common + generator.normal(size=120) for _ in range(2))
        found = auroc_lead(first, second, labels, np.arange(120) // 2, draws=200, seed=0)
        held += found.interval.low <= 0 <= found.interval.high
    assert 0.88 <= held / 120 <= 1.0
