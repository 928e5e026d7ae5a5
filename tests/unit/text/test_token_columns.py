from itertools import product

import numpy as np
import pytest

from sgi.text import token_columns as columns
from sgi.text.token_columns import Match, TokenColumn
from sgi.text.tokenizers import content_words, mteval_words, normalise_answer, rouge_words, unicode_words

DEFINITIONS = (rouge_words, unicode_words, content_words, mteval_words, normalise_answer)


def longest_by_table(first: list[str], second: list[str]) -> int:
    """The textbook table, as an independent answer."""
    row = [0] * (len(second) + 1)
    for token in first:
        previous = row
        row = [0]
        for column, other in enumerate(second):
            row.append(previous[column] + 1 if token == other else max(previous[column + 1], row[column]))
    return row[-1]


def joined(tokens: list[str]) -> str:
    return " ".join(tokens)


def all_pairs(n: int) -> tuple[np.ndarray, np.ndarray]:
    return np.repeat(np.arange(n), n), np.tile(np.arange(n), n)


def spelt(column: TokenColumn, texts: list[str], words) -> list[list[str]]:
    """The tokens of each text, their numbers put back into words, which must be the same everywhere."""
    known: dict[int, str] = {}
    for text, start, length in zip(texts, column.starts, column.lengths, strict=True):
        tokens = words(text).split(" ")
        for number, token in zip(
            column.numbers[start : start + length].tolist(), [t for t in tokens if t], strict=True
        ):
            assert known.setdefault(number, token) == token
    assert len(set(known.values())) == len(known)
    return [
        [known[number] for number in column.numbers[start : start + length].tolist()]
        for start, length in zip(column.starts, column.lengths, strict=True)
    ]


def test_the_longest_subsequence_is_that_of_the_textbook_table() -> None:
    words = [list(letters) for n in range(5) for letters in product("abc", repeat=n)]
    first, second = all_pairs(len(words))
    column = TokenColumn.of([joined(tokens) for tokens in words], str.lower)
    match = column.in_order(first, second)
    expected = np.array([longest_by_table(words[a], words[b]) for a, b in zip(first, second, strict=True)])
    np.testing.assert_array_equal(
        match.precision, np.where(column.lengths[first], expected / np.maximum(column.lengths[first], 1), 0)
    )


def test_the_longest_subsequence_of_long_texts_is_that_of_the_table() -> None:
    first = [str(number**2 % 29) for number in range(400)]
    second = [str(number**3 % 31) for number in range(300)]
    column = TokenColumn.of([joined(first), joined(second)], str.lower)
    expected = longest_by_table(first, second)
    assert expected > 64
    assert column.in_order(np.array([0]), np.array([1])).recall.tolist() == [expected / 300]


def test_order_counts_for_one_match_and_not_for_the_other() -> None:
    column = TokenColumn.of(["the capital of france is paris", "paris is the capital of france"], str.lower)
    both = np.array([0]), np.array([1])
    assert column.in_order(*both).precision.tolist() == [4 / 6]
    assert column.in_bags(*both).precision.tolist() == [1.0]
    assert column.equal(*both).tolist() == [False]


def test_a_word_counts_as_often_as_both_sides_have_it() -> None:
    column = TokenColumn.of(["x x x y", "x x", ""], str.lower)
    match = column.in_bags(np.array([0, 0, 2, 2]), np.array([1, 2, 0, 2]))
    assert match.precision.tolist() == [0.5, 0.0, 0.0, 0.0]
    assert match.recall.tolist() == [1.0, 0.0, 0.0, 0.0]


def test_longer_runs_are_numbered_within_each_text() -> None:
    words = TokenColumn.of(["a b a b a", "b a b", "a"], str.lower)
    first, second = np.array([0, 0, 1]), np.array([1, 2, 0])
    pairs = words.longer(words)
    assert pairs.lengths.tolist() == [4, 2, 0]
    assert pairs.common(first, second).tolist() == [2, 0, 2]
    triples = pairs.longer(words)
    assert triples.lengths.tolist() == [3, 1, 0]
    assert triples.common(first, second).tolist() == [1, 0, 1]
    assert triples.longer(words).lengths.tolist() == [2, 0, 0]


