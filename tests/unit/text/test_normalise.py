from __future__ import annotations

import pytest

from sgi.text.tokenizers import normalise_answer


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
