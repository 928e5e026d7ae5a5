from __future__ import annotations

from itertools import pairwise

import pytest

from sgi.metrics.grounding.analysis import ResponseAnalysis
from sgi.metrics.grounding.explain import unsupported_spans
from support.grounded import evidence_maps_of, grounding_scores, is_consistent, row

TOWER = "The old tower in Paris is 330 m tall. It was built from 1887 to 1889."


def marked(response, *passages):
    """The stretches of all sentences that no passage backs."""
    reading = ResponseAnalysis.of(response, passages)
    spans = [span for sentence in reading.sentences for span in unsupported_spans(reading, sentence)]
    return [response[start:end] for start, end in spans]


@pytest.mark.parametrize(
    ("response", "stretches"),
    [
        ("The old tower is tall.", []),
        ("The old tower was sold to rich owners.", ["sold to rich owners"]),
        ("Rich owners bought it. The old tower is tall.", ["Rich owners bought"]),
        ("The old tower is 312 m tall.", ["312 m"]),
        ("Passage 1 mentions green glowing bees.", ["green glowing bees"]),
    ],
)
def test_what_is_marked(response, stretches):
    assert marked(response, TOWER) == stretches


def test_a_fact_that_fails_within_a_stretch_is_marked_once():
    assert marked("The old tower was sold to Spanish investors in 2031.", TOWER)[0].startswith(
        "sold to Spanish"
    )
    (evidence,) = evidence_maps_of(
        grounding_scores([row("It was sold to Spanish investors for $9 million in 2031.", TOWER)])
    )
    spans = evidence.sentences[0].unbacked
    assert all(first[1] < second[0] for first, second in pairwise(spans))


def test_places_are_those_of_the_response_as_it_was_written():
    sample = row(
        "The\u00a0old  tower\u200b is 312\u202fm tall \u201cin Paris\u201d.\n\n  It opened\tin 1925.", TOWER
    )
    (evidence,) = evidence_maps_of(grounding_scores([sample]))
    assert is_consistent(evidence, sample)
    assert evidence.sentences[0].checks[0].fact == "312\u202fm"
    assert evidence.sentences[0].checks[0].found == "330 m"


def test_a_sentence_rests_on_the_passage_that_backs_it_and_not_on_the_nearest():
    (evidence,) = evidence_maps_of(
        grounding_scores([row("The old tower is 330 m tall.", "Bees sleep.", "Hives.", TOWER)])
    )
    assert (evidence.sentences[0].passage, evidence.unused) == (2, (0, 1))
    assert evidence.sentences[0].beside == "The old tower in Paris is 330 m tall."
