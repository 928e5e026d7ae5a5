import unicodedata
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sgi.text.overlap import token_precision, token_precisions
from sgi.text.token_columns import Match, TokenColumn
from sgi.text.tokenizers import (
    content_words,
    mteval_words,
    normalise_answer,
    rouge_words,
    sentences,
    unicode_words,
    word_tokens,
)

HOSTILE = st.sampled_from(
    [
        *("\x00", "\u202e", "שלום", "مرحبا", "🙂", "👩‍👩‍👧", "e\u0301", "東京", "ที่", "İ", "ß", "\ud800"),
        *("\ufeff", "\u2028", "\x85"),
    ]
)
PUNCTUATED = st.sampled_from(
    ["Dr. ", "U.S. ", "J", "B\u3000.", ". ", "! ", "。", "\n", "\r\n", "1. ", '"', "i.e. ", "a.b"]
)
TEXTS = st.text(max_size=60) | st.lists(HOSTILE | PUNCTUATED | st.text(max_size=8), max_size=12).map("".join)
TOKENS = st.lists(st.sampled_from(["a", "b", "c", "東", "ccccccccc"]), max_size=12)
SPACED = (rouge_words, unicode_words, content_words, mteval_words, normalise_answer)


def listed(words):
    """A definition that gives a text with spaces between its tokens, as one that gives the list of them."""
    return lambda text: [token for token in words(text).split(" ") if token]


SPLITTERS = (*map(listed, SPACED[:-2]), word_tokens)


def compared(first: list[str], second: list[str]) -> tuple[Match, Match]:
    """What two lists of tokens have in common, in order and in bags."""
    column = TokenColumn.of([" ".join(first), " ".join(second)], str)
    sides = np.array([0]), np.array([1])
    return column.in_order(*sides), column.in_bags(*sides)


def squeezed(text: str) -> str:
    return "".join(text.split())


@given(TEXTS)
@example("J\u2028. K\x85.")
@example("A \ud83d. B")
def test_sentences_lose_only_white_space(text: str) -> None:
    found = sentences(text)
    assert all(sentence == sentence.strip() != "" for sentence in found)
    assert squeezed("".join(found)) == squeezed(text)
    assert all(sentence in text for sentence in found)


@given(TEXTS)
def test_a_normalised_answer_is_normal(text: str) -> None:
    normal = normalise_answer(text)
    assert normal == " ".join(normal.split())
    assert normalise_answer(text.upper().lower()) == normalise_answer(text.upper())
    assert not set(normal) & set("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
    assert normalise_answer(normal) == normal or {"a", "an", "the"} & set(normal.split())


@pytest.mark.parametrize("tokens", SPLITTERS)
@given(text=TEXTS)
def test_tokens_are_never_empty_and_hold_no_white_space(tokens, text: str) -> None:
    assert all(token and token.split() == [token] for token in tokens(text))


@pytest.mark.parametrize("tokens", SPLITTERS)
@given(first=TEXTS, second=TEXTS)
def test_tokens_do_not_reach_over_a_line_break(tokens, first: str, second: str) -> None:
    assert tokens(f"{first}\n{second}") == tokens(first) + tokens(second)


@given(TEXTS)
def test_unicode_words_miss_no_letter_or_digit(text: str) -> None:
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    wanted = [sign for sign in folded if unicodedata.category(sign)[0] in "LN"]
    found = [sign for sign in unicode_words(text) if unicodedata.category(sign)[0] in "LN"]
    assert found == wanted


@given(st.text(alphabet=st.characters(max_codepoint=127), max_size=60))
def test_on_ascii_unicode_words_are_rouge_words(text: str) -> None:
    assert unicode_words(text).split() == rouge_words(text).split()


@pytest.mark.parametrize("words", SPACED)
@given(texts=st.lists(TEXTS | st.sampled_from(["-\n", "Σ", "qzjxvk", "QZJXVK,", "., ."]), max_size=6))
def test_texts_cut_together_have_the_tokens_they_have_alone(words, texts: list[str]) -> None:
    column = TokenColumn.of(texts, words)
    alone = [listed(words)(text.rstrip()) for text in texts]
    assert column.lengths.tolist() == [len(tokens) for tokens in alone]
    spelt: dict[int, str] = {}
    for start, tokens in zip(column.starts.tolist(), alone, strict=True):
        for number, token in zip(column.numbers[start:].tolist(), tokens, strict=False):
            assert spelt.setdefault(number, token) == token
    assert len(set(spelt.values())) == len(spelt)


@given(TOKENS, TOKENS)
def test_the_common_subsequence_is_bounded_and_symmetric(first: list[str], second: list[str]) -> None:
    ordered, _ = compared(first, second)
    assert 0.0 <= ordered.precision[0] <= 1.0
    turned, _ = compared(second, first)
    assert (turned.precision[0], turned.recall[0]) == (ordered.recall[0], ordered.precision[0])
    assert compared(first[::-1], second[::-1])[0] == ordered
    assert compared(first, first)[0].recall.tolist() == [float(bool(first))]


@given(TOKENS, TOKENS)
def test_order_can_only_lower_the_match(first: list[str], second: list[str]) -> None:
    ordered, bag = compared(first, second)
    assert ordered.precision[0] <= bag.precision[0]
    assert ordered.recall[0] <= bag.recall[0]
    assert bag == compared(sorted(first), second[::-1])[1]


@given(TOKENS, TOKENS)
def test_the_bag_match_is_that_of_counters(first: list[str], second: list[str]) -> None:
    common = (Counter(first) & Counter(second)).total()
    expected = Match(*(np.array([common / max(len(tokens), 1)]) for tokens in (first, second)))
    assert compared(first, second)[1] == expected


@given(TOKENS, TOKENS, st.floats(0.01, 100))
def test_the_f_score_lies_between_precision_and_recall(
    first: list[str], second: list[str], beta: float
) -> None:
    _, match = compared(first, second)
    score, parts = match.f_score(beta)[0], (match.precision[0], match.recall[0])
    assert 0.0 <= score <= 1.0
    assert score == 0.0 or min(parts) - 1e-12 <= score <= max(parts) + 1e-12
    assert compared(second, first)[1].f_score()[0] == pytest.approx(match.f_score()[0], abs=1e-15)


@given(st.lists(st.tuples(TEXTS, st.lists(TEXTS, max_size=3)), max_size=4))
def test_token_precisions_of_rows_are_those_of_each(rows: list[tuple[str, list[str]]]) -> None:
    assert token_precisions(rows) == [token_precision(*row) for row in rows]


@given(TEXTS, st.lists(TEXTS, max_size=4))
def test_token_precision_is_a_share_that_passages_can_only_raise(response: str, passages: list[str]) -> None:
    share = token_precision(response, passages)
    assert 0.0 <= share <= token_precision(response, [*passages, "more"]) <= 1.0
    assert share == token_precision(response, passages[::-1])
    assert token_precision(response, [*passages, response]) == float(bool(word_tokens(response)))
