import re
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.stats.letters import compact_letters
from sgi.stats.paired_tests import holm


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


def letters_of(text):
    """The letters of one system; those after z have a number."""
    return set(re.findall(r"[a-z][0-9]*", text))


@st.composite
def p_values(draw):
    """P-values of all pairs of 1 to 12 systems; None where a test is undefined."""
    count = draw(st.integers(1, 12))
    value = st.one_of(
        st.none(), st.sampled_from([1e-9, 0.001, 0.01, 0.0499, 0.05, 0.2, 1.0]), st.floats(0, 1)
    )
    pairs = list(combinations(range(count), 2))
    return count, pairs, draw(st.lists(value, min_size=len(pairs), max_size=len(pairs)))


@given(p_values())
def test_letters_say_what_holm_says_and_none_of_them_can_be_left_out(case):
    count, pairs, p = case
    significant = {
        pair for pair, value in zip(pairs, holm(p), strict=True) if value is not None and value < 0.05
    }
    letters = [letters_of(text) for text in compact_letters(differing(count, significant))]

    assert {pair for pair in pairs if not letters[pair[0]] & letters[pair[1]]} == significant
    assert "a" in letters[0]
    firsts = [
        min(place for place, of in enumerate(letters) if letter in of)
        for letter in map(chr, range(ord("a"), ord("z") + 1))
        if any(letter in of for of in letters)
    ]
    assert firsts == sorted(firsts)
    for left_out in set().union(*letters):
        others = [of - {left_out} for of in letters]
        apart = {pair for pair in pairs if not others[pair[0]] & others[pair[1]]}
        assert apart != significant or not all(others)


def test_a_letter_whose_pairs_all_share_other_letters_is_left_out():
    together = {(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (0, 4), (2, 4), (1, 5), (2, 5)}
    apart = set(combinations(range(6), 2)) - together
    assert compact_letters(differing(6, apart)) == ("ab", "ac", "bc", "a", "b", "c")


@pytest.mark.parametrize("wrong", [[[0, 1], [0, 0]], [[1]], [0, 1], np.zeros((27, 27))])
def test_a_matrix_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(ValueError, match=r"differ|systems"):
        compact_letters(wrong)
