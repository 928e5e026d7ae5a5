from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sgi.text.align import bag_match, lcs_length, ordered_match
from sgi.text.normalise import normalise_answer
from sgi.text.overlap import token_precision
from sgi.text.sentences import sentences
from sgi.text.tokens import content_tokens, rouge_tokens, unicode_tokens, word_tokens

HOSTILE = st.sampled_from(
    [
        "\x00",
        "\u202e",
        "שלום",
        "مرحبا",
        "🙂",
        "👩‍👩‍👧",
        "e\u0301",
        "東京",
        "ที่",
        "İ",
        "ß",
        "\ud800",
        "\ufeff",
        "\u2028",
        "\x85",
    ]
)
PUNCTUATED = st.sampled_from(
    ["Dr. ", "U.S. ", "J", "B\u3000.", ". ", "! ", "。", "\n", "\r\n", "1. ", '"', "i.e. ", "a.b"]
)
TEXTS = st.text(max_size=60) | st.lists(HOSTILE | PUNCTUATED | st.text(max_size=8), max_size=12).map("".join)
TOKENS = st.lists(st.sampled_from(["a", "b", "c", "東", ""]), max_size=12)
SPLITTERS = (rouge_tokens, unicode_tokens, content_tokens, word_tokens)


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
def test_unicode_tokens_miss_no_letter_or_digit(text: str) -> None:
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    wanted = [sign for sign in folded if unicodedata.category(sign)[0] in "LN"]
    found = [sign for sign in "".join(unicode_tokens(text)) if unicodedata.category(sign)[0] in "LN"]
    assert found == wanted


@given(st.text(alphabet=st.characters(max_codepoint=127), max_size=60))
def test_on_ascii_unicode_tokens_are_rouge_tokens(text: str) -> None:
    assert unicode_tokens(text) == rouge_tokens(text)


@given(TOKENS, TOKENS)
def test_the_common_subsequence_is_bounded_and_symmetric(first: list[str], second: list[str]) -> None:
    length = lcs_length(first, second)
    assert 0 <= length <= min(len(first), len(second))
    assert length == lcs_length(second, first) == lcs_length(first[::-1], second[::-1])
    assert lcs_length(first, first) == len(first)


@given(TOKENS, TOKENS)
def test_order_can_only_lower_the_match(first: list[str], second: list[str]) -> None:
    ordered, bag = ordered_match(first, second), bag_match(first, second)
    assert ordered.precision <= bag.precision
    assert ordered.recall <= bag.recall
    assert bag == bag_match(sorted(first), second[::-1])


@given(TOKENS, TOKENS, st.floats(0.01, 100))
def test_the_f_score_lies_between_precision_and_recall(
    first: list[str], second: list[str], beta: float
) -> None:
    match = bag_match(first, second)
    score = match.f_score(beta)
    assert 0.0 <= score <= 1.0
    assert score == 0.0 or min(match) - 1e-12 <= score <= max(match) + 1e-12
    assert bag_match(second, first).f_score() == pytest.approx(match.f_score(), abs=1e-15)


@given(TEXTS, st.lists(TEXTS, max_size=4))
def test_token_precision_is_a_share_that_passages_can_only_raise(response: str, passages: list[str]) -> None:
    share = token_precision(response, passages)
    assert 0.0 <= share <= token_precision(response, [*passages, "more"]) <= 1.0
    assert share == token_precision(response, passages[::-1])
    assert token_precision(response, [*passages, response]) == float(bool(word_tokens(response)))
