"""Identities of paired comparisons for all columns."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgi.stats.paired_tests import holm, mcnemar, paired_differences

numbers = st.one_of(st.floats(-1e6, 1e6), st.sampled_from([0.0, 0.1, 0.2, 0.3, 1.0, float("nan")]))


@st.composite
def paired(draw):
    """Two systems, one or two metrics, values missing here and there, rows in clusters."""
    n, columns = draw(st.integers(0, 30)), draw(st.integers(1, 2))
    first, second = (
        np.array(draw(st.lists(numbers, min_size=n * columns, max_size=n * columns))).reshape(n, columns)
        for _ in range(2)
    )
    clusters = draw(st.lists(st.integers(0, 12), min_size=n, max_size=n))
    return first, second, np.array(clusters, dtype=int)


@settings(max_examples=150)
@given(paired())
def test_all_numbers_are_finite_and_in_range(made):
    first, second, clusters = made
    found_of = paired_differences(*made, ranges=[2e6] * first.shape[1])
    for column, found in enumerate(found_of):
        there = ~np.isnan(first[:, column] + second[:, column])
        assert found.pairs == there.sum()
        assert found.clusters == len(np.unique(clusters[there]))
        if found.interval is None:
            assert found.no_interval
            assert found.p is None
        else:
            assert (found.p < 0.05) == (not found.interval.low <= 0 <= found.interval.high)
            slack = 1e-9 * max(1.0, abs(found.difference))
            assert found.interval.low - slack <= found.difference <= found.interval.high + slack
            assert found.smallest is None or found.smallest >= 0


@settings(max_examples=150)
@given(paired(), st.sampled_from([0.05, 0.3, 1e5]))
def test_p_of_a_margin_agrees_with_the_interval(made, margin):
    columns = made[0].shape[1]
    for found in paired_differences(*made, ranges=[2e6] * columns, margins=[margin] * columns):
        if found.interval is not None:
            assert (found.p_below < 0.05) == (found.interval.low > -margin)
            assert (found.p_above < 0.05) == (found.interval.high < margin)
        else:
            assert found.p_below is None or found.p == 0.0


@settings(max_examples=100)
@given(paired())
def test_swapping_the_systems_turns_the_sign(made):
    first, second, clusters = made
    forth, back = (
        paired_differences(*sides, clusters, ranges=[2e6] * first.shape[1])
        for sides in ((first, second), (second, first))
    )
    for one, other in zip(forth, back, strict=True):
        assert (one.p or 2) == pytest.approx(other.p or 2, rel=1e-5)
        assert (one.first, one.second) == (other.second, other.first)
        if one.interval is not None:
            size = 1e-9 * max(
                1.0, abs(one.interval.low), abs(one.interval.high), *np.nan_to_num(abs(first)).flat
            )
            assert abs(one.difference + other.difference) <= size
            assert abs(one.interval.low + other.interval.high) <= size
            assert abs(one.interval.high + other.interval.low) <= size


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=80))
def test_mcnemar_is_symmetric(pairs):
    first, second = (np.array([pair[side] for pair in pairs], dtype=float) for side in (0, 1))
    forth, back = mcnemar(first, second), mcnemar(second, first)
    assert (forth.lost, forth.gained, forth.p) == (back.gained, back.lost, back.p)
    assert 0 < forth.p <= 1


@given(st.lists(st.none() | st.floats(0, 1), max_size=12))
def test_holm_raises_and_keeps_the_order(p):
    adjusted = holm(p)
    assert [value is None for value in adjusted] == [value is None for value in p]
    known = sorted((one, other) for one, other in zip(p, adjusted, strict=True) if one is not None)
    assert all(one <= other <= min(1.0, len(known) * one) + 1e-12 for one, other in known)
    assert [other for _, other in known] == sorted(other for _, other in known)
