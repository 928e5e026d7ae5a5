import numpy as np
import pytest

from sgi.stats.intervals import cluster_codes
from sgi.stats.ranking import _delong, _Order, auroc, auroc_interval, ranking


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
    order = _Order.of(scores, labels)
    weighted = order.area(times[order.positive].astype(float), times[order.negative].astype(float))
    assert weighted == auroc(np.repeat(scores, times), np.repeat(labels, times))


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
    found = _delong(_Order.of(scores, labels), codes, count, 0.95)
    assert (found.low, found.high) == pytest.approx((won.mean() - half, won.mean() + half), abs=1e-12)


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


@pytest.mark.slow
@pytest.mark.parametrize("method", ["bootstrap", "delong"])
def test_intervals_of_paired_answers_cover_as_often_as_they_say(method, monkeypatch):
    if method == "delong":
        monkeypatch.setattr("sgi.stats.ranking._MOST_BOOTSTRAPPED", 1)
    generator = np.random.default_rng(8)
    truth = 0.7602499389065233  # Φ(1/√2)
    trials, hits = 800, 0
    for _ in range(trials):
        found = auroc_interval(*drawn(generator, 100), draws=200)
        assert found.method == method
        hits += found.low <= truth <= found.high
    assert 0.93 <= hits / trials <= 0.97
