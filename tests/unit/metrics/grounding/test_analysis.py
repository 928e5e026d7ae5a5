from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.metrics.grounding.analysis import ResponseAnalysis, ResponseText
from sgi.metrics.grounding.facts.check import Verdict
from sgi.metrics.grounding.passage_similarity import PassageSimilarity
from sgi.metrics.grounding.signals import Signals, signals_of, stretches

TOWER = "The old tower in Paris is 330 m tall and opened in May 1889."


def signals(response, *passages, question="", number=None):
    """The signals of a response all of whose sentences lie as near to the passages as to the question."""
    reading = ResponseAnalysis.of(response, passages, question)
    n = len(reading.sentences)
    flat = np.zeros((n, len(passages)))
    return signals_of(reading, PassageSimilarity(flat, flat.astype(np.int64), np.zeros(n)), number)


def claimed(reading):
    return [stem for stem, claims in zip(reading.words.stems, reading.claims, strict=True) if claims]


def test_what_speaks_of_the_passages_claims_nothing():
    reading = ResponseAnalysis.of(
        "Based on passage 1, it is red. The passages do not mention its height.", [TOWER]
    )
    assert claimed(reading) == ["it", "is", "red"]
    assert [sentence.silent for sentence in reading.sentences] == [False, True]
    assert [reading.claims_in(number) for number in (0, 1)] == [True, False]


def test_a_silent_sentence_has_no_facts_to_check():
    reading = ResponseAnalysis.of(
        "The passages do not say whether 312 m is right. It is 312 m tall.", [TOWER]
    )
    assert [len(sentence.checks) for sentence in reading.sentences] == [0, 1]
    assert reading.sentences[1].checks[0].verdict is Verdict.CONTRADICTED


@pytest.mark.parametrize(
    ("response", "claims"),
    [
        ("It is red.", True),
        ("1889", True),
        ("東京", True),
        ("Yes.", False),
        ("No, it is not.", False),
        ("I don't know.", False),
        ("The context does not provide an answer.", False),
        ("… !!! 🎉", False),
        ("", False),
    ],
)
def test_what_claims_something(response, claims):
    assert ResponseText.of(response).claims_something is claims


def test_words_of_the_question_are_told_apart():
    asked = ResponseAnalysis.of("The tower is red", [TOWER], "How old are the towers?").in_question
    assert asked.tolist() == [True, True, False, False]


def test_a_copied_run_counts_up_to_eight_words_or_the_whole_response():
    assert ResponseAnalysis.of("old tower", [TOWER]).copy_lengths.tolist() == [1.0, 1.0]
    assert ResponseAnalysis.of(TOWER, [TOWER]).copy_lengths.tolist() == [1.0] * 14
    half = ResponseAnalysis.of("The old tower in Rome was sold to rich people", [TOWER]).copy_lengths
    assert half.tolist() == [0.5] * 4 + [0.0] * 6


def test_a_copy_has_the_best_of_every_signal():
    assert signals(TOWER, TOWER) == Signals(1, 1, 1, 1, 1, 0, 0, 0, 0, 0)


def test_an_answer_of_other_words_has_the_worst():
    response_signals = signals("Bees sleep 9 hours under Spanish roofs.", TOWER)
    assert response_signals[:5] == (0, 0, 0, 0, 0)
    assert (response_signals.numbers, response_signals.names) == (-1, -1)


def test_each_further_fact_that_fails_counts_less_and_all_of_them_at_most_two():
    lists = [", ".join(map(str, range(7, 7 + n))) for n in range(1, 12)]
    counted = [signals(f"It has {numbers} doors.", TOWER).numbers for numbers in lists]
    steps = [before - after for before, after in pairwise([0, *counted])]
    assert counted[0] == -1
    assert all(0 < later < sooner for sooner, later in pairwise(steps))
    assert counted[-1] >= -2


def test_the_weakest_stretch_counts_and_not_the_mean():
    padded = f"{TOWER} {TOWER} {TOWER} {TOWER}"
    invented = "Bees sleep under wooden roofs beside sleeping birds, yellow frogs, and a dozen other animals."
    response_signals = signals(f"{padded} {invented}", TOWER)
    assert response_signals.known < 0.6
    assert signals(padded, TOWER).known == 1


def test_paired_leaves_out_what_the_question_has():
    near, asked = "The tower is old. It is red.", "Is the tower old?"
    assert signals(near, "The tower is old.", question="").paired > 0
    assert signals(near, "The tower is old.", question=asked).paired == 0


def test_a_sentence_has_signals_of_its_own():
    response = f"{TOWER} Bees sleep under roofs."
    assert signals(response, TOWER, number=0)[:5] == (1, 1, 1, 1, 1)
    assert signals(response, TOWER, number=1)[:5] == (0, 0, 0, 0, 0)


@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_length_makes_up_for_more_stretches_and_has_an_end(words, other):
    assert 0 <= stretches(words) <= np.log(3)
    assert (stretches(words) <= stretches(other)) or words > other


def test_nearness_is_of_the_sentence_that_is_least_near():
    axis = np.eye(3, dtype=np.float32)
    similarity = PassageSimilarity.of(axis[:2], [axis[:1], axis[2:]], axis[2])
    assert similarity.best.tolist() == [[1, 0], [0, 0]]
    assert (similarity.least_margin([0]), similarity.least_margin([0, 1])) == (1.0, 0.0)
    assert np.isnan(similarity.least_margin([]))
    assert PassageSimilarity.of(axis[:1], [axis[:1]], None).least_margin([0]) == 0.5
