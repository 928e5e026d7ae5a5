import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.text.overlap import MAX_WORDS, is_verbatim, token_precision, word_diff
from sgi.text.tokenizers import (
    content_words,
    mteval_words,
    normalise_answer,
    rouge_words,
    sentences,
    unicode_words,
    word_tokens,
)


def test_rouge_words_are_ascii_letters_and_digits() -> None:
    assert rouge_words("It's 3.5 km_long — CAFÉ").split() == ["it", "s", "3", "5", "km", "long", "caf"]
    assert rouge_words("東京 Москва").split() == []
    assert rouge_words("") == ""


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Hello, World_2!", ["hello", "world", "2"]),
        ("日本語です。", ["日", "本", "語", "で", "す"]),
        ("カタカナー ガガ", ["カ", "タ", "カ", "ナ", "ー", "ガ", "ガ"]),
        ("中文2024年", ["中", "文", "2024", "年"]),
        ("ที่นี่", ["ที่", "นี่"]),  # vowels and tone marks stay with their letter
        ("ភាសា", ["ភា", "សា"]),
        ("မြန်မာ", ["မြ", "န်", "မာ"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("한국어 문장", ["한국어", "문장"]),
        ("שלום, עולם", ["שלום", "עולם"]),
        ("مرحبا بالعالم", ["مرحبا", "بالعالم"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),
        ("ＡＢＣ１２ ﬁne", ["abc12", "fine"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("Tokyoは", ["tokyo", "は"]),
        ("👍🏽 🙂", []),
        ("\x00\u200d", []),
        ("\ud800x", ["x"]),
    ],
)
def test_unicode_words_read_every_script(text: str, tokens: list[str]) -> None:
    assert unicode_words(text).split(" ") == (tokens or [""])


def test_composed_and_decomposed_letters_are_one() -> None:
    assert unicode_words("cafe\u0301") == unicode_words("caf\u00e9") == "café"


def test_content_words_are_long_enough_and_no_numbers() -> None:
    assert content_words("An ox ate 1889 x1y, GROẞE tea_2 ²³⁴ abc").split() == [
        *("ate", "x1y", "grosse", "tea_2", "abc"),
    ]
    assert content_words("42 no") == ""


def test_word_tokens_keep_numbers_and_short_words() -> None:
    assert word_tokens("No, 42 ÉTÉ") == ["no", "42", "été"]


def test_mteval_words_separate_punctuation_but_not_within_numbers_and_words() -> None:
    assert mteval_words("It's 3.5% of 2,102-3 (U.S.)...").split(" ") == [
        *("It's", "3.5", "%", "of", "2,102", "-", "3", "(", "U", ".", "S", ".", ")", ".", ".", "."),
    ]
    assert mteval_words("a &amp;lt; b<skipped> state-\nof-the-art\n") == "a < b stateof-the-art"
    assert mteval_words(" \n") == ""


@pytest.mark.parametrize(
    ("text", "normalised"),
    [
        ("Paris", "paris"),
        ("  The   PARIS!\t", "paris"),
        ("a.", ""),
        ("A.B.C.", "abc"),
        ("state-of-the-art", "stateoftheart"),
        ("theatre banana", "theatre banana"),
        ("an an the a", ""),
        ("“quoted” – dash", "“quoted” – dash"),
        ("L'Été", "lété"),
        ("the\u00a0end", "end"),
        ("東京 の a", "東京 の"),
        ("", ""),
        ("🙂!", "🙂"),
    ],
)
def test_answers_are_normalised_as_the_definition_says(text: str, normalised: str) -> None:
    assert normalise_answer(text) == normalised


def test_punctuation_goes_before_articles() -> None:
    assert normalise_answer("(the) U.S.A.") == "usa"
    assert normalise_answer("a-b") == "ab"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n\t\u3000", []),
        ("One sentence", ["One sentence"]),
        ("Dr. Smith met Mrs. Dalloway. They left.", ["Dr. Smith met Mrs. Dalloway.", "They left."]),
        ("It cost $3.50 in the U.S. economy! Why?", ["It cost $3.50 in the U.S. economy!", "Why?"]),
        ("See e.g. Fig. 3 here. Then go.", ["See e.g. Fig. 3 here.", "Then go."]),
        ("1. First\n2. Second\n\n- third", ["1. First", "2. Second", "- third"]),
        ("1. It is red. It is old.", ["1. It is red.", "It is old."]),
        ("It has:\n  (2) A roof. It is red.\n- a door", ["It has:", "(2) A roof.", "It is red.", "- a door"]),
        ("It lost\n-1 point. It is old.", ["It lost\n-1 point.", "It is old."]),
        ("これは文です。次の文です。", ["これは文です。", "次の文です。"]),
        ("One.\r\nTwo.\u2028Three.", ["One.", "Two.", "Three."]),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@pytest.mark.parametrize("space", ["\x85", "\u2028", "\u2029", "\u3000", "\u00a0", "\u2009"])
def test_wide_white_space_before_a_full_stop_is_no_trouble(space: str) -> None:
    assert "".join("".join(sentences(f"J{space}. Doe B{space}.")).split()) == "J.DoeB."


def test_half_a_surrogate_pair_stays_as_it_is() -> None:
    assert sentences("One \ud83d. Two\udc00!") == ["One \ud83d.", "Two\udc00!"]


def test_a_text_with_many_quotation_marks_is_split_as_usual() -> None:
    assert sentences('"It is old." ' * 2000) == ['"It is old."'] * 2000
    assert "".join(sentences("`a" * 3000)) == "`a" * 3000


def test_a_long_text_keeps_all_its_sentences() -> None:
    assert sentences("This is so. " * 20_000) == ["This is so."] * 20_000


def test_the_share_of_distinct_words_is_taken_over_all_passages() -> None:
    assert token_precision("Paris and ROME and Oslo", ["rome, paris", "And so on"]) == 0.75


def test_a_word_is_whole() -> None:
    assert token_precision("art", ["an artist"]) == 0.0


def test_a_response_without_words_rests_on_nothing() -> None:
    assert token_precision("", ["a"]) == token_precision("…!", ["…!"]) == 0.0
    assert token_precision("a", []) == 0.0


def test_passages_may_be_any_iterable() -> None:
    assert token_precision("a b", iter(["a", "b"])) == 1.0


def test_a_verbatim_copy_stands_whole_in_one_passage_but_for_case_and_white_space() -> None:
    assert is_verbatim("STRASSE", ["Die Straße endet hier."])
    assert is_verbatim("b\u00a0 c", iter(["x", "a b\n\tc d"]))
    assert is_verbatim("art", ["an artist"])
    assert not is_verbatim("a b", ["a", "b"])
    assert not is_verbatim("", ["anything"])
    assert not is_verbatim(" \n", [" \n"])
    assert not is_verbatim("a", [])


@given(st.text(min_size=1), st.text(), st.text())
def test_every_part_of_a_passage_is_verbatim(middle: str, before: str, after: str) -> None:
    # Spaces keep a letter from folding with its neighbour into another.
    assert is_verbatim(middle, [f"{before} {middle} {after}"]) == bool(middle.split())


def test_it_separates_halueval_as_published_for_word_overlap(data_folder: Path) -> None:
    with (data_folder / "halueval_qa.jsonl").open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    right, wrong = (
        np.array([token_precision(row[key], [row["knowledge"]]) for row in rows])
        for key in ("right_answer", "hallucinated_answer")
    )
    auroc = np.mean((right[:, None] > wrong) + 0.5 * (right[:, None] == wrong))
    assert auroc == pytest.approx(0.91, abs=0.005)


texts = st.text(alphabet="ab \n", max_size=40)


@given(texts, texts)
def test_the_parts_make_both_texts(first, second):
    parts = word_diff(first, second)
    assert "".join(part.text for part in parts if part.kind != "removed") == second.rstrip()
    words = [word for part in parts if part.kind != "added" for word in part.text.split()]
    assert words == first.split()
    assert any(part.kind != "same" for part in parts) == (first.split() != second.split())


def test_a_long_text_is_not_compared():
    assert word_diff("a " * MAX_WORDS, "b") is not None
    assert word_diff("a", "a " * (MAX_WORDS + 1)) is None


def test_a_text_of_repeated_words_is_not_compared_because_its_time_grows_with_the_cube():
    assert word_diff("a " * 300, "a b " * 150) is None
