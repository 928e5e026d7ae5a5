import numpy as np
import pytest

from sgi.stats.auroc_difference import auroc_difference
from sgi.stats.auroc_intervals import auroc_interval
from sgi.stats.intervals import student_quantile
from sgi.stats.rank_resampling import average_precision_interval, bootstrap_interval
from sgi.stats.ranking import auroc, average_precision, fpr_at_recall, ranking
from support.ranked_answers import simulate_answers
from support.slow import slow


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
