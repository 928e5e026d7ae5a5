from __future__ import annotations

import pytest

from sgi.text.tokenizers import content_words, mteval_words, rouge_words, unicode_words, word_tokens


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
        "ate",
        "x1y",
        "grosse",
        "tea_2",
        "abc",
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
