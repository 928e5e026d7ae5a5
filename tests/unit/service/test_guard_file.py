"""Fitting a guard; that promises hold: scripts/simulate.py guards."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from sgi.kernel.errors import DataError, UsageError
from sgi.service.guard_file import CaughtShare, fit_guard, fit_limit
from support.guards import good_rows


@pytest.mark.parametrize(
    ("count", "promise"), [(10, 0.2589), (30, 0.0950), (58, 0.0503), (59, 0.05), (300, 0.05)]
)
def test_the_promise(count, promise):
    scores = np.random.default_rng(1).random(count)
    limit, promised = fit_limit(scores, 0.05)
    assert promised == pytest.approx(promise, abs=1e-4)
    rank = max(1, sum(stats.binom.cdf(k, count, 0.05) <= 0.05 for k in range(count)))
    assert limit == np.sort(scores)[rank - 1]


def test_a_rate_at_the_edge_of_too_few_answers():
    scores = np.linspace(0.5, 1, 10)
    for share in (0.25886555089305224, np.nextafter(0.25886555089305224, 1), 0.2589):
        limit, promised = fit_limit(scores, share)
        assert limit == 0.5
        assert promised == pytest.approx(share, abs=1e-4)
    assert fit_guard(good_rows(10), max_false_alarms=0.25886555089305224).file.questions == 10


def test_answers_without_claims_are_above_all_others():
    scores = np.array([0.5, *[0.9] * 11, *[math.inf] * 200])
    assert fit_limit(scores, 0.05)[0] == 0.9
    mostly_silent = np.array([*[0.9] * 10, *[math.inf] * 500])
    assert fit_limit(mostly_silent, 0.05)[0] == 0.9
    with pytest.raises(UsageError, match="to 9 questions have a score; 10 are needed"):
        fit_limit(mostly_silent[1:], 0.05)


def test_too_few_answers():
    fitted = fit_guard(good_rows(30))
    assert fitted.shortfall == "30 good answers promise 9.5 %, not 5 %; 59 are needed for 5 %"
    assert fit_guard(good_rows(59)).shortfall == ""
    with pytest.raises(UsageError, match="59 promise 5 %"):
        fit_guard(good_rows(9))


def test_one_answer_to_each_question_is_used():
    rows = good_rows(12)
    again = [row | {"id": f"{row['id']}-{turn}"} for row in rows for turn in range(5)]
    file = fit_guard(again).file
    assert (file.questions, file.answers) == (12, 60)


def test_labelled_bad_answers_are_only_measured():
    rows = good_rows(20)
    bad = [
        row | {"id": f"bad{row['id']}", "response": "It was sold to 40 Spaniards.", "label": 0}
        for row in rows
    ]
    alone = fit_guard(rows).file
    assert alone.caught is None
    for fitted in (fit_guard(rows + bad), fit_guard(rows, bad)):
        assert (fitted.file.limit, fitted.file.questions) == (alone.limit, 20)
        assert fitted.file.caught == CaughtShare.of(20, 20)
    with pytest.raises(DataError, match="id 'x': field 'label': expected bad answers, found the label 1"):
        fit_guard(rows, [bad[0] | {"id": "x", "label": 1}])


def test_the_interval_of_the_caught_share():
    found = CaughtShare.of(7, 20)
    exact = stats.binomtest(7, 20).proportion_ci(method="exact")
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high))


def test_answers_with_an_error_are_left_out_and_named():
    rows = good_rows(20)
    rows[3] |= {"contexts": []}
    rows[7] |= {"response": "I don't know."}
    fitted = fit_guard(rows)
    assert fitted.left_out == (("3", "there are no passages"),)
    assert (fitted.file.questions, fitted.file.left_out, fitted.file.silent) == (19, 1, 1)


@pytest.mark.parametrize(
    "options", [{"max_false_alarms": 0}, {"max_false_alarms": 1}, {"bad_share": 1}, {"bad_share": -0.1}]
)
def test_a_wrong_share_is_refused(options):
    with pytest.raises(UsageError, match="must be"):
        fit_guard(good_rows(20), **options)


def test_the_same_answers_give_the_same_file():
    assert fit_guard(good_rows(20)).file.to_json() == fit_guard(good_rows(20)).file.to_json()
