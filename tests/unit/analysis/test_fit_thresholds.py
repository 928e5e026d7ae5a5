"""Thresholds out of fold: each row is flagged by a threshold of other questions."""

from __future__ import annotations

import numpy as np
import pytest

from sgi.analysis.fit_thresholds import CalibrationData, flagged_out_of_fold
from sgi.engine.calibration_parts import Target
from sgi.stats.calibration import grouped_folds
from sgi.stats.conformal import conformal_threshold

FPR = Target.of("fpr=0.1")


def test_out_of_fold_no_more_than_the_target_is_flagged_whatever_the_scores():
    """Over many draws, with two rows a question; and what is found is what a fresh sample would show."""
    generator = np.random.default_rng(0)
    rates, found, fresh = [], [], []
    for _ in range(60):
        truth = np.tile([True, False], 150)
        values = generator.normal(size=300) + 1.5 * truth
        lengths = generator.integers(1, 100, size=300)
        rows = CalibrationData(values, truth, lengths, np.arange(300) // 2)
        flagged = flagged_out_of_fold(rows, FPR, grouped_folds(truth, rows.clusters), bins=3)
        rates.append(flagged[truth].mean())
        found.append(flagged[~truth].mean())
        other = generator.normal(size=2000)
        fresh.append((other < np.quantile(values[truth], 0.1)).mean())
    assert 0.06 < np.mean(rates) < 0.105
    assert np.mean(found) == pytest.approx(np.mean(fresh), abs=0.06)


def some_rows(values, questions, *, ungrounded=15):
    """Grounded rows of these questions, and as many of others that are not."""
    others = np.arange(100, 100 + ungrounded)
    truth = np.repeat([True, False], [len(values), ungrounded])
    scores = np.concatenate([values, np.full(ungrounded, -99.0)])
    clusters = np.concatenate([questions, others])
    return CalibrationData(scores, truth, np.full(len(truth), 9), clusters)


def test_a_row_has_no_part_in_the_threshold_that_judges_it():
    """Of 15, and of the 12 in four folds, 10 % is the lowest one, which itself passes: unless left out."""
    rows = some_rows(np.arange(15.0), np.arange(15))
    assert not (rows.values[rows.truth] < conformal_threshold(np.arange(15.0), 0.1)).any()
    flagged = flagged_out_of_fold(rows, FPR, grouped_folds(rows.truth, rows.clusters), bins=1)
    assert flagged[0]
    assert flagged[~rows.truth].all()
    assert flagged[rows.truth].sum() <= 5


def test_nor_have_other_answers_to_its_question():
    """The five lowest rows are of one question: judged by the others, all of them are flagged."""
    questions = np.concatenate([np.zeros(5, dtype=np.int64), np.arange(1, 15)])
    rows = some_rows(np.concatenate([np.zeros(5), np.arange(1.0, 15)]), questions)
    flagged = flagged_out_of_fold(rows, FPR, grouped_folds(rows.truth, rows.clusters), bins=1)
    assert flagged[:5].all()
    assert np.count_nonzero(rows.one_per_question[:5]) == 1
    alone = flagged_out_of_fold(rows, FPR, grouped_folds(rows.truth), bins=1)
    assert not alone[:5].all()


def test_thresholds_of_folds_count_questions_too():
    """Sixty answers to one question leave the lowest of the others the tenth that 12 questions have."""
    questions = np.concatenate([np.arange(15), np.full(60, 15)])
    rows = some_rows(np.concatenate([np.arange(15.0), np.full(60, 99.0)]), questions)
    folds = grouped_folds(rows.truth, rows.clusters)
    flagged = flagged_out_of_fold(rows, FPR, folds, bins=1)
    for fold in folds:
        lowest = min(row for row in range(15) if row not in fold)
        assert flagged[fold].tolist() == (rows.values[fold] < lowest).tolist()


def test_one_grounded_and_one_ungrounded_row_of_each_question_are_drawn():
    truth = np.array([1, 1, 0, 0, 1, 0, 1], dtype=np.bool_)
    clusters = np.array([1, 1, 1, 1, 2, 3, 3])
    rows = CalibrationData(np.zeros(7), truth, np.zeros(7, dtype=np.int64), clusters)
    assert clusters[rows.one_per_question & truth].tolist() == [1, 2, 3]
    assert clusters[rows.one_per_question & ~truth].tolist() == [1, 3]
