"""The consensus of people, and the random order of rows."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sgi.store.label_consensus import (
    MIN_CHANCE,
    HumanLabel,
    consensus,
    disagree,
    drawn_order,
    drawn_probabilities,
    random_order,
    random_sample,
    uncertainty_chances,
)

ids = st.lists(st.text(min_size=1), unique=True, min_size=1, max_size=30)


def _label(author, *, value, decides=False, at="1"):
    return HumanLabel("q", "v", author, value, decides=decides, created_at=at)


def test_the_majority_counts_and_the_last_decision_counts_more():
    yes, no, skipped = (_label(str(value), value=value) for value in (True, False, None))
    assert consensus([yes, no, _label("d", value=False)]) is False
    assert consensus([yes, skipped]) is True
    assert consensus([yes, no]) is None
    assert disagree([yes, no, skipped])
    decided = [
        no,
        _label("e", value=True, decides=True, at="2"),
        _label("f", value=False, decides=True, at="3"),
    ]
    assert consensus([yes, *decided]) is False
    assert not disagree([yes, *decided])
    assert not disagree([yes, skipped])


@given(ids, ids)
def test_a_row_keeps_its_place_in_the_random_order_when_rows_are_added(first, further):
    every = list(dict.fromkeys([*first, *further]))
    alone = [first[place] for place in random_order(first)]
    together = [every[place] for place in random_order(every)]
    assert [name for name in together if name in first] == alone


@given(
    st.integers(1, 60).flatmap(
        lambda n: st.tuples(st.permutations(range(n)), st.lists(st.booleans(), min_size=n, max_size=n))
    )
)
def test_the_random_sample_ends_at_the_first_row_that_nobody_has_seen(case):
    order, seen = np.array(case[0]), np.array(case[1])
    sample = random_sample(order, seen)
    size = int(sample.sum())
    assert set(np.flatnonzero(sample)) == set(order[:size])
    assert seen[sample].all()
    assert size == len(order) or not seen[order[size]]


def test_the_random_order_of_consecutive_ids_is_uniform():
    places = np.array([np.argsort(random_order([f"{run}-{k}" for k in range(10)])) for run in range(2000)])
    for row in places.T:
        assert np.abs(np.bincount(row, minlength=10) - 200).max() < 60  # 4.5 standard deviations


def test_weights_of_drawn_rows_give_every_row_the_same_part_of_a_sum():
    """Over many draws, Σ 1/probability of the sample counts each row once, at any number of labels."""
    generator = np.random.default_rng(0)
    chances = uncertainty_chances(generator.random(60), 0.5)
    assert (chances.min(), chances.max()) == (MIN_CHANCE, 1.0)
    counted, draws = np.zeros(60), 3000
    for _ in range(draws):
        ids = [str(number) for number in generator.integers(2**62, size=60)]
        order, keys = drawn_order(ids, chances)
        drawn = drawn_probabilities(keys, chances, np.isin(np.arange(60), order[:15]))
        assert np.isfinite(drawn).sum() == 15
        counted += np.where(np.isfinite(drawn), 1 / drawn, 0.0) / draws
    assert abs(counted.mean() - 1) < 0.01
    assert np.abs(counted - 1).max() < 0.25


def test_rows_without_a_value_are_drawn_least():
    chances = uncertainty_chances(np.array([np.nan, 0.5, 0.5, 3.0]), 0.5)
    assert chances.tolist() == [MIN_CHANCE, *[MIN_CHANCE + (1 - MIN_CHANCE) * 0.75] * 2, MIN_CHANCE]
