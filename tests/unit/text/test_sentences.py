from __future__ import annotations

import pytest

from sgi.text.sentences import sentences


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


def test_a_long_text_keeps_all_its_sentences() -> None:
    assert sentences("This is so. " * 20_000) == ["This is so."] * 20_000
