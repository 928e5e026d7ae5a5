from __future__ import annotations

import json
from contextlib import contextmanager

import numpy as np
import pytest
import sqlalchemy as sa

from sgi.analysis.calibrate import calibrate
from sgi.analysis.fit_thresholds import CalibrationData, flagged_out_of_fold
from sgi.engine.calibration_file import read_calibration
from sgi.engine.calibration_parts import Target
from sgi.engine.stored_runs import read_run
from sgi.kernel.errors import UsageError
from sgi.kernel.judged_metric import prompts_digest
from sgi.kernel.registry import metric
from sgi.stats.calibration import brier, grouped_folds, out_of_fold_probabilities
from sgi.stats.conformal import conformal_threshold
from sgi.stats.means import mean_interval
from sgi.store import schema
from sgi.store.database import open_database
from sgi.store.run_queries import find_run
from support.calibrations import MINILM, few_labels, labelled_run, signature

FPR = Target.of("fpr=0.1")
JUDGE = "openai:m@localhost:80,temperature=0.0,seed=0,max_tokens=4096"


@contextmanager
def opened(url):
    with open_database(url) as database:
        yield database


@pytest.fixture
def database(sqlite_url):
    with opened(sqlite_url) as made:
        yield made


def test_a_run_makes_thresholds_a_map_and_what_they_are_worth(database_url):
    with opened(database_url) as database:
        record = labelled_run(database)
        made = calibrate(database, record, "sgi", FPR)
    assert (made.metric, made.version, made.higher_is_better) == ("sgi", metric("sgi").spec.version, True)
    assert (made.encoders, made.judge, made.prompts) == ((MINILM,), None, "")
    assert (made.run, made.dataset, made.label) == ("r1", "data of r1", "label")
    assert (made.rows, made.positives, made.negatives, made.clusters, made.left_out) == (
        240,
        120,
        120,
        120,
        0,
    )
    assert made.thresholds.target == FPR
    assert len(made.thresholds.bins) == 3  # 120 grounded rows are not enough for four ranges of 40
    assert [found.questions for found in made.thresholds.bins] == [40, 40, 40]
    assert made.thresholds.false_positives.questions == made.thresholds.recall.questions == 120
    assert made.thresholds.false_positives.value <= 0.1
    assert (
        0.25
        < made.thresholds.recall.interval.low
        < made.thresholds.recall.value
        < made.thresholds.recall.interval.high
        < 0.75
    )
    assert made.quality.brier < made.base_rate.brier == pytest.approx(0.25, abs=0.001)
    assert made.base_rate.ece_width == pytest.approx(0, abs=0.01)
    assert made.map.slope > 0


def test_thresholds_hold_on_the_grounded_rows_they_are_made_of(database):
    record = labelled_run(database, rows=400)
    made = calibrate(database, record, "sgi", FPR, bins=4)
    values = read_run(database, record).metrics["sgi"].values
    grounded = values[::2]
    assert (grounded < made.thresholds.threshold).sum() == 19  # the 20th of 200 is the threshold, and passes
    assert made.thresholds.bins[0].at_least == 0
    assert made.thresholds.bins[-1].below is None


def test_equal_runs_make_equal_files(tmp_path):
    texts = []
    for name in ("one", "two"):
        with opened(f"sqlite:///{tmp_path / name}.db") as database:
            texts.append(calibrate(database, labelled_run(database), "sgi", FPR).to_json())
    assert texts[0] == texts[1]


def test_where_lower_is_better_the_threshold_flags_high_values(database):
    record = labelled_run(database, gap=-1.5, metric_columns={"higher_is_better": False})
    made = calibrate(database, record, "sgi", FPR, bins=1)
    values = read_run(database, record).metrics["sgi"].values
    assert (values[::2] > made.thresholds.threshold).mean() == pytest.approx(0.1, abs=0.01)
    assert made.thresholds.bins[0].threshold == made.thresholds.threshold
    assert made.map.slope > 0  # of negated values
    assert made.thresholds.recall.value > 0.3


def test_other_labels_are_taken_from_their_column(database):
    record = labelled_run(database, gap=0.0)
    made = calibrate(database, record, "sgi", FPR, label="human")
    assert (made.label, made.positives) == ("human", 80)


def test_rows_without_a_label_or_without_a_value_take_no_part(database):
    unlabelled = {row: {"label": None} for row in range(10)}
    record = labelled_run(database, changes=unlabelled)
    with database.writing() as connection:
        lost = schema.scores.c.position.between(5, 13)
        gone = {"value": None, "status": "failed", "reason": "no vector"}
        connection.execute(sa.update(schema.scores).where(lost).values(gone))
    made = calibrate(database, record, "sgi", FPR)
    assert (made.rows, made.left_out) == (226, 4)


