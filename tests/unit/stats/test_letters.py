from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.stats.letters import compact_letters


def differing(count, pairs):
    matrix = np.zeros((count, count), dtype=bool)
    for one, two in pairs:
        matrix[one, two] = matrix[two, one] = True
    return matrix


@st.composite
def matrices(draw):
    count = draw(st.integers(0, 8))
    pairs = list(combinations(range(count), 2))
    return differing(count, draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else [])


@given(matrices())
def test_two_systems_share_a_letter_if_and_only_if_they_do_not_differ(matrix):
    letters = compact_letters(matrix)
    for one, two in combinations(range(len(matrix)), 2):
        assert bool(set(letters[one]) & set(letters[two])) != matrix[one, two]


@given(matrices())
def test_each_letter_is_used_and_no_letter_is_contained_in_another(matrix):
    letters = compact_letters(matrix)
    groups = [
        {place for place, of in enumerate(letters) if letter in of}
        for letter in sorted(set("".join(letters)))
    ]
    assert all(not one <= two and not two <= one for one, two in combinations(groups, 2))
    assert all(letters)


def test_overlapping_groups_get_overlapping_letters():
    pairs = [(0, 6), (0, 7), (1, 6), (1, 7), (2, 7), (3, 7)]
    assert compact_letters(differing(8, pairs)) == ("a", "a", "ab", "ab", "abc", "abc", "bc", "c")


@pytest.mark.parametrize("wrong", [[[0, 1], [0, 0]], [[1]], [0, 1], np.zeros((27, 27))])
def test_a_matrix_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(ValueError, match=r"differ|systems"):
        compact_letters(wrong)
