"""Which texts of a row are embedded, and how their vectors are compared."""

from __future__ import annotations

import numpy as np
import pytest

from sgi.kernel.sample import Batch
from sgi.kernel.vectors import VectorTable
from sgi.metrics.grounding.analysis import ResponseAnalysis
from sgi.metrics.grounding.detector import Grounding
from sgi.metrics.grounding.passage_similarity import (
    MAX_NEAREST,
    MAX_SENTENCES,
    NO_QUESTION,
    Comparison,
    PassageSimilarity,
    comparisons_of,
)
from support.grounded import evidence_maps_of, row, score_with_hash_vectors

TOWER = "The old tower in Paris is 330 m tall. It opened in May 1889. Visitors climb it in summer."
RESPONSE = (
    "The old tower is in Paris. It was closed in 1889. Tourists climb up wooden stairs every summer. "
    "Its owner is old."
)


def texts(*samples):
    """The distinct texts that the detector embeds for these rows."""
    grounding = Grounding()
    return [*dict.fromkeys(grounding.texts(grounding.prepare(Batch.of(samples))))]


def test_the_sentences_with_the_least_support_are_compared_with_the_closest_by_words():
    assert texts(row(RESPONSE, "Bees sleep.", TOWER, question="Who climbs it?")) == [
        "Tourists climb up wooden stairs every summer.",
        "Visitors climb it in summer.",
        "Who climbs it?",
        "It was closed in 1889.",
        "It opened in May 1889.",
        "Its owner is old.",
        "The old tower in Paris is 330 m tall.",
    ]


@pytest.mark.parametrize("sentences", [1, 3, 40])
@pytest.mark.parametrize("passages", [1, 3, 40])
def test_the_number_of_embedded_texts_does_not_grow_with_the_texts(sentences, passages):
    response = " ".join(f"Keeper {number} climbs tower {number}." for number in range(sentences))
    contexts = [f"Tower {number} is old. Keepers climb it. Bees sleep." for number in range(passages)]
    most = MAX_SENTENCES * (1 + MAX_NEAREST) + 1
    assert 3 <= len(texts(row(response, *contexts, question="Who climbs?"))) <= most


def test_irrelevant_passages_and_the_order_of_passages_change_no_compared_sentence():
    others = ["Visitors of museums pay. Visitors climb.", "Summer is hot. Wooden stairs."]
    expected = texts(row(RESPONSE, TOWER, *others))
    assert texts(row(RESPONSE, *others, TOWER)) == expected
    assert texts(row(RESPONSE, "Bees sleep.", TOWER, "Nobody swims.", *others)) == expected


def test_a_row_asks_for_the_same_texts_alone_and_among_others():
    samples = [
        row(RESPONSE, TOWER),
        row("Bees sleep.", TOWER),
        row(RESPONSE, "Other bees.", question="Who?"),
        row(RESPONSE, TOWER),
    ]
    alone = [text for sample in samples for text in texts(sample)]
    assert texts(*samples) == [*dict.fromkeys(alone)]


def test_only_compared_passages_have_a_similarity():
    sample = row(RESPONSE, "Bees sleep.", TOWER, "Nobody swims here.", question="Who?")
    (evidence,) = evidence_maps_of(score_with_hash_vectors([sample]))
    known = [[cosine is not None for cosine in sentence.similarity] for sentence in evidence.sentences]
    assert known == [[False] * 3, *[[False, True, False]] * 3]
    assert [sentence.beside for sentence in evidence.sentences] == [
        "The old tower in Paris is 330 m tall.",
        "It opened in May 1889.",
        "Visitors climb it in summer.",
        "The old tower in Paris is 330 m tall.",
    ]


def test_the_margin_is_the_greatest_cosine_minus_that_with_the_question():
    vectors = VectorTable.of("demo", ["a", "b", "c", "?"], np.eye(4, dtype=np.float32) + np.float32(0.2))
    low = float(vectors.matrix[0] @ vectors.matrix[1])
    first = Comparison(1, "a", ("b", "a", "c"), (2, 0, 2), "?")
    similarity = PassageSimilarity.of([first, Comparison(3, "b", ("c",), (1,), "?")], vectors)
    assert similarity.best == {1: pytest.approx({2: low, 0: 1.0}), 3: pytest.approx({1: low})}
    assert similarity.least_margin([0, 1]) == pytest.approx(1 - low)
    assert similarity.least_margin([0, 1, 2, 3]) == pytest.approx(0, abs=1e-6)
    assert np.isnan(similarity.least_margin([0]))
    without_question = PassageSimilarity.of([Comparison(0, "a", ("a",), (0,), "")], vectors)
    assert without_question.least_margin([0]) == pytest.approx(1 - NO_QUESTION)


def test_nothing_is_compared_if_nothing_is_claimed():
    analysis = ResponseAnalysis.of("The passages do not say who built it.", [TOWER])
    assert comparisons_of(analysis) == ()
    assert np.isnan(PassageSimilarity.of((), VectorTable()).least_margin([0]))