def test_a_metric_that_ranks_nothing_finds_no_more_than_it_flags(database):
    made = calibrate(database, labelled_run(database, gap=0.0, rows=600), "sgi", FPR)
    assert made.thresholds.recall.interval.low <= 0.1
    assert made.quality.brier == pytest.approx(made.base_rate.brier, abs=0.01)


def test_how_well_it_ranks_is_kept(database):
    good = calibrate(database, labelled_run(database), "sgi", FPR).ranking
    values = read_run(database, find_run(database, "r1")).metrics["sgi"].values
    assert good.auroc == (values[::2, None] > values[1::2]).mean()
    assert 0.5 < good.interval.low < good.auroc < good.interval.high
    assert good.shown
    dull = calibrate(database, labelled_run(database, run="r2", gap=0.0), "sgi", FPR).ranking
    assert dull.interval.low < 0.5 < dull.interval.high
    assert not dull.shown


def test_few_grounded_rows_flag_nothing_and_say_so(database):
    ungrounded = {row: {"label": False} for row in range(30, 240)}
    made = calibrate(database, labelled_run(database, changes=ungrounded), "sgi", Target.of("fpr=0.05"))
    assert made.positives == 15
    assert made.thresholds.threshold is None
    assert [found.threshold for found in made.thresholds.bins] == [None]
    assert made.thresholds.recall.value == 0.0


def repeated(database, *, lowest=-9.0):
    """A run in which 20 of 120 grounded answers are to one question, and score lowest."""
    alike = range(0, 40, 2)
    record = labelled_run(database, changes={row: {"question": "One?"} for row in alike})
    with database.writing() as connection:
        which = schema.scores.c.position.in_(alike)
        connection.execute(sa.update(schema.scores).where(which).values(value=lowest))
    return record


def test_many_answers_to_one_question_count_once(database):
    record = repeated(database)
    made = calibrate(database, record, "sgi", FPR)
    values = read_run(database, record).metrics["sgi"].values[::2]
    one_each = np.sort([-9.0, *values[20:]])
    assert (made.clusters, sum(found.questions for found in made.thresholds.bins)) == (121, 101)
    assert made.thresholds.threshold == one_each[9] > conformal_threshold(values, 0.1) == -9.0
    assert (made.thresholds.false_positives.questions, made.thresholds.recall.questions) == (101, 120)
    assert [found.false_positives.questions for found in made.thresholds.bins] == [
        found.questions for found in made.thresholds.bins
    ]
    assert made.thresholds.false_positives.value > 0
    assert made.thresholds.false_positives.interval == mean_interval(
        np.arange(101) < round(101 * made.thresholds.false_positives.value), low=0, high=1
    )


def test_what_is_measured_leaves_out_whole_questions(database):
    """Rows dealt one by one give other numbers, since both answers to a question are much alike."""
    record = labelled_run(database, rows=400)
    shift = np.repeat(np.random.default_rng(3).normal(size=200) * 3, 2)
    run = read_run(database, record)
    with database.writing() as connection:
        for row, value in enumerate((run.metrics["sgi"].values + shift).tolist()):
            which = schema.scores.c.position == row
            connection.execute(sa.update(schema.scores).where(which).values(value=value))
    made = calibrate(database, record, "sgi", FPR, bins=1)
    values, truth = read_run(database, record).metrics["sgi"].values, np.tile([True, False], 200)
    rows = CalibrationData(values, truth, np.full(400, 9), run.clusters)
    whole, single = grouped_folds(truth, run.clusters), grouped_folds(truth)
    flagged = flagged_out_of_fold(rows, FPR, whole, bins=1)
    assert made.thresholds.false_positives.value == flagged[truth].mean()
    assert made.thresholds.recall.value == flagged[~truth].mean()
    briers = [
        brier(out_of_fold_probabilities(values, truth, method="logistic", folds=folds), truth).score
        for folds in (whole, single)
    ]
    assert made.quality.brier == briers[0] != briers[1]


def test_a_fault_of_our_own_is_no_fault_of_the_data(database, monkeypatch):
    def broken(*_, **__):
        raise ValueError("a bug")

    monkeypatch.setattr("sgi.analysis.calibrate.out_of_fold_probabilities", broken)
    with pytest.raises(ValueError, match="a bug"):
        calibrate(database, labelled_run(database), "sgi", FPR)


