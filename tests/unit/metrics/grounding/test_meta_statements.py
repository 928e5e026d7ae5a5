from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.metrics.grounding.meta_statements import find_meta_statements


def claimed(sentence):
    """What is left of a sentence without what it says of its passages."""
    left, at = "", 0
    for start, end in find_meta_statements(sentence).spans:
        left, at = left + sentence[at:start], end
    return (left + sentence[at:]).strip()


@pytest.mark.parametrize(
    ("sentence", "left"),
    [
        ("Based on passage 2, it opened in 1889.", "it opened in 1889."),
        ("According to the provided context, bees sleep.", "bees sleep."),
        ("It opened in 1889 (passage 3).", "It opened in 1889 ."),
        ("2. Mix the flour.", "Mix the flour."),
        ("The passage under the river is long.", "The passage under the river is long."),
    ],
)
def test_what_names_the_passages_is_no_claim(sentence, left):
    assert claimed(sentence) == left


@pytest.mark.parametrize(
    "sentence",
    [
        "The passages do not mention the height.",
        "The height is not specified.",
        "I am unable to answer that.",
        "There is no information about the builder.",
        "The answer cannot be determined from this.",
        "I don't know.",
    ],
)
def test_a_sentence_that_says_that_passages_are_silent_is_told(sentence):
    assert find_meta_statements(sentence).silent


@pytest.mark.parametrize(
    "sentence",
    ["It is not in Rome.", "No bees live here.", "The tower was not built by Eiffel.", "It is red.", ""],
)
def test_a_negation_alone_says_nothing_of_passages(sentence):
    assert not find_meta_statements(sentence).silent


@given(
    st.text()
    | st.lists(st.sampled_from(["Based on ", "passage ", "2", " and ", "the text says "])).map("".join)
)
def test_spans_lie_within_any_sentence_in_order_and_apart(sentence):
    spans = find_meta_statements(sentence).spans
    ends = [0, *(place for span in spans for place in span)]
    assert ends == sorted(ends)
    assert ends[-1] <= len(sentence)
    assert all(start < end for start, end in spans)
    assert all(first[1] < second[0] for first, second in pairwise(spans))
