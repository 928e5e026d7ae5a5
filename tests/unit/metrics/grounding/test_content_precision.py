from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from sgi.metrics.grounding.content_precision import content_word_precision, content_word_precisions

TEXTS = st.text(alphabet="ab cT'.1é\n", max_size=30)


def test_stems_and_every_occurrence_count():
    assert content_word_precision("Towers, towers and bridges", ["The tower is tall."]) == 2 / 3


def test_the_passages_are_read_together():
    assert content_word_precision("red tower", ["It is red.", "A tower."]) == 1.0


def test_a_response_without_content_words_has_no_value():
    assert math.isnan(content_word_precision("It is so.", ["It is so."]))
    assert math.isnan(content_word_precision("", ["words"]))
    assert content_word_precision("tower", []) == 0.0


@given(st.lists(st.tuples(TEXTS, st.lists(TEXTS, max_size=3)), max_size=4))
def test_rows_together_are_those_of_each_and_more_passages_never_lower_it(rows):
    together = content_word_precisions(rows)
    for found, (response, passages) in zip(together, rows, strict=True):
        alone = content_word_precision(response, passages)
        assert (math.isnan(found) and math.isnan(alone)) or found == alone
        assert math.isnan(alone) or 0 <= alone <= content_word_precision(response, [*passages, "ab cT"]) <= 1
