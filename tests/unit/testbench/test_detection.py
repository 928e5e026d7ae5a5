from __future__ import annotations

import numpy as np
import pytest

from sgi.kernel.sample import RESPONSE
from sgi.testbench.catalogue import PERTURBATIONS
from sgi.testbench.detection import ALARM_RATE, Threshold, is_paraphrase, seen, threshold
from sgi.testbench.perturbation import Kind


@pytest.mark.parametrize("n", [10, 49, 50, 51, 100, 999])
def test_no_more_than_two_paraphrases_in_a_hundred_are_alarms(n):
    falls = np.random.default_rng(n).normal(size=n)
    found = threshold([falls[:7], falls[7:]])
    assert found.paraphrases == n
    assert found.alarms == np.mean(falls > found.fall) <= ALARM_RATE
    tighter = np.sort(falls)[::-1][int(n * ALARM_RATE) + 1]
    assert np.mean(falls > tighter) > found.alarms


def test_ties_make_no_alarms():
    found = threshold([np.repeat([0.0, 0.25], [50, 50])])
    assert (found.fall, found.alarms) == (0.25, 0.0)


def test_a_metric_that_never_falls_needs_more_than_rounding():
    found = threshold([np.full(20, -0.5)])
    assert 0 < found.fall < 1e-6
    assert found.alarms == 0.0


def test_too_few_paraphrases_give_no_threshold():
    assert threshold([]) is None
    assert threshold([np.zeros(9)]) is None


def test_what_falls_no_further_than_paraphrases_is_not_seen():
    falls = np.array([0.1, 0.2, 0.3, 0.4] * 5)
    share, interval = seen(falls, Threshold(0.2, 0.02, 100), np.arange(20))
    assert share == 0.5
    assert interval.low < 0.5 < interval.high


def test_rows_of_one_question_count_once():
    falls = np.repeat([0.0, 1.0, 0.0, 1.0, 0.0, 1.0], 10)
    least = Threshold(0.2, 0.02, 100)
    alone = seen(falls, least, np.arange(60))[1]
    together = seen(falls, least, np.arange(60) // 10)[1]
    assert together.high - together.low > alone.high - alone.low


def test_a_paraphrase_is_harmless_and_of_the_answer():
    named = {name for name, one in PERTURBATIONS.items() if is_paraphrase(one)}
    assert {"contractions", "white_space", "bullets", "framed"} <= named
    assert not {"passages_shuffled", "verbatim_copy", "number_swap", "fluff_added"} & named
    assert {PERTURBATIONS[name].changes for name in named} == {RESPONSE}
    assert {PERTURBATIONS[name].kind for name in named} == {Kind.HARMLESS}
