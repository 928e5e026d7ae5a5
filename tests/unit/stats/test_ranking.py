import numpy as np
import pytest

from sgi.stats.intervals import cluster_codes, student_quantile
from sgi.stats.ranking import (
    _delong,
    auroc,
    auroc_interval,
    average_precision,
    average_precision_interval,
    bootstrap_interval,
    fpr_at_recall,
    ranking,
)


def by_pairs(scores, labels):
    """The definition, pair by pair."""
    positive = [s for s, label in zip(scores, labels, strict=True) if label]
    negative = [s for s, label in zip(scores, labels, strict=True) if not label]
    won = sum((p > n) + 0.5 * (p == n) for p in positive for n in negative)
    return won / (len(positive) * len(negative))


def drawn(generator, questions, lift=1.0):
    """Two answers a question, one true; both share the question's part. True AUROC at lift 1: Φ(1/√2)."""
    shared = np.repeat(generator.normal(size=questions), 2)
    labels = np.tile([True, False], questions)
    noise = generator.normal(size=2 * questions)
    scores = np.sqrt(0.5) * shared + np.sqrt(0.5) * noise + lift * labels
    return scores, labels, np.repeat(np.arange(questions), 2)


@pytest.mark.parametrize("levels", [1, 2, 3, 10, 10_000])
def test_auroc_is_the_share_of_pairs_won(levels):
    generator = np.random.default_rng(levels)
    scores, labels = generator.integers(0, levels, 60), generator.random(60) < 0.3
    assert auroc(scores, labels) == pytest.approx(by_pairs(scores, labels), abs=1e-15)


def test_perfect_reversed_and_blind():
    assert auroc([1, 2, 3, 4], [0, 0, 1, 1]) == 1.0
    assert auroc([1, 2, 3, 4], [1, 1, 0, 0]) == 0.0
    assert auroc([5, 5, 5, 5], [1, 0, 1, 0]) == 0.5
    assert auroc([-np.inf, 0.0, np.inf], [False, True, True]) == 1.0


def test_reversed_scores_and_swapped_labels_give_the_complement():
    generator = np.random.default_rng(0)
    scores, labels = generator.integers(0, 9, 200), generator.random(200) < 0.5
    assert auroc(-scores, labels) == pytest.approx(1 - auroc(scores, labels), abs=1e-15)
    assert auroc(scores, ~labels) == pytest.approx(1 - auroc(scores, labels), abs=1e-15)


@pytest.mark.parametrize("labels", [[True, True], [False, False], [1, 1], []])
def test_one_class_alone_has_no_ranking(labels):
    scores = np.arange(len(labels), dtype=float)
    assert auroc(scores, labels) is None
    assert auroc_interval(scores, labels) is None
    assert ranking(scores, labels) is None


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


def test_equal_input_gives_equal_bits_and_another_seed_others():
    scores, labels, clusters = drawn(np.random.default_rng(2), 60)
    assert auroc_interval(scores, labels, clusters) == auroc_interval(scores, labels, clusters)
    assert auroc_interval(scores, labels, clusters) != auroc_interval(scores, labels, clusters, seed=1)


def test_order_preserving_changes_of_the_scores_change_nothing():
    scores, labels, clusters = drawn(np.random.default_rng(2), 60)
    assert ranking(np.exp(scores), labels, clusters) == ranking(scores, labels, clusters)


def test_repeating_rows_in_their_cluster_adds_no_certainty():
    scores, labels, clusters = drawn(np.random.default_rng(3), 80)
    once = auroc_interval(scores, labels, clusters)
    tenfold = auroc_interval(*(np.repeat(column, 10) for column in (scores, labels, clusters)))
    assert (tenfold.low, tenfold.high) == pytest.approx((once.low, once.high), abs=1e-12)


def test_draws_with_one_class_are_left_out_and_counted():
    labels = np.array([True] * 2 + [False] * 30)
    scores = np.random.default_rng(4).normal(size=32) + labels
    found = auroc_interval(scores, labels, draws=500)
    dropped = int(found.method.removeprefix("bootstrap, ").split()[0])
    assert found.method == f"bootstrap, {dropped} of 500 draws had one class only"
    assert 30 <= dropped <= 110  # (30/32)^32 of 500 is 63


def test_no_draw_with_both_classes_has_no_interval():
    scores, labels = [0.1, 0.4, 0.3, 0.9], [False, True, True, False]
    lone = [auroc_interval(scores, labels, draws=1, seed=seed) for seed in range(60)]
    assert 0 < lone.count(None) < 30  # a draw of four rows has one class with chance 1/8


@pytest.mark.parametrize("labels", [[1, 1, 0, 0, 0], [0, 0, 1, 1, 1]])
def test_a_class_in_one_cluster_only_has_no_interval(labels):
    assert auroc([1, 2, 0, 3, 1], labels) is not None
    assert auroc_interval([1, 2, 0, 3, 1], labels, [0, 0, 1, 2, 2]) is None


