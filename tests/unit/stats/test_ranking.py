import numpy as np
import pytest

from sgi.stats.auroc_intervals import auroc_interval
from sgi.stats.rank_resampling import bootstrap_interval
from sgi.stats.ranking import auroc, average_precision, fpr_at_recall, ranking
from support.ranked_answers import simulate_answers


def test_perfect_reversed_and_blind():
    assert auroc([1, 2, 3, 4], [0, 0, 1, 1]) == 1.0
    assert auroc([1, 2, 3, 4], [1, 1, 0, 0]) == 0.0
    assert auroc([5, 5, 5, 5], [1, 0, 1, 0]) == 0.5
    assert auroc([-np.inf, 0.0, np.inf], [False, True, True]) == 1.0


@pytest.mark.parametrize("call", [auroc, auroc_interval, ranking])
def test_what_cannot_be_ranked_is_refused(call):
    with pytest.raises(ValueError, match="NaN"):
        call([0.1, np.nan], [True, False])
    with pytest.raises(ValueError, match="true or false"):
        call([0.1, 0.2], [2, 0])
    with pytest.raises(ValueError, match="true or false"):
        call([0.1, 0.2], [-1, 1])
    with pytest.raises(ValueError, match="shape"):
        call([0.1, 0.2], [True])


def test_weights_are_repeats_of_rows():
    """A draw of the bootstrap equals AUROC of the rows written out as often as they were drawn."""
    generator = np.random.default_rng(1)
    scores, labels = generator.integers(0, 6, 40).astype(float), generator.random(40) < 0.5
    times = generator.integers(0, 4, 40)
    written_out = np.repeat(scores, times), np.repeat(labels, times)
    for statistic in (auroc, average_precision, fpr_at_recall):
        assert statistic(scores, labels, weights=times) == statistic(*written_out)


def test_repeating_rows_in_their_cluster_adds_no_certainty():
    scores, labels, clusters = simulate_answers(np.random.default_rng(3), 80)
    once = auroc_interval(scores, labels, clusters)
    tenfold = auroc_interval(*(np.repeat(column, 10) for column in (scores, labels, clusters)))
    assert (tenfold.low, tenfold.high) == pytest.approx((once.low, once.high), abs=1e-12)


def test_ranking_holds_all_of_it():
    scores, labels, clusters = simulate_answers(np.random.default_rng(7), 40)
    found = ranking(scores, labels.astype(int), clusters)
    assert found.auroc == auroc(scores, labels)
    assert found.interval == auroc_interval(scores, labels, clusters)
    assert (found.positives, found.negatives) == (40, 40)
    assert found.interval.low < found.auroc < found.interval.high


def test_both_at_their_ends():
    scores, labels = np.arange(10.0), np.arange(10) >= 6
    assert (average_precision(scores, labels), fpr_at_recall(scores, labels)) == (1.0, 0.0)
    assert fpr_at_recall(-scores, labels) == 1.0
    # Four true rows after six false ones: precision 1/7, 2/8, 3/9, 4/10.
    worst = (1 / 7 + 2 / 8 + 3 / 9 + 4 / 10) / 4
    assert average_precision(-scores, labels) == pytest.approx(worst, abs=1e-15)
    blind = np.zeros(10)
    assert (average_precision(blind, labels), fpr_at_recall(blind, labels)) == (0.4, 1.0)
    assert average_precision([-np.inf, np.inf, np.inf], [0, 1, 1]) == 1.0


@pytest.mark.parametrize(
    ("true", "recall"), [(20, 0.95), (40, 0.95), (100, 0.95), (100, 0.29), (10, 0.7), (3, 1 / 3), (49, 1.0)]
)
def test_a_recall_that_is_just_reached_is_reached(true, recall):
    """19 of 20 are 95 %, although 0.95·20 and such products are not whole in binary."""
    needed = round(true * recall)
    labels = np.concatenate([np.ones(needed), [0], np.ones(true - needed), [0]])
    scores = -np.arange(len(labels), dtype=float)
    assert fpr_at_recall(scores, labels, recall) == 0.0
    just_more = np.nextafter(recall, 2.0)
    if needed < true:
        assert fpr_at_recall(scores, labels, just_more) == 0.5


@pytest.mark.parametrize("recall", [0.0, -0.1, 1.0000001, 95, np.nan])
def test_a_recall_outside_its_range_is_refused(recall):
    with pytest.raises(ValueError, match="recall"):
        fpr_at_recall([0.1, 0.2], [0, 1], recall)


STATISTICS = [auroc, average_precision, fpr_at_recall]


@pytest.mark.parametrize("statistic", STATISTICS)
def test_weights_are_finite_not_negative_and_one_a_row(statistic):
    scores, labels = [0.1, 0.2, 0.3], [0, 1, 0]
    for weights in ([1, -1, 1], [1, np.nan, 1], [1, np.inf, 1]):
        with pytest.raises(ValueError, match=r"[Ww]eight"):
            statistic(scores, labels, weights=weights)
    with pytest.raises(ValueError, match="shape"):
        statistic(scores, labels, weights=[1, 1])
    # A class without weight is as good as absent; a row without weight is as good as not there.
    assert statistic(scores, labels, weights=[1, 0, 1]) is None
    assert statistic(scores, labels, weights=[0, 1, 0]) is None
    assert statistic(scores, labels, weights=[2, 2, 0]) == statistic(scores[:2], labels[:2])


@pytest.mark.parametrize("statistic", [average_precision, fpr_at_recall])
@pytest.mark.parametrize("labels", [[True, True], [0, 0], []])
def test_one_class_alone_has_neither(statistic, labels):
    scores = np.arange(len(labels), dtype=float)
    assert statistic(scores, labels) is None
    assert bootstrap_interval(statistic, scores, labels) is None
