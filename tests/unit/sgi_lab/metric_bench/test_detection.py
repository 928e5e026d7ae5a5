import numpy as np
import pytest

from sgi.kernel.sample import RESPONSE
from sgi_lab.metric_bench.catalogue import PERTURBATIONS
from sgi_lab.metric_bench.detection import (
    ALARM_RATE,
    Alarm,
    Falls,
    detection_rate,
    is_paraphrase,
    threshold,
)
from sgi_lab.metric_bench.perturbation import Kind


def falls(size, clusters=None):
    values = np.asarray(size, dtype=np.float64)
    return Falls(values, np.arange(len(values)) if clusters is None else clusters)


@pytest.mark.parametrize("n", [10, 49, 50, 51, 100, 999])
def test_no_more_than_two_paraphrases_in_a_hundred_exceed_the_threshold_that_they_set(n):
    size = np.random.default_rng(n).normal(size=n)
    found = threshold([falls(size[:7]), falls(size[7:])], seed=0)
    assert found.paraphrases == n
    assert np.mean(size > found.fall) <= ALARM_RATE
    tighter = np.sort(size)[::-1][int(n * ALARM_RATE) + 1]
    assert np.mean(size > tighter) > np.mean(size > found.fall)


def test_false_alarms_are_counted_on_questions_that_did_not_set_the_threshold():
    rates = [
        threshold([falls(np.random.default_rng(seed).normal(size=60))], seed=0).alarms for seed in range(300)
    ]
    # On 54 other rows at most one exceeds the threshold that they set; a new row does in 2 of 55 cases.
    assert np.mean(rates) == pytest.approx(2 / 55, abs=0.005)
    assert max(rates) > 2 * ALARM_RATE


def test_rows_of_one_question_are_on_one_side_of_the_threshold():
    size = np.repeat(np.random.default_rng(0).normal(size=50), 10)
    together = threshold([falls(size, np.repeat(np.arange(50), 10))], seed=0)
    assert together.alarms >= ALARM_RATE  # the greatest of 50 questions is alone in its fold
    assert threshold([falls(size)], seed=0).alarms < ALARM_RATE  # copies of it set the threshold


def test_paraphrases_that_move_no_value_do_not_dilute_the_alarms():
    size = np.random.default_rng(1).normal(size=200)
    alone = threshold([falls(size)], seed=0)
    beside = threshold([falls(np.zeros(2000)), falls(size), falls(np.full(10, 1e-9))], seed=0)
    assert beside == alone.model_copy(update={"inert": 2010})
    assert alone.alarms_low < alone.alarms < alone.alarms_high


def test_alarms_of_too_few_questions_are_not_known():
    found = threshold([falls(np.linspace(0, 1, 30), np.arange(30) // 4)], seed=0)
    assert (found.alarms, found.alarms_low, found.paraphrases) == (None, None, 30)
    still = threshold([falls(np.zeros(40))], seed=0)
    assert (still.alarms, still.paraphrases, still.inert) == (None, 0, 40)
    assert 0 < still.fall < 1e-6


def test_ties_make_no_alarms():
    found = threshold([falls(np.repeat([0.0, 0.25], [50, 50]))], seed=0)
    assert (found.fall, found.alarms) == (0.25, 0.0)


def test_a_metric_that_never_falls_needs_more_than_rounding():
    found = threshold([falls(np.full(20, -0.5))], seed=0)
    assert 0 < found.fall < 1e-6
    assert found.alarms == 0.0


def test_too_few_paraphrases_give_no_threshold():
    assert threshold([], seed=0) is None
    assert threshold([falls(np.zeros(9))], seed=0) is None


LEAST = Alarm(metric="sgi", fall=0.2, alarms=0.02, paraphrases=100)


def test_what_falls_no_further_than_paraphrases_is_not_seen():
    share, interval = detection_rate(falls([0.1, 0.2, 0.3, 0.4] * 5), LEAST)
    assert share == 0.5
    assert interval.low < 0.5 < interval.high
    wider = detection_rate(falls([0.1, 0.2, 0.3, 0.4] * 5), LEAST, level=0.999)[1]
    assert wider.low < interval.low < interval.high < wider.high


def test_rows_of_one_question_count_once():
    size = np.repeat([0.0, 1.0, 0.0, 1.0, 0.0, 1.0], 10)
    alone = detection_rate(falls(size), LEAST)[1]
    together = detection_rate(falls(size, np.arange(60) // 10), LEAST)[1]
    assert together.high - together.low > alone.high - alone.low


def test_a_paraphrase_is_harmless_and_of_the_answer():
    named = {name for name, one in PERTURBATIONS.items() if is_paraphrase(one)}
    assert {"contractions", "white_space", "bullets", "framed"} <= named
    assert not {"passages_shuffled", "verbatim_copy", "number_swap", "fluff_added"} & named
    assert {PERTURBATIONS[name].changes for name in named} == {RESPONSE}
    assert {PERTURBATIONS[name].kind for name in named} == {Kind.HARMLESS}
