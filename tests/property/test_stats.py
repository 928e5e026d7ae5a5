"""Identities of intervals and rankings for all columns."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sgi.stats import auroc, auroc_interval, mean_interval, wilson_interval

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
def test_an_interval_lies_within_the_values(values, data):
    clusters = data.draw(st.lists(st.integers(0, 5), min_size=len(values), max_size=len(values)))
    found = mean_interval(values, clusters, draws=50)
    if found is None:
        assert len(set(clusters)) < 5
    elif not found.method.startswith("wilson"):
        slack = 1e-9 * max(1.0, *map(abs, values))
        assert min(values) - slack <= found.low <= found.high <= max(values) + slack


@settings(max_examples=100)
@given(columns, st.floats(0.1, 10.0), st.floats(-100.0, 100.0))
def test_an_interval_follows_shift_and_scale(values, scale, shift):
    moved = [scale * value + shift for value in values]
    before, after = mean_interval(values, draws=50), mean_interval(moved, draws=50)
    if before and after and before.method == after.method == "bootstrap":
        size = 1e-9 * max(1.0, *map(abs, values), *map(abs, moved))
        assert abs(scale * before.low + shift - after.low) <= size * scale + size
        assert abs(scale * before.high + shift - after.high) <= size * scale + size


@given(st.integers(1, 10_000), st.data())
def test_wilson_holds_the_share_and_stays_in_range(n, data):
    successes = data.draw(st.integers(0, n))
    found = wilson_interval(successes, n)
    assert 0.0 <= found.low <= successes / n + 1e-12
    assert successes / n - 1e-12 <= found.high <= 1.0
    mirror = wilson_interval(n - successes, n)
    np.testing.assert_allclose([1 - mirror.high, 1 - mirror.low], [found.low, found.high], atol=1e-12)


@given(labelled(), st.randoms(use_true_random=False))
def test_auroc_needs_no_order_of_rows(made, random):
    scores, labels, _ = made
    order = list(range(len(scores)))
    random.shuffle(order)
    assert auroc(scores[order], labels[order]) == auroc(scores, labels)


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
    found = auroc_interval(*made, draws=40)
    scores, labels, clusters = made
    mirror = auroc_interval(-scores, labels, clusters, draws=40)
    assert (found is None) == (mirror is None)
    if found is not None:
        assert 0.0 <= found.low <= found.high <= 1.0
        assert found.method == mirror.method
        np.testing.assert_allclose([1 - mirror.high, 1 - mirror.low], [found.low, found.high], atol=1e-12)
