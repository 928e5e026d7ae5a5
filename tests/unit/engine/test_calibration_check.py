from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from sgi import evaluate
from sgi.engine.calibration_check import LEVEL, MAX_QUESTIONS, CalibrationCheck, check_calibration
from sgi.engine.summary import Summary
from sgi.kernel.metric_column import MetricColumn
from sgi.kernel.registry import metric
from sgi.metrics.calibrated_metric import Calibration, ReferenceScores, calibrate_metric
from sgi.stats.logistic_map import LogisticMap
from support.calibration_files import EMBEDDER, calibration_file

ROWS = 40
SCORES = np.linspace(0.1, 0.9, ROWS)


def calibrated(scores=SCORES, undefined=0, lengths=None):
    values = tuple(np.sort(scores).tolist())
    lengths = np.full(len(values) + undefined, 20) if lengths is None else lengths
    reference = ReferenceScores(values, tuple(lengths), undefined, values[0], values[-1])
    curve = LogisticMap(1.0, 0.0, 0.5, 1.0, (0.1, 0.0, 0.1), 2.0)
    return calibrate_metric(metric("theta_rc"), Calibration("3f2a", True, curve, reference))  # noqa: FBT003


def check(values, *, lengths=None, clusters=None, **fitted):
    values = np.asarray(values, dtype=float)
    column = MetricColumn("theta_rc", values, np.where(np.isnan(values), 3, 0).astype(np.int8))
    lengths = np.full(len(values), 20.0) if lengths is None else lengths
    return check_calibration(
        calibrated(**fitted), column, lengths, np.arange(len(values)) if clusters is None else clusters
    )


def test_equal_scores_give_no_warning():
    found = check(SCORES)
    assert (found.score_distance, found.outside, found.scores_differ, found.lengths_differ) == (
        0,
        0,
        False,
        False,
    )
    assert list(found.notes()) == []


def test_other_scores_give_a_warning_with_the_reason():
    found = check(np.linspace(0.1, 0.3, 200))
    assert found.scores_differ
    (note,) = found.notes()
    assert note.startswith("Warning: this run differs from the rows that calibrated(")
    assert "was fitted on in the scores (distance 0.7" in note
    assert "200 questions here, 40 there" in note


def test_more_rows_without_a_value_give_a_warning():
    values = np.where(np.arange(ROWS) < 20, np.nan, SCORES)
    found = check(values)
    assert (found.undefined, found.calibration_undefined) == (0.5, 0)
    (note,) = found.notes()
    assert "50.0% have no value, 0.0% there" in note
    assert not check(values, scores=SCORES[20:], undefined=20).scores_differ


def test_other_lengths_give_a_warning():
    found = check(SCORES, lengths=np.full(ROWS, 500.0))
    assert (found.scores_differ, found.lengths_differ) == (False, True)
    assert "in the lengths of the responses (distance 1.00, p = 0.001)" in next(found.notes())


def test_scores_outside_the_range_are_counted():
    found = check([*SCORES, 0.95, 0.05])
    assert (found.outside, found.rows) == (2, 42)
    (note,) = found.notes()
    assert (
        "2 of 42 rows score outside the range of the calibration rows, 0.1 to 0.9; up to 4.9% are expected"
        in note
    )


def test_many_answers_to_one_question_count_once():
    values = np.concatenate([SCORES, np.full(400, 0.11)])
    clusters = np.concatenate([np.arange(ROWS), np.full(400, 0)])
    assert not check(values, clusters=clusters).scores_differ
    assert check(values).scores_differ


def test_runs_of_any_size_are_checked():
    assert check([]) is None
    assert check(np.resize(SCORES, 5000)).questions == MAX_QUESTIONS


@pytest.mark.slow
def test_runs_like_the_calibration_are_warned_about_at_the_level():
    rng = np.random.default_rng(0)
    warned = 0
    for _ in range(200):
        wrapper = calibrated(rng.random(30), lengths=np.sort(rng.integers(5, 90, 30)))
        column = MetricColumn("theta_rc", rng.random(150), np.zeros(150, dtype=np.int8))
        found = check_calibration(wrapper, column, rng.integers(5, 90, 150).astype(float), np.arange(150))
        warned += found.scores_differ or found.lengths_differ
    assert warned <= 200 * LEVEL + 4


def test_a_summary_has_the_check_and_reads_back():
    rows = [{"question": f"Q{k}?", "contexts": ["red house"], "response": f"red {k}"} for k in range(3)]
    result = evaluate(rows, "sgi", EMBEDDER, calibration=calibration_file(), cache=False)
    summary = result.summary()
    found = summary.calibration
    assert (found.questions, found.calibration_questions) == (3, 4)
    stored = json.loads(json.dumps(summary.to_dict()))
    assert Summary.from_dict(stored).calibration == found
    assert stored["calibration"]["scores_differ"] == found.scores_differ
    assert set(found.notes()) <= set(summary.notes())
    plain = evaluate(rows, "sgi", EMBEDDER, cache=False).summary()
    assert plain.calibration is None
    assert "calibration" not in plain.to_dict()


@pytest.mark.parametrize("p", [LEVEL / 2, LEVEL])
def test_each_test_has_half_of_the_level(p):
    found: CalibrationCheck = replace(check(SCORES), score_p=p, length_p=p)
    assert found.scores_differ == found.lengths_differ == (p <= LEVEL / 2)