def test_a_judged_metric_tells_its_judge_and_its_prompts(database):
    asked = prompts_digest([metric("faithfulness")])
    run_signature = signature(encoders="-", judge=f"{JUDGE}@{asked}")
    made = calibrate(
        database, labelled_run(database, "faithfulness", run_signature=run_signature), "faithfulness", FPR
    )
    assert (made.encoders, made.judge, made.prompts) == ((), JUDGE, asked)


def test_of_several_encoders_the_one_the_metric_uses_is_kept(database):
    run_signature = signature(encoders=f"bge@1,cls,512tok,fp32+{MINILM}")
    made = calibrate(database, labelled_run(database, run_signature=run_signature), "sgi", FPR)
    assert made.encoders == ("bge@1,cls,512tok,fp32",)
    both = 'semantic_similarity(models=["bge", "minilm"])'
    record = labelled_run(database, both, run="r2", run_signature=run_signature)
    assert calibrate(database, record, both, FPR).encoders == ("bge@1,cls,512tok,fp32", MINILM)


def test_an_isotonic_map_reads_back_from_its_file(database, tmp_path):
    made = calibrate(database, labelled_run(database), "sgi", FPR, kind="isotonic")
    assert json.loads(made.to_json())["map"]["map"] == "isotonic"
    assert made.map.probability([-100, 100]).tolist() == [
        made.map.probabilities[0],
        made.map.probabilities[-1],
    ]


def test_a_task_that_is_the_same_for_all_rows_is_calibrated_by_another_rule(database):
    record = labelled_run(database, changes={k: {"question": "Summarize."} for k in range(240)})
    with pytest.raises(UsageError, match="of 1 question:"):
        calibrate(database, record, "sgi", FPR)
    made = calibrate(database, record.with_clusters("row"), "sgi", FPR)
    assert (made.cluster, made.clusters) == ("row", 240)


def test_thirty_rows_make_a_map_with_intervals_and_no_thresholds(database, tmp_path):
    made = calibrate(database, few_labels(database, rows=30, grounded=15), "sgi")
    assert (made.rows, made.clusters, made.thresholds) == (30, 30, None)
    low, high = made.map.interval([0.0, 1.0])
    assert (low < made.map.probability([0.0, 1.0])).all()
    assert (made.map.probability([0.0, 1.0]) < high).all()
    assert 0 < made.quality.ece_chance < 0.3
    (tmp_path / "c.json").write_text(made.to_json())
    assert read_calibration(tmp_path / "c.json") == made


def test_the_reference_is_one_row_of_each_question_with_its_length(database):
    record = repeated(database)
    made = calibrate(database, record, "sgi")
    values = read_run(database, record).metrics["sgi"].values
    assert len(made.reference.scores) == len(made.reference.lengths) == made.clusters == 121
    assert (made.reference.low, made.reference.high) == (values.min(), values.max())
    assert set(made.reference.scores) <= set(values.tolist())


def test_labelled_rows_without_a_value_are_in_the_reference(database):
    record = few_labels(database)
    with database.writing() as connection:
        lost = schema.scores.c.position < 6
        gone = {"value": None, "status": "undefined", "reason": "no claim"}
        connection.execute(sa.update(schema.scores).where(lost).values(gone))
    made = calibrate(database, record, "sgi")
    assert (made.rows, made.left_out, made.reference.undefined) == (34, 6, 6)
    assert len(made.reference.lengths) == 40


def test_only_scores_are_read_as_log_odds(database):
    units = {"unit": "score", "low": 0.0, "high": 1.0}
    record = few_labels(database, metric_columns=units)
    values = read_run(database, record).metrics["sgi"].values
    with database.writing() as connection:
        for row, value in enumerate((1 / (1 + np.exp(-values))).tolist()):
            which = schema.scores.c.position == row
            connection.execute(sa.update(schema.scores).where(which).values(value=value))
    made = calibrate(database, record, "sgi")
    plain = calibrate(database, few_labels(database, run="r2"), "sgi")
    assert (made.log_odds, plain.log_odds) == (True, False)
    assert made.map.slope == pytest.approx(plain.map.slope)
    assert made.quality.brier == pytest.approx(plain.quality.brier)


def test_content_word_precision_is_compared(database):
    words = {row: {"response": "one two" if row < 20 else "one four"} for row in range(40)}
    samples = {
        row: {"label": row < 20, "question": f"{row}?", "contexts": ["one two"]} | words[row]
        for row in range(40)
    }
    made = calibrate(database, labelled_run(database, rows=40, changes=samples), "sgi").words
    assert (made.rows, made.auroc) == (40, 1.0)
    assert made.difference < 0
    assert made.interval.low < made.difference < made.interval.high
    assert calibrate(database, labelled_run(database, run="r2"), "sgi").words is None  # without passages


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
