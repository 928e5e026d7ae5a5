"""Patterns of users, also those that need exponential time elsewhere."""

import re
import sys
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.kernel.errors import MissingExtraError
from sgi.text.linear_pattern import LinearPattern

PATTERNS = ["[a-c]+-[0-9]{2,3}", "(ab*)?c", "(a|bc)+", r"\d+\.\w", "(?:a|ab)(c|bcd)b?", "[^ab]c*"]


@given(st.sampled_from(PATTERNS), st.text("abc-0.1dé\ud800", max_size=8))
def test_matches_equal_those_of_python(pattern, text):
    assert LinearPattern(pattern).matches(text) == (re.fullmatch(pattern, text) is not None)


@given(st.text("ab-12 é\U0001f600\ud800.", max_size=40))
def test_spans_have_offsets_of_characters_and_whole_words(text):
    spans = list(LinearPattern("[ab]+-[12]+").spans(text))
    assert all(re.fullmatch("[ab]+-[12]+", text[start:end]) for start, end in spans)
    assert spans == [match.span() for match in re.finditer(r"(?<!\w)[ab]+-[12]+(?!\w)", text)]


def test_a_pattern_with_exponential_backtracking_ends():
    assert not LinearPattern("(a+)+b").matches("a" * 50_000)
    assert list(LinearPattern("(a|a)*(a|a)*b").spans("a" * 50_000)) == []


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("", "from 1 to 200 characters"),
        ("a" * 201, "from 1 to 200 characters"),
        ("a*", "must not match an empty text"),
        ("(a", "missing )"),
        ("[z-a]", "invalid character class range"),
        (r"(a)\1", "invalid escape sequence"),
        ("(?=a)b", "invalid perl operator"),
        ("((a{50}){50}){50}", "invalid repetition size"),
    ],
)
def test_a_pattern_with_another_syntax_is_an_error(pattern, problem):
    with pytest.raises(ValueError, match=re.escape(problem)):
        LinearPattern(pattern)


def test_without_the_extra_the_error_names_it():
    with patch.dict(sys.modules, {"re2": None}), pytest.raises(MissingExtraError, match="patterns"):
        LinearPattern("a")
