from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sgi.kernel.short_text import quote

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()))


@given(ANY_TEXT)
def test_quoted_text_is_short_and_on_one_line(text):
    line = quote(text, 20)
    assert len(line) <= 21
    assert line.isprintable()


def test_control_characters_and_surrogates_are_replaced():
    assert quote("a\r\n\tb\x00c\x1b[2Jd\ud800e\u202ef") == "a b c [2Jd e f"
    assert quote("x" * 10**6) == "x" * 200 + "…"
    assert quote("x" * 200) == "x" * 200
