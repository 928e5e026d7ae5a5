from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sgi.text.word_diff import MAX_WORDS, word_diff

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
