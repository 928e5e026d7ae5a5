from __future__ import annotations

import pytest

import sgi
from sgi.metrics.grounding.claim_checks import claim_conflicts

SWIM = "Adult keepers swim in the lake every winter."
NOT_SWIM = "Adult keepers do not swim in the lake in winter."


def conflicts(sentence, *passages):
    return [(check.fact.text, check.found, check.how) for check in claim_conflicts(sentence, passages)]


@pytest.mark.parametrize(
    ("sentence", "passage", "conflict"),
    [
        ("Keepers don't swim in the lake.", SWIM, ("n't swim", "swim", "not negated")),
        ("Keepers swim in the lake.", NOT_SWIM, ("swim", "not swim", "negated")),
        (
            "The tower is not the tallest tower in Paris.",
            "It is the tallest tower in Paris.",
            ("not the tallest", "tallest", "not negated"),
        ),
        (
            "Nothing grows in the deep lake.",
            "Reed grows in the deep lake.",
            ("Nothing grows", "grows", "not negated"),
        ),
        (
            "The company did not pay the fine in May.",
            "In May the company paid the fine. The state paid nothing.",
            ("not pay", "paid", "not negated"),
        ),
        (
            "They found evidence of poison in the river.",
            "They have not found any evidence of poison in the river.",
            ("evidence", "any evidence", "negated"),
        ),
    ],
)
def test_a_word_that_only_one_side_negates(sentence, passage, conflict):
    assert conflicts(sentence, passage) == ([conflict] if conflict else [])


@pytest.mark.parametrize(
    ("sentence", "passage"),
    [
        ("Keepers do not swim in the lake.", NOT_SWIM),
        ("They have found no evidence of poison.", "They have not found any evidence of poison."),
        ("Keepers swim not only in the lake.", SWIM),
        ("Not all keepers swim in the lake.", SWIM),
        ("If keepers do not swim in the lake, they rest.", SWIM),
        ("Do keepers not swim in the lake?", SWIM),
        ("Keepers swim in the lake, while divers do not.", SWIM),
        ("The net prevents keepers from not leaving the lake.", "Keepers are leaving the lake."),
        ("Bears do not swim across rivers.", SWIM),
        ("Old keepers swim in the lake, young keepers do not swim in the lake.", SWIM),
    ],
)
def test_equal_polarity_and_what_cannot_be_compared(sentence, passage):
    assert conflicts(sentence, passage) == []


def test_the_passage_with_more_equal_words_around_decides():
    assert (
        conflicts("Old keepers do not swim in the lake.", SWIM, "Old keepers do not swim in the lake.") == []
    )
    assert conflicts(
        "Old keepers do not swim in the lake.", "Keepers do not swim.", "Old keepers swim in the lake."
    )


def test_every_negated_sentence_is_found_once_and_positions_are_of_the_passage():
    [check] = claim_conflicts("Keepers don't swim in the lake.", ["Ducks dive.", SWIM])
    assert (check.passage, SWIM[check.start : check.end]) == (1, "swim")


@pytest.mark.parametrize(
    "text", ["", "not", "not not no", "n't", "don't. not, no: never!", "any", "no any", "?"]
)
def test_text_without_content_words(text):
    assert conflicts(text, SWIM) == conflicts(SWIM, text) == []


def test_a_contradicted_negation_lowers_the_score_and_is_shown():
    rows = [
        {"id": name, "question": "Do keepers swim?", "response": text, "context": [SWIM]}
        for name, text in (
            ("yes", "Adult keepers swim in the lake."),
            ("no", "Adult keepers do not swim in the lake."),
        )
    ]
    scores = sgi.evaluate(rows, "grounding")["grounding"]
    assert scores.values[1] < scores.values[0] / 2
    assert scores.details[1]["signals"]["contradicted"] == {"value": -1.0, "log_odds": -4.0}
    assert [each["sentences"][0]["verdict"] for each in scores.details] == ["supported", "contradicted"]
    [fact] = scores.details[1]["sentences"][0]["checks"]
    assert (fact["kind"], fact["fact"], fact["verdict"], fact["how"]) == (
        "negation",
        "not swim",
        "contradicted",
        "not negated",
    )
    assert not scores.details[0]["sentences"][0]["checks"]
