"""Runs, labels and options that cannot be calibrated."""

from __future__ import annotations

import numpy as np
import pytest
import sqlalchemy as sa

from sgi.analysis.calibrate import calibrate
from sgi.engine.calibration_parts import Target
from sgi.engine.stored_runs import read_run
from sgi.kernel.errors import DataError, UnknownNameError, UsageError
from sgi.store import schema
from sgi.store.run_queries import find_run
from support.calibrations import few_labels, labelled_run, signature

FPR = Target.of("fpr=0.1")
JUDGE = "openai:m@localhost:80,temperature=0.0,seed=0,max_tokens=4096"


@pytest.mark.parametrize(("gap", "higher"), [(-1.5, True), (1.5, False)])
def test_a_metric_that_ranks_the_wrong_way_is_refused(database, gap, higher):
    record = labelled_run(database, gap=gap, metric_columns={"higher_is_better": higher})
    with pytest.raises(UsageError) as caught:
        calibrate(database, record, "sgi", FPR)
    message = str(caught.value)
    assert "sgi ranks the labelled rows of r1 in reverse: AUROC 0.1" in message
    assert f"but {'higher' if higher else 'lower'} values should mean grounded" in message
    assert "Calibrate another metric. If yes in 'label' means not grounded" in message


def test_prompts_of_another_time_are_refused(database):
    run_signature = signature(encoders="-", judge=f"{JUDGE}@00000000")
    record = labelled_run(database, "faithfulness", run_signature=run_signature)
    with pytest.raises(UsageError, match="00000000"):
        calibrate(database, record, "faithfulness", FPR)
    rescored = labelled_run(
        database,
        "faithfulness",
        run="r2",
        run_signature=run_signature,
        run_columns={"spec": {"rescored_from": "r1"}},
    )
    assert calibrate(database, rescored, "faithfulness", FPR).judge == JUDGE


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"rows": 198},
            "198 rows with a label in 'label' and a value of sgi, of 99 questions",
        ),
        (
            {"rows": 202, "changes": {k: {"question": f"Question {k % 99}?"} for k in range(202)}},
            "202 rows with a label in 'label' and a value of sgi, of 99 questions",
        ),
        ({"changes": {k: {"label": None} for k in range(50)}}, "has 190 rows with a label"),
        (
            {"changes": {k: {"label": True} for k in range(240)}},
            "A target needs 200 rows of 100 questions, 8 of each label. Label 8 more not grounded.",
        ),
        ({"run_columns": {"finished_at": None}}, "is not finished: 240 of 240 rows"),
        ({"metric_columns": {"version": 7}}, "scored with version 7 of sgi; the installed one is version 4"),
        ({"run_signature": "sgi:1"}, "does not record what computed its scores of sgi"),
        ({"metric": "sgi_of_old"}, "Unknown metric of r1 'sgi'"),
        (
            {"changes": {k: {"label": k >= 8, "question": "Q?" if k < 8 else f"{k}"} for k in range(240)}},
            "cannot be calibrated: Out-of-fold values need two folds",
        ),
    ],
)
def test_what_cannot_be_calibrated_is_told_with_a_way_out(database, options, words):
    record = labelled_run(database, **options)
    with pytest.raises(UsageError) as caught:
        calibrate(database, record, "sgi", FPR)
    assert words in str(caught.value)
    assert caught.value.hint


def test_an_unfinished_run_says_how_to_go_on(database):
    labelled_run(database)
    with database.writing() as connection:
        connection.execute(sa.update(schema.runs).values(finished_at=None))
        connection.execute(sa.update(schema.datasets).values(rows=500))
    with pytest.raises(UsageError, match="--resume"):
        calibrate(database, find_run(database, "r1"), "sgi", FPR)


@pytest.mark.parametrize(
    ("label", "error", "words"),
    [
        ("stars", UsageError, "labels in 'stars' of r1 are numbers"),
        ("nothing", UnknownNameError, "Unknown column"),
        ("mixed", DataError, "is not a number"),
    ],
)
def test_labels_that_are_no_yes_or_no_are_refused(database, label, error, words):
    mixed = {k: {"metadata": {"mixed": ("good", 3)[k % 2], "stars": k % 5}} for k in range(240)}
    record = labelled_run(database, changes=mixed)
    with pytest.raises(error, match=words):
        calibrate(database, record, "sgi", FPR, label=label)


@pytest.mark.parametrize(
    ("options", "words"), [({"bins": 0}, "1 or more"), ({"kind": "spline"}, "logistic or isotonic")]
)
def test_options_that_make_no_sense_are_refused(database, options, words):
    with pytest.raises(UsageError, match=words):
        calibrate(database, labelled_run(database), "sgi", FPR, **options)


@pytest.mark.parametrize(
    ("rows", "grounded", "words"),
    [
        (29, 15, "29 questions: 15 grounded, 14 not. Probabilities need 30 rows of 15 questions, 8 of each"),
        (29, 15, "Label 1 more in all."),
        (40, 5, "Label 3 more grounded."),
        (40, 33, "Label 1 more not grounded."),
        (40, 40, "Label 8 more not grounded."),
        (12, 12, "Label 8 more not grounded, 18 more in all, 3 more questions."),
    ],
)
def test_too_few_rows_say_how_many_more_of_which_label_are_needed(database, rows, grounded, words):
    with pytest.raises(UsageError) as caught:
        calibrate(database, few_labels(database, rows, grounded), "sgi")
    assert words in str(caught.value)
    assert "omit the target" not in str(caught.value)


def test_thresholds_and_isotonic_maps_need_more_rows_and_say_so(database):
    record = few_labels(database)
    with pytest.raises(UsageError, match="200"):
        calibrate(database, record, "sgi", FPR)
    with pytest.raises(UsageError, match="200"):
        calibrate(database, record, "sgi", kind="isotonic")


def test_thresholds_need_labels_of_random_rows(database):
    every = labelled_run(database, rows=1000)
    values = read_run(database, every).metric("sgi").values
    middle = np.argsort(np.abs(values - np.median(values)))[300:]
    chosen = labelled_run(
        database, rows=1000, run="r2", changes={k: {"label": None} for k in middle.tolist()}
    )
    with pytest.raises(UsageError, match="needs a random sample of rows"):
        calibrate(database, chosen, "sgi", FPR)
    assert calibrate(database, chosen, "sgi").sampling.p <= 0.01