def test_a_perfect_ranking_of_few_rows_is_no_certainty():
    found = auroc_interval(np.arange(12), np.arange(12) >= 6)
    assert found.method == "wilson of disjoint pairs"
    assert (round(found.low, 3), found.high) == (0.61, 1.0)
    worst = auroc_interval(-np.arange(12), np.arange(12) >= 6)
    assert (worst.low, round(worst.high, 3)) == (0.0, 0.39)
    # Six questions with a true and a false answer each make but three pairs of strangers.
    paired = auroc_interval(np.tile([0, 1], 6), np.tile([0, 1], 6), np.repeat(np.arange(6), 2))
    assert paired.low == pytest.approx(0.4385, abs=1e-4)


def test_delong_by_its_definition():
    generator = np.random.default_rng(5)
    scores, labels = generator.integers(0, 8, 50).astype(float), generator.random(50) < 0.4
    clusters = generator.integers(0, 20, 50)
    positive, negative = np.flatnonzero(labels), np.flatnonzero(~labels)
    won = np.array(
        [[(scores[p] > scores[n]) + 0.5 * (scores[p] == scores[n]) for n in negative] for p in positive]
    )
    codes, count = cluster_codes(clusters, 50)
    pull = np.zeros(count)
    for p, value in zip(positive, won.mean(axis=1), strict=True):
        pull[codes[p]] += (value - won.mean()) / len(positive)
    for n, value in zip(negative, won.mean(axis=0), strict=True):
        pull[codes[n]] += (value - won.mean()) / len(negative)
    half = 1.959963984540054 * np.sqrt(count / (count - 1) * np.sum(pull**2))
    found = _delong(scores, labels, codes, 0.95)
    assert (found.low, found.high) == pytest.approx((won.mean() - half, won.mean() + half), abs=1e-12)


def test_a_score_of_the_cluster_alone_ranks_at_chance_in_every_draw():
    """Both answers of a question score alike: that this is no ranking at all is certain."""
    found = auroc_interval(np.repeat(np.arange(30.0), 2), np.tile([1, 0], 30), np.repeat(np.arange(30), 2))
    assert (found.low, found.high, found.method) == (0.5, 0.5, "bootstrap")


def test_above_twenty_thousand_rows_the_closed_form_takes_over_and_agrees():
    scores, labels, clusters = drawn(np.random.default_rng(6), 10_001)
    closed = auroc_interval(scores, labels, clusters)
    draws = auroc_interval(scores[:-2], labels[:-2], clusters[:-2])
    assert (closed.method, draws.method) == ("delong", "bootstrap")
    width = closed.high - closed.low
    assert draws.low == pytest.approx(closed.low, abs=0.1 * width)
    assert draws.high == pytest.approx(closed.high, abs=0.1 * width)


def test_ranking_holds_all_of_it():
    scores, labels, clusters = drawn(np.random.default_rng(7), 40)
    found = ranking(scores, labels.astype(int), clusters)
    assert found.auroc == auroc(scores, labels)
    assert found.interval == auroc_interval(scores, labels, clusters)
    assert (found.positives, found.negatives) == (40, 40)
    assert found.interval.low < found.auroc < found.interval.high


def at_95(scores, labels, weights):
    return fpr_at_recall(scores, labels, 0.95, weights)


def average_precision_by_thresholds(scores, labels):
    """The definition, threshold by threshold."""
    value, before = 0.0, 0.0
    for threshold in sorted(set(scores), reverse=True):
        taken = scores >= threshold
        recall = labels[taken].sum() / labels.sum()
        value += (recall - before) * labels[taken].mean()
        before = recall
    return value


def fpr_by_thresholds(scores, labels, recall):
    rates = [
        (scores[~labels] >= t).mean()
        for t in set(scores)
        if (scores[labels] >= t).sum() >= recall * labels.sum()
    ]
    return min(rates)


@pytest.mark.parametrize("levels", [1, 2, 3, 10, 10_000])
def test_average_precision_and_false_alarms_by_their_definitions(levels):
    generator = np.random.default_rng(levels)
    scores, labels = generator.integers(0, levels, 60), generator.random(60) < 0.3
    by_definition = average_precision_by_thresholds(scores, labels)
    assert average_precision(scores, labels) == pytest.approx(by_definition, abs=1e-14)
    for recall in (0.25, 0.5, 0.9, 1.0):
        assert fpr_at_recall(scores, labels, recall) == fpr_by_thresholds(scores, labels, recall)


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
        with pytest.raises(ValueError, match="weight"):
            statistic(scores, labels, weights=weights)
    with pytest.raises(ValueError, match="shape"):
        statistic(scores, labels, weights=[1, 1])
    # A class without weight is as good as absent; a row without weight is as good as not there.
    assert statistic(scores, labels, weights=[1, 0, 1]) is None
    assert statistic(scores, labels, weights=[0, 1, 0]) is None
    assert statistic(scores, labels, weights=[2, 2, 0]) == statistic(scores[:2], labels[:2])


