"""Quote accuracy on rows made by hand."""

import pytest

from sgi.kernel.sample import Batch, Sample
from sgi.kernel.vectors import Features
from sgi.metrics.citations.quotes import QuoteAccuracy

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
