import numpy as np
import pytest

from sgi.stats.auroc_intervals import auroc_interval
from sgi.stats.intervals import student_quantile
from sgi.stats.rank_resampling import average_precision_interval, bootstrap_interval
from sgi.stats.ranking import auroc, average_precision, fpr_at_recall
from support.ranked_answers import simulate_answers
from support.slow import slow


def at_95(scores, labels, weights):
    return fpr_at_recall(scores, labels, 0.95, weights)


def test_statistics_see_the_same_draws_sorted_by_score():
    scores, labels, clusters = simulate_answers(np.random.default_rng(10), 25)
    seen = {"first": [], "second": []}

    def watching(name):
        def statistic(column, truth, weights):
            assert (np.diff(column) >= 0).all()
            assert weights.sum() == 50  # 25 draws of clusters of two
            seen[name].append(dict(zip(column, zip(truth, weights, strict=True), strict=True)))
            return float(weights[0])

        return statistic

    for name in seen:
        bootstrap_interval(watching(name), scores, labels, clusters, draws=5, seed=3)
    assert seen["first"] == seen["second"]
    assert len(seen["first"]) == 5
    first = seen["first"][0]
    by_cluster = [(first[a][1], first[b][1]) for a, b in scores.reshape(-1, 2)]
    assert all(one == other for one, other in by_cluster)
    assert all(first[score][0] == label for score, label in zip(scores, labels, strict=True))


def test_draws_that_are_all_alike_tell_nothing_of_the_spread():
    scores, labels = np.arange(40.0), np.arange(40) >= 20
    assert average_precision(scores, labels) == 1.0
    assert bootstrap_interval(average_precision, scores, labels) is None
    assert bootstrap_interval(at_95, scores, labels) is None
    assert auroc_interval(scores, labels).low < 0.9
    assert bootstrap_interval(lambda *_: None, scores, labels) is None


def test_a_class_in_one_cluster_only_has_no_interval_of_any_statistic():
    for statistic in (auroc, average_precision, at_95):
        assert bootstrap_interval(statistic, [1, 2, 0, 3, 1], [1, 1, 0, 0, 0], [0, 0, 1, 2, 2]) is None


def test_the_bootstrap_refuses_what_makes_no_sense():
    with pytest.raises(ValueError, match="draws"):
        bootstrap_interval(auroc, [1, 2], [0, 1], draws=0)
    with pytest.raises(ValueError, match="level"):
        bootstrap_interval(auroc, [1, 2], [0, 1], level=1.0)
    with pytest.raises(ValueError, match="`clusters` must have the shape"):
        bootstrap_interval(auroc, [1, 2], [0, 1], [1])


def test_the_interval_of_average_precision_by_its_definition():
    scores, labels, clusters = simulate_answers(np.random.default_rng(12), 30)
    value = average_precision(scores, labels)
    without = [average_precision(scores[clusters != c], labels[clusters != c]) for c in range(30)]
    error = np.sqrt(29 / 30 * np.sum((without - np.mean(without)) ** 2))
    half = student_quantile(0.9, 29) * error / (value * (1 - value))
    odds = value / (1 - value) * np.exp([-half, half])
    found = average_precision_interval(scores, labels, clusters, level=0.9)
    assert (found.low, found.high) == pytest.approx(tuple(odds / (1 + odds)), abs=1e-12)
    assert (found.level, found.method) == (0.9, "jackknife")
    assert found.low < value < found.high


def test_order_of_rows_and_names_of_clusters_are_no_matter_to_it():
    scores, labels, clusters = simulate_answers(np.random.default_rng(13), 40)
    turned = np.random.default_rng(0).permutation(80)
    found = average_precision_interval(scores, labels, clusters)
    names = np.array([f"question {code}" for code in clusters])
    other = average_precision_interval(np.exp(scores[turned]), labels[turned], names[turned])
    assert (other.low, other.high) == pytest.approx((found.low, found.high), abs=1e-12)


def test_rows_that_belong_together_are_left_out_together():
    scores, labels, clusters = simulate_answers(np.random.default_rng(14), 60)
    once = average_precision_interval(scores, labels, clusters)
    tenfold = (np.repeat(column, 10) for column in (scores, labels, clusters))
    again = average_precision_interval(*tenfold)
    assert (again.low, again.high) == pytest.approx((once.low, once.high), abs=1e-12)


def test_many_clusters_are_left_out_in_groups(monkeypatch):
    columns = simulate_answers(np.random.default_rng(15), 400)
    each = average_precision_interval(*columns)
    monkeypatch.setattr("sgi.stats.rank_resampling._MAX_JACKKNIFE_GROUPS", 100)
    grouped = average_precision_interval(*columns)
    assert grouped == average_precision_interval(*columns)
    assert grouped != average_precision_interval(*columns, seed=1)
    assert grouped.high - grouped.low == pytest.approx(each.high - each.low, rel=0.2)
    # All rows of a class in one group leave nothing to rank without it.
    monkeypatch.setattr("sgi.stats.rank_resampling._MAX_JACKKNIFE_GROUPS", 1)
    assert average_precision_interval(*columns) is None


def test_average_precision_has_no_interval_where_nothing_is_seen_of_its_spread():
    scores, labels = np.arange(40.0), np.arange(40) >= 20
    assert average_precision_interval(scores, labels) is None
    assert average_precision_interval(np.zeros(40), labels, np.arange(40) % 20) is None
    assert average_precision_interval([1, 2, 0, 3, 1], [1, 1, 0, 0, 0], [0, 0, 1, 2, 2]) is None
    assert average_precision_interval([1, 2], [1, 1]) is None
    with pytest.raises(ValueError, match="level"):
        average_precision_interval([1, 2], [0, 1], level=1.0)
    with pytest.raises(ValueError, match="NaN"):
        average_precision_interval([1, np.nan], [0, 1])


# Of binormal scores at AUROC 0.76: ∫ TPR/(TPR + FPR) dTPR, and 1 − Φ(1 − 1.645).
@pytest.mark.parametrize("questions", [20, pytest.param(200, marks=pytest.mark.slow), *slow(50)])
def test_intervals_of_average_precision_cover_as_often_as_they_say(questions):
    generator = np.random.default_rng((11, questions))
    found = [average_precision_interval(*simulate_answers(generator, questions)) for _ in range(400)]
    hits = [each.low <= 0.7529959968648294 <= each.high for each in found]
    assert 0.92 <= np.mean(hits) <= 0.975


@pytest.mark.slow
def test_intervals_of_false_alarms_cover_as_often_as_they_say():
    generator = np.random.default_rng(11)
    hits, trials = 0, 300
    for _ in range(trials):
        found = bootstrap_interval(at_95, *simulate_answers(generator, 200), draws=200)
        hits += found.low <= 0.7404889771585556 <= found.high
    assert 0.93 <= hits / trials <= 0.975
