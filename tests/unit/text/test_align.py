from __future__ import annotations

from itertools import product

import pytest

from sgi.text.align import Match, bag_match, lcs_length, ordered_match


def longest_by_table(first: list[str], second: list[str]) -> int:
    """The textbook table, as an independent answer."""
    row = [0] * (len(second) + 1)
    for token in first:
        previous = row
        row = [0]
        for column, other in enumerate(second):
            row.append(previous[column] + 1 if token == other else max(previous[column + 1], row[column]))
    return row[-1]


def test_lcs_equals_the_textbook_table() -> None:
    words = [list(letters) for n in range(5) for letters in product("abc", repeat=n)]
    assert all(lcs_length(a, b) == longest_by_table(a, b) for a, b in product(words, words))


def test_lcs_of_long_texts_equals_the_textbook_table() -> None:
    first = [str(number**2 % 29) for number in range(400)]
    second = [str(number**3 % 31) for number in range(300)]
    assert lcs_length(first, second) == longest_by_table(first, second) > 64


def test_lcs_tells_apart_tokens_with_equal_hashes() -> None:
    class Same(str):
        __slots__ = ()

        def __hash__(self) -> int:
            return 1

    assert lcs_length([Same("a"), Same("b")], [Same("b"), Same("a")]) == 1
    assert lcs_length([Same("a")], [Same("b")]) == 0


def test_lcs_of_nothing_is_nothing() -> None:
    assert lcs_length([], []) == lcs_length(["a"], []) == lcs_length([], ["a"]) == 0


def test_order_counts_for_one_match_and_not_for_the_other() -> None:
    response = ["the", "capital", "of", "france", "is", "paris"]
    reference = ["paris", "is", "the", "capital", "of", "france"]
    assert ordered_match(response, reference) == Match(4 / 6, 4 / 6)
    assert bag_match(response, reference) == Match(1.0, 1.0)


def test_a_word_counts_as_often_as_both_sides_have_it() -> None:
    assert bag_match(["x", "x", "x", "y"], ["x", "x"]) == Match(0.5, 1.0)


@pytest.mark.parametrize("match", [ordered_match, bag_match])
def test_an_empty_side_gives_zeros(match) -> None:
    assert match([], []) == match(["a"], []) == match([], ["a"]) == Match(0.0, 0.0)


def test_f_score_leans_to_recall_as_beta_grows() -> None:
    match = Match(precision=0.25, recall=1.0)
    assert match.f_score() == pytest.approx(2 * 0.25 / 1.25, abs=1e-15)
    assert match.f_score(2) == pytest.approx(5 * 0.25 / (4 * 0.25 + 1), abs=1e-15)
    assert match.f_score(1e-200) == 0.25
    assert match.f_score(1e200) == 1.0


def test_f_score_is_zero_where_nothing_is_common() -> None:
    assert Match(0.0, 0.0).f_score() == Match(0.0, 1.0).f_score() == Match(1.0, 0.0).f_score(3) == 0.0
