"""Identities of intervals and rankings for all columns."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sgi.stats.auroc_intervals import auroc_interval
from sgi.stats.confounds import matched_rows, permutation_control, stratified_auroc
from sgi.stats.effects import cohen_d, pearson, spearman, welch_p
from sgi.stats.intervals import Interval, NoInterval, wilson_ends
from sgi.stats.means import mean_interval
from sgi.stats.rank_resampling import average_precision_interval, bootstrap_interval
from sgi.stats.ranking import auroc, average_precision, fpr_at_recall

numbers = st.floats(-1e6, 1e6)
columns = st.lists(numbers, min_size=2, max_size=40)


@st.composite
def labelled(draw):
    """Scores with many ties, labels and clusters."""
    n = draw(st.integers(2, 40))
    scores = draw(st.lists(st.integers(-3, 3), min_size=n, max_size=n))
    labels = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    clusters = draw(st.lists(st.integers(0, 8), min_size=n, max_size=n))
    return np.array(scores, float), np.array(labels), np.array(clusters)


@settings(max_examples=100)
@given(columns, st.data())
def test_an_interval_holds_the_mean_and_lies_on_the_scale(values, data):
    clusters = data.draw(st.lists(st.integers(0, 5), min_size=len(values), max_size=len(values)))
    found = mean_interval(values, clusters, low=-1e6, high=1e6)
    if isinstance(found, NoInterval):
        assert len(set(clusters)) < 5
    else:
        slack = 1e-9 * max(1.0, *map(abs, values))
        assert -1e6 <= found.low <= np.mean(values) + slack
        assert np.mean(values) - slack <= found.high <= 1e6


@settings(max_examples=100)
@given(columns, st.floats(0.1, 10.0), st.floats(-100.0, 100.0))
def test_an_interval_follows_shift_and_scale(values, scale, shift):
    moved = [scale * value + shift for value in values]
    before = mean_interval(values, low=-1e6, high=1e6)
    after = mean_interval(moved, low=shift - scale * 1e6, high=shift + scale * 1e6)
    if isinstance(before, Interval) and isinstance(after, Interval) and before.method == after.method:
        size = 1e-6 * max(1.0, *map(abs, values), *map(abs, moved))
        assert abs(scale * before.low + shift - after.low) <= size * scale + size
        assert abs(scale * before.high + shift - after.high) <= size * scale + size


@given(st.integers(1, 10_000), st.data())
def test_wilson_holds_the_share_and_stays_in_range(n, data):
    successes = data.draw(st.integers(0, n))
    low, high = wilson_ends(successes / n, n, 1.96)
    assert 0.0 <= low <= successes / n + 1e-12
    assert successes / n - 1e-12 <= high <= 1.0
    mirror_low, mirror_high = wilson_ends((n - successes) / n, n, 1.96)
    np.testing.assert_allclose([1 - mirror_high, 1 - mirror_low], [low, high], atol=1e-12)


@given(labelled())
def test_auroc_is_the_share_of_pairs_won(made):
    scores, labels, _ = made
    found = auroc(scores, labels)
    if found is None:
        assert labels.all() or not labels.any()
    else:
        gaps = scores[labels][:, None] - scores[~labels][None]
        assert abs(found - (np.sign(gaps).mean() + 1) / 2) < 1e-12


@settings(max_examples=100)
@given(labelled())
def test_an_interval_of_auroc_lies_in_range_and_mirrors(made):
    found = auroc_interval(*made)
    scores, labels, clusters = made
    mirror = auroc_interval(-scores, labels, clusters)
    assert isinstance(found, NoInterval) == isinstance(mirror, NoInterval)
    if isinstance(found, Interval):
        assert 0.0 <= found.low <= found.high <= 1.0
        assert found.method == mirror.method
        np.testing.assert_allclose([1 - mirror.high, 1 - mirror.low], [found.low, found.high], atol=1e-12)


@given(labelled(), st.randoms(use_true_random=False))
def test_precision_and_false_alarms_need_no_order_of_rows(made, random):
    scores, labels, _ = made
    order = list(range(len(scores)))
    random.shuffle(order)
    for statistic in (average_precision, fpr_at_recall):
        found = statistic(scores, labels)
        assert statistic(scores[order], labels[order]) == found
        assert (found is None) == (labels.all() or not labels.any())
        assert found is None or 0.0 <= found <= 1.0


@given(labelled(), st.floats(0.01, 1.0), st.floats(0.01, 1.0))
def test_more_recall_costs_no_fewer_false_alarms(made, one, other):
    scores, labels, _ = made
    less, more = (fpr_at_recall(scores, labels, recall) for recall in sorted([one, other]))
    assert (less is None and more is None) or less <= more


@settings(max_examples=50)
@given(labelled())
def test_any_interval_lies_in_range_or_is_none(made):
    intervals = [bootstrap_interval(statistic, *made, draws=20) for statistic in (auroc, fpr_at_recall_95)]
    for found in (*intervals, average_precision_interval(*made)):
        assert found is None or 0.0 <= found.low <= found.high <= 1.0


def fpr_at_recall_95(scores, labels, weights):
    return fpr_at_recall(scores, labels, 0.95, weights)


@settings(max_examples=100)
@given(labelled())
def test_strata_count_every_row_once_and_mirror(made):
    scores, labels, strata = made
    found = stratified_auroc(scores, labels, strata)
    mirror = stratified_auroc(-scores, labels, strata)
    assert (found is None) == (mirror is None)
    if found is not None:
        rank = found.ranking
        assert rank.positives + rank.negatives + found.dropped == len(labels)
        assert abs(rank.auroc + mirror.ranking.auroc - 1) < 1e-12
        whole = stratified_auroc(scores, labels, np.zeros(len(labels)))
        assert whole.ranking.auroc == auroc(scores, labels)


@given(labelled(), st.one_of(st.just(0.0), st.floats(1e-300, 4.0)))
def test_matched_rows_are_balanced_and_rank_nothing_by_their_value(made, width):
    values, labels, _ = made
    kept = matched_rows(values, labels, width=width)
    assert labels[kept].sum() * 2 == len(kept) == len(set(kept.tolist()))
    exact = matched_rows(values, labels)
    assert auroc(values[exact], labels[exact]) in {None, 0.5}


@settings(max_examples=50)
@given(labelled())
def test_shuffles_have_a_p_and_keep_the_range(made):
    found = permutation_control(*made, draws=9)
    if found is not None:
        assert found.p in {tenth / 10 for tenth in range(1, 11)}
        assert 0.0 <= found.interval.low <= found.auroc + 1e-12
        assert found.auroc - 1e-12 <= found.interval.high <= 1.0


@given(st.lists(st.tuples(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300)), max_size=20))
def test_effects_are_numbers_in_range_or_none(rows):
    one, other = np.array(rows, float).reshape(-1, 2).T
    for correlation in (pearson, spearman):
        found = correlation(one, other)
        assert found is None or (-1.0 <= found <= 1.0 and found == correlation(other, one))
    p, d = welch_p(one, other), cohen_d(one, other)
    assert p is None or 0.0 <= p <= 1.0
    assert d is None or np.isfinite(d)
