"""Patterns of users: the small syntax, and patterns that need exponential time elsewhere."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.text.linear_pattern import MAX_MATCH, LinearPattern

PATTERNS = [
    "[a-c]+-[0-9]{2,3}",
    "(ab*)?c",
    "(a|bc)+",
    "a{2}b{1,}",
    r"\d+\.\w",
    "(?:a|ab)(c|bcd)b?",
    "a.c",
    "[^ab]c*",
    "((a|b){2}c)+",
]


@given(st.sampled_from(PATTERNS), st.text("abc-0.1d", max_size=8))
def test_matches_equal_those_of_python(pattern, text):
    assert LinearPattern(pattern).matches(text) == (re.fullmatch(pattern, text) is not None)


@pytest.mark.parametrize("pattern", PATTERNS)
@given(data=st.data())
def test_a_text_of_the_pattern_matches(pattern, data):
    text = data.draw(st.from_regex(pattern, fullmatch=True, alphabet=st.characters(codec="ascii")))
    assert LinearPattern(pattern).matches(text) == (len(text) <= MAX_MATCH)


def test_a_pattern_with_exponential_backtracking_ends():
    assert not LinearPattern("(a+)+b").matches("a" * MAX_MATCH)
    assert list(LinearPattern("(a|a)*(a|a)*b").spans("a" * 5_000)) == []


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("", "from 1 to 200 characters"),
        ("a" * 201, "from 1 to 200 characters"),
        ("a*", "must not match an empty text"),
        ("(a", "not closed"),
        ("a)", "unexpected ')'"),
        ("[a", "unfinished class"),
        ("[z-a]", "bad character range"),
        ("a**", "a quantifier must follow"),
        ("a{3,2}", "the maximum"),
        ("a{x}", "write {m}"),
        (r"(a)\1", "unknown escape"),
        ("(?=a)b", "only groups"),
        ("^a", "unexpected '^'"),
        ("((a{50}){50}){50}", "too many repetitions"),
        ("(" * 30 + "a" + ")" * 30, "too many nested groups"),
    ],
)
def test_a_pattern_with_another_syntax_is_an_error(pattern, problem):
    with pytest.raises(ValueError, match=re.escape(problem)):
        LinearPattern(pattern)
