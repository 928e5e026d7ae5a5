"""Quotations in texts, and the search for them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.metrics.citations.quotes import MAX_QUOTATION, QuotedTokens, quotation_spans, quoted_parts

TOWER = "The old tower, in Paris, is 6,650 m tall. Gustave said: 'It's mine'."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('It is "very old".', ["very old"]),
        ("It is “very old” and «tall» and „red“ and „blue”.", ["very old", "tall", "red", "blue"]),
        ('A 5" pipe and a 6" pipe.', []),
        ('He said "go" and "stay".', ["go", "stay"]),
        ('An open " quotation.', []),
        ('Two\n"lines\nof text"', []),
        ("It's a dog's life, 'he said'.", []),
        ('"' * 9, []),
    ],
)
def test_quotations_are_in_double_marks(text, expected):
    assert [text[start:end] for start, end in quotation_spans(text)] == expected


@pytest.mark.parametrize("sign", ['"', "“", "«", '" '])
def test_many_marks_are_read_in_linear_time(sign):
    assert all(end - start <= MAX_QUOTATION for start, end in quotation_spans(sign * 100_000))


@pytest.mark.parametrize(
    ("quotation", "found"),
    [
        ("The old tower, in Paris", True),
        ("the OLD  tower,\nin Paris.", True),
        ("old tower … 6,650 m tall", True),
        ("old tower [...] tall", True),
        ("[t]he old tower", True),
        ("[The big] old tower", True),
        ("‘It’s mine’", True),
        ("the o\u00adld tow\u200ber", True),
        ("６,650 m", True),
        ("the old tower in Paris", False),
        ("6,650 m … old tower", False),
        ("he old tower", False),
        ("old towers", False),
    ],
)
def test_a_quotation_is_found_word_for_word(quotation, found):
    assert QuotedTokens.of(TOWER).find(quoted_parts(quotation)) == found


def test_the_nearest_part_has_the_most_words_of_the_quotation():
    passage = QuotedTokens.of("Bees sleep here. The old tower is 330 m tall. Bees sleep.")
    span = passage.nearest(QuotedTokens.of("the old tower is 312 m tall"))
    assert passage.tokens[span.start : span.end] == ("the", "old", "tower", "is", "330", "m", "tall")
    assert span.share == 6 / 7
    assert passage.nearest(QuotedTokens.of("nothing")) is None


@given(st.lists(st.sampled_from("abcde"), min_size=1, max_size=12), st.data())
def test_a_part_of_a_text_is_found_and_is_nearest(words, data):
    start = data.draw(st.integers(0, len(words) - 1))
    end = data.draw(st.integers(start + 1, len(words)))
    passage, part = QuotedTokens.of(" ".join(words)), QuotedTokens.of(" ".join(words[start:end]))
    assert passage.find([part])
    assert passage.nearest(part).share == 1.0
