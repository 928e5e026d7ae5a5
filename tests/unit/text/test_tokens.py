from __future__ import annotations

import pytest

from sgi.text.tokens import content_tokens, rouge_tokens, unicode_tokens, word_tokens


def test_rouge_tokens_are_ascii_letters_and_digits() -> None:
    assert rouge_tokens("It's 3.5 km_long — CAFÉ") == ["it", "s", "3", "5", "km", "long", "caf"]
    assert rouge_tokens("東京 Москва") == []
    assert rouge_tokens("") == []


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
def test_unicode_tokens_read_every_script(text: str, tokens: list[str]) -> None:
    assert unicode_tokens(text) == tokens


def test_composed_and_decomposed_letters_are_one() -> None:
    assert unicode_tokens("cafe\u0301") == unicode_tokens("caf\u00e9") == ["café"]


def test_content_tokens_are_long_enough_and_no_numbers() -> None:
    assert content_tokens("An ox ate 1889 x1y, GROẞE tea_2 ²³⁴ abc") == [
        "ate",
        "x1y",
        "grosse",
        "tea_2",
        "abc",
    ]
    assert content_tokens("42 no") == []


def test_word_tokens_keep_numbers_and_short_words() -> None:
    assert word_tokens("No, 42 ÉTÉ") == ["no", "42", "été"]
