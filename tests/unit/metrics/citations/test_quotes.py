"""Quote accuracy on rows made by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.kernel.sample import Batch, Sample
from sgi.kernel.vectors import Features
from sgi.metrics.citations.quotes import (
    MAX_QUOTATION,
    QuoteAccuracy,
    QuotedTokens,
    quotation_spans,
    quoted_parts,
)

CONTEXTS = ("The old tower is 330 m tall.", "Gustave Eiffel built the tower in two years.")


def score(response, question="", contexts=CONTEXTS, **options):
    each = QuoteAccuracy(**options)
    sample = Sample(id="1", question=question, contexts=contexts, response=response)
    return each.score(each.prepare(Batch.of([sample])), Features()).row(0)


@pytest.mark.parametrize(
    ("response", "value", "expected"),
    [
        ('It says "the old tower is 330 m tall" [1].', 1.0, [("exact", 0)]),
        ('It says "The OLD tower … tall."', 1.0, [("exact", 0)]),
        ('It says "the old tower is 330 m tall" [2].', 0.0, [("elsewhere", 0)]),
        ('It says "the old tower is 312 m tall" [1].', 0.0, [("different", 0)]),
        ('"Gustave Eiffel built the tower [2] in two years."', 1.0, [("exact", 1)]),
        ('"Bees sleep here now" and "the old tower is 330 m".', 0.5, [("different", None), ("exact", 0)]),
    ],
)
def test_a_quotation_is_searched_in_the_cited_passages(response, value, expected):
    found = score(response)
    assert found.value == value
    assert [(quote["verdict"], quote["passage"]) for quote in found.details["quotes"]] == expected


def test_the_nearest_text_is_in_the_cited_passage():
    (quote,) = score('It says "the old tower is 312 m tall" [1].').details["quotes"]
    assert quote["nearest"] == "The old tower is 330 m tall"
    assert CONTEXTS[0][quote["nearest_start"] : quote["nearest_end"]] == quote["nearest"]
    assert (quote["share"], quote["cited"]) == (round(6 / 7, 4), [0])


@pytest.mark.parametrize(
    ("response", "contexts", "reason"),
    [
        (" ", CONTEXTS, "the response is blank"),
        ("It is old.", CONTEXTS, "the response has no quotation of at least 3 words"),
        ('It is "very old".', CONTEXTS, "the response has no quotation of at least 3 words"),
        ('It is "very old indeed".', (), "there are no passages"),
    ],
)
def test_a_row_without_a_value_has_a_reason(response, contexts, reason):
    assert score(response, contexts=contexts).reason == reason


def test_a_quotation_of_the_question_is_not_counted():
    response = 'You ask "who painted the tower". It says "the old tower is 330 m tall".'
    assert len(score(response, question="Who painted the tower?").details["quotes"]) == 1
    assert len(score(response).details["quotes"]) == 2


def test_min_words_counts_words():
    assert score('It is "very old".', min_words=2).value == 0.0


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