def test_no_text_and_no_token_are_no_trouble() -> None:
    nothing = np.zeros(0, dtype=np.int64)
    empty = TokenColumn.of([], str.lower)
    assert (empty.vocabulary, empty.common(nothing, nothing).tolist()) == (0, [])
    blank = TokenColumn.of(["", " "], str.lower)
    for column in (blank, blank.longer(blank)):
        assert column.common(np.array([0]), np.array([1])).tolist() == [0]
    assert blank.in_order(np.array([0]), np.array([1])) == Match(np.zeros(1), np.zeros(1))


def test_tokens_as_long_as_a_number_and_longer_are_told_apart() -> None:
    tokens = ["a" * n for n in range(1, 20)] + ["é" * n for n in range(1, 20)] + ["aaaaaaa\x00", "\xff" * 4]
    column = TokenColumn.of(tokens, str)
    assert column.vocabulary == len(tokens)
    assert column.lengths.tolist() == [1] * len(tokens)


@pytest.mark.parametrize("number", [0, 1, 2, 256])
@pytest.mark.parametrize("order", ["little", "big"])
def test_a_token_whose_bytes_are_the_number_of_a_long_one_is_another(number, order) -> None:
    long = [f"number-{n:03}-and-on" for n in range(300)]
    bare = number.to_bytes(8, order).decode()
    column = TokenColumn.of([joined([*long, bare])], str)
    assert column.vocabulary == len(long) + 1


def test_white_space_at_the_end_of_a_text_is_none_of_its_words() -> None:
    """Between words, a hyphen at the end of a line joins it with the next."""
    column = TokenColumn.of(["foo-\n", "foo-", "foo", "next"], mteval_words)
    assert column.equal(np.array([0, 0]), np.array([1, 2])).tolist() == [True, False]


def test_each_text_is_cut_once_however_often_it_comes() -> None:
    seen: list[str] = []

    def words(text: str) -> str:
        seen.append(text)
        return text

    column = TokenColumn.of(["one two", "three", "one two", "drei für"], words)
    assert sum(text.count("one two") for text in seen) == 1
    assert len(seen) == 2, "plain texts together, the others together"
    assert column.starts[0] == column.starts[2]
    assert column.lengths.tolist() == [2, 1, 2, 2]


@pytest.mark.parametrize("words", DEFINITIONS)
def test_a_text_with_the_very_mark_is_cut_as_any_other(words) -> None:
    texts = ["before it", f"a {columns._MARK} b", columns._MARK.upper(), "behind it", ""]
    tokens = spelt(TokenColumn.of(texts, words), texts, words)
    assert tokens == [[token for token in words(text).split(" ") if token] for text in texts]


@pytest.mark.parametrize("words", DEFINITIONS)
def test_portions_leave_no_trace(words, monkeypatch) -> None:
    texts = [f"Word{n} is {n % 7}, as the Straße-{n % 3}.\n" + "x" * (n % 5) for n in range(40)] + ["plain"]
    whole = TokenColumn.of(texts, words)
    monkeypatch.setattr(columns, "_PORTION", 50)
    parts = TokenColumn.of(texts, words)
    assert spelt(whole, texts, words) == spelt(parts, texts, words)
    first, second = all_pairs(len(texts))
    np.testing.assert_array_equal(whole.common(first, second), parts.common(first, second))


def test_more_tokens_than_characters_are_compared_all_the_same(monkeypatch) -> None:
    texts = [f"{n} {n + 1} {n + 2}" for n in range(60_000)]  # beyond the gap that surrogates leave
    first, second = np.arange(59_998), np.arange(2, 60_000)
    match = TokenColumn.of(texts, str).in_order(first, second)
    assert set(match.recall.tolist()) == {1 / 3}
    monkeypatch.setattr(columns, "_CHARACTERS", 100)
    np.testing.assert_array_equal(TokenColumn.of(texts, str).in_order(first, second).recall, match.recall)


def test_f_score_leans_to_recall_as_beta_grows() -> None:
    match = Match(np.array([0.25]), np.array([1.0]))
    assert match.f_score()[0] == pytest.approx(2 * 0.25 / 1.25, abs=1e-15)
    assert match.f_score(2)[0] == pytest.approx(5 * 0.25 / (4 * 0.25 + 1), abs=1e-15)
    assert match.f_score(1e-200).tolist() == [0.25]
    assert match.f_score(1e200).tolist() == [1.0]


def test_f_score_is_zero_where_nothing_is_common() -> None:
    match = Match(np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0]))
    assert match.f_score(3).tolist() == [0.0, 0.0, 0.0]