@pytest.mark.parametrize("statistic", STATISTICS)
def test_a_common_factor_of_the_weights_changes_nothing(statistic):
    generator = np.random.default_rng(9)
    scores, labels, weights = generator.integers(0, 9, 50), generator.random(50) < 0.5, generator.random(50)
    once, thrice = (statistic(scores, labels, weights=factor * weights) for factor in (1, 3))
    assert thrice == pytest.approx(once, rel=1e-12)


@pytest.mark.parametrize("statistic", [average_precision, fpr_at_recall])
@pytest.mark.parametrize("labels", [[True, True], [0, 0], []])
def test_one_class_alone_has_neither(statistic, labels):
    scores = np.arange(len(labels), dtype=float)
    assert statistic(scores, labels) is None
    assert bootstrap_interval(statistic, scores, labels) is None


def test_the_bootstrap_of_auroc_is_that_of_its_own_interval():
    columns = drawn(np.random.default_rng(2), 60)
    assert bootstrap_interval(auroc, *columns, draws=50) == auroc_interval(*columns, draws=50)


def test_statistics_see_the_same_draws_sorted_by_score():
    scores, labels, clusters = drawn(np.random.default_rng(10), 25)
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
    with pytest.raises(ValueError, match="clusters of shape"):
        bootstrap_interval(auroc, [1, 2], [0, 1], [1])


def test_the_interval_of_average_precision_by_its_definition():
    scores, labels, clusters = drawn(np.random.default_rng(12), 30)
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
    scores, labels, clusters = drawn(np.random.default_rng(13), 40)
    turned = np.random.default_rng(0).permutation(80)
    found = average_precision_interval(scores, labels, clusters)
    names = np.array([f"question {code}" for code in clusters])
    other = average_precision_interval(np.exp(scores[turned]), labels[turned], names[turned])
    assert (other.low, other.high) == pytest.approx((found.low, found.high), abs=1e-12)


def test_rows_that_belong_together_are_left_out_together():
    scores, labels, clusters = drawn(np.random.default_rng(14), 60)
    once = average_precision_interval(scores, labels, clusters)
    tenfold = (np.repeat(column, 10) for column in (scores, labels, clusters))
    again = average_precision_interval(*tenfold)
    assert (again.low, again.high) == pytest.approx((once.low, once.high), abs=1e-12)


def test_many_clusters_are_left_out_in_groups(monkeypatch):
    columns = drawn(np.random.default_rng(15), 400)
    each = average_precision_interval(*columns)
    monkeypatch.setattr("sgi.stats.ranking._MOST_LEFT_OUT", 100)
    grouped = average_precision_interval(*columns)
    assert grouped == average_precision_interval(*columns)
    assert grouped != average_precision_interval(*columns, seed=1)
    assert grouped.high - grouped.low == pytest.approx(each.high - each.low, rel=0.2)
    # All rows of a class in one group leave nothing to rank without it.
    monkeypatch.setattr("sgi.stats.ranking._MOST_LEFT_OUT", 1)
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
@pytest.mark.slow
@pytest.mark.parametrize("questions", [20, 50, 200])
def test_intervals_of_average_precision_cover_as_often_as_they_say(questions):
    generator = np.random.default_rng((11, questions))
    found = [average_precision_interval(*drawn(generator, questions)) for _ in range(400)]
    hits = [each.low <= 0.7529959968648294 <= each.high for each in found]
    assert 0.92 <= np.mean(hits) <= 0.975


@pytest.mark.slow
def test_intervals_of_false_alarms_cover_as_often_as_they_say():
    generator = np.random.default_rng(11)
    hits, trials = 0, 300
    for _ in range(trials):
        found = bootstrap_interval(at_95, *drawn(generator, 200), draws=200)
        hits += found.low <= 0.7404889771585556 <= found.high
    assert 0.93 <= hits / trials <= 0.975


@pytest.mark.slow
@pytest.mark.parametrize("method", ["bootstrap", "delong"])
def test_intervals_of_paired_answers_cover_as_often_as_they_say(method, monkeypatch):
    if method == "delong":
        monkeypatch.setattr("sgi.stats.ranking._MOST_BOOTSTRAPPED", 1)
    generator = np.random.default_rng(8)
    truth = 0.7602499389065233  # Φ(1/√2)
    trials, hits = 500, 0
    for _ in range(trials):
        found = auroc_interval(*drawn(generator, 100), draws=200)
        assert found.method == method
        hits += found.low <= truth <= found.high
    assert 0.93 <= hits / trials <= 0.97
