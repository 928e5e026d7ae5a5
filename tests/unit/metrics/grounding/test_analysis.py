from itertools import pairwise

import numpy as np
import pytest

from sgi.metrics.grounding.analysis import ResponseAnalysis, ResponseText
from sgi.metrics.grounding.check_facts import Verdict
from sgi.metrics.grounding.normalize_unicode import normalize_text
from sgi.metrics.grounding.signals import signals_of

TOWER = "The old tower in Paris is 330 m tall and opened in May 1889."


def signals(response, *passages, question="", number=None):
    return signals_of(ResponseAnalysis.of(response, passages, question), number)


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
        ("東京", True),
        ("As You Like It", True),
        ("Yes.", False),
        ("I don't know.", False),
        ("The context does not provide an answer.", False),
        ("… !!! 🎉", False),
    ],
)
def test_what_claims_something(response, claims):
    assert ResponseText.of(response).claims_something is claims


def test_words_of_the_question_are_told_apart():
    flags = ResponseAnalysis.of("The tower is red", [TOWER], "How old are the towers?").flags
    assert flags.asked == [True, True, False, False]


def test_a_copied_run_counts_up_to_eight_words_or_the_whole_response():
    assert [signals(text, TOWER).copied for text in ("old tower", TOWER)] == [1, 1]
    half = signals("The old tower in Rome was sold to rich people", TOWER)
    assert half.copied == pytest.approx((0.5 + 0.5) / 6)


def test_a_copy_has_the_best_of_every_signal():
    assert signals(TOWER, TOWER) == (1, 1, 1, 1, 1, 0, 0, 0, 0)


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
    near, asked = "The old tower is tall. It is red and green.", "Is the old tower tall?"
    assert signals(near, "The old tower is tall.", question="").paired > 0
    assert signals(near, "The old tower is tall.", question=asked).paired == 0


def test_a_sentence_has_signals_of_its_own():
    response = f"{TOWER} Bees sleep under roofs."
    assert signals(response, TOWER, number=0)[:5] == (1, 1, 1, 1, 1)
    assert signals(response, TOWER, number=1)[:5] == (0, 0, 0, 0, 0)


def test_an_absent_subject_of_a_sentence_does_not_count_and_a_contradicted_one_does():
    assert signals("Ada Byron walked to Paris.", "She walked to Paris.").names == 0
    assert signals("In 1889, Ada Byron walked to Paris.", "In 1889, she walked to Paris.").names == 0
    assert signals("She walked to Paris with Ada Byron.", "She walked to Paris.").names == -1
    assert signals("Ada Byron", "She walked to Paris.").names == -1
    contradicted = signals("Ada Byron walked to Paris.", "Augusta Byron walked to Paris.")
    assert (contradicted.names, contradicted.contradicted) == (-1, -1)


def test_only_contradicted_facts_count_as_contradicted():
    assert signals("The tower is 312 m tall.", TOWER).contradicted == -1
    absent = signals("The tower has 312 lamps.", TOWER)
    assert (absent.numbers, absent.contradicted, absent.absent) == (-1, 0, -1)


def test_one_content_word_has_no_pair():
    assert np.isnan(signals("Paris", TOWER).paired)
    assert signals("old Paris", TOWER).paired == 0


@pytest.mark.parametrize(
    "text",
    [
        *("Sure!", "Yes, that 's true .", "I agree with you on this.", "I hope this helps! "),
        "You're welcome, enjoy!",
    ],
)
def test_small_talk_claims_nothing(text):
    assert not ResponseText.of(normalize_text(text).text).claims_something


def test_a_lead_in_has_no_score_and_its_words_count_for_the_response():
    question, steps = "How do you boil an egg?", "1. Fill a pot."
    reading = ResponseAnalysis.of(f"To boil an egg, follow these steps:\n{steps}", [steps], question)
    assert [reading.claims_in(number) for number in range(len(reading.sentences))] == [False, True]
    assert claimed(reading)[:4] == ["to", "boil", "an", "egg"]
    other = ResponseAnalysis.of(f"To boil a frog, follow these steps:\n{steps}", [steps], question)
    assert other.claims_in(0)


def test_of_a_denied_sentence_only_supported_facts_count():
    response = "It is not so that the tower is 312 m tall and opened in May 1889"
    checks = [
        ResponseAnalysis.of(response, [TOWER], denied=denied).sentences[0].checks for denied in (False, True)
    ]
    assert {check.verdict for check in checks[0]} == {Verdict.CONTRADICTED, Verdict.SUPPORTED}
    assert [check.verdict for check in checks[1]] == [Verdict.SUPPORTED]
