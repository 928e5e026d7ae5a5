"""Fitting a guard, and its file; that promises hold: scripts/simulate.py guards."""

from __future__ import annotations

import json
import math
import os
from types import MappingProxyType

import numpy as np
import pytest
from scipy import stats

import sgi
from sgi.kernel.errors import DataError, UsageError
from sgi.metrics.grounding.streaming import SENTENCE_MARGIN
from sgi.service.guard_file import CaughtShare, GuardFile, fit_guard, fit_limit
from support.guards import fitted_guard, good_rows

LIMIT = {"value": "score", "side": "below", "limit": 0.5, "share": 0.5}


@pytest.fixture
def file():
    return fitted_guard()


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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 2}, "the file has format 2; this version reads format 1"),
        ({"limit": 0.4}, "the file was changed since it was fitted"),
        ({"digest": None}, "the file was changed since it was fitted"),
        ({"limit": 2}, "the file is not a guard: limit"),
        ({"more": 1}, "the file is not a guard: more"),
        ({"no\x1b[31m" + "e" * 500: 1}, r"the file is not a guard: no \[31me{50,60}…: Extra"),
        ({"promise": 0.04}, "60 questions cannot promise less than 0.0487"),
        ({"promise": 0, "questions": 10**12}, "1,000,000,000,000 questions cannot promise less than 3e-12"),
        ({"limit": 0}, "the file is not a guard: limit"),
        ({"traffic": [LIMIT | {"value": "w\x1b" * 500}]}, "no test of values below a limit of 'w w [w ]*…'"),
        ({"traffic": [LIMIT | {"side": "above"}]}, "no test of values above a limit of 'score'"),
    ],
)
def test_a_damaged_file_is_refused(file, tmp_path, change, message):
    path = tmp_path / "guard.json"
    path.write_text(json.dumps(json.loads(file.to_json()) | change))
    with pytest.raises(UsageError, match=message) as error:
        sgi.Guard(path)
    assert "Fit the guard again" in error.value.hint


@pytest.mark.parametrize("content", ["{}", "[]", '{"format": 1', '{"format": 1}'])
def test_another_file_is_refused(tmp_path, content):
    path = tmp_path / "guard.json"
    path.write_text(content)
    with pytest.raises(UsageError, match=r"guard\.json"):
        sgi.Guard(str(path))


@pytest.mark.parametrize(
    "change", [{"version": 5}, {"metric": "sgi\x1b" * 500}, {"margin": SENTENCE_MARGIN + 1}]
)
def test_a_file_for_another_metric_is_refused(file, change):
    other = GuardFile(**file.model_dump(exclude={"digest", *change}), **change)
    with pytest.raises(UsageError, match="was fitted with version") as error:
        sgi.Guard(other)
    assert "sgi guard fit" in error.value.hint
    assert len(str(error.value)) < 300
    assert "\x1b" not in str(error.value)


def test_a_file_is_read_as_it_was_written(file, tmp_path):
    path = tmp_path / "guard.json"
    path.write_text(file.to_json())
    assert sgi.Guard(path).file == sgi.Guard(json.loads(path.read_text())).file == file

    class Place(os.PathLike):
        def __fspath__(self):
            return str(path)

    assert sgi.Guard(Place()).file == sgi.Guard(MappingProxyType(file.model_dump(mode="json"))).file == file
