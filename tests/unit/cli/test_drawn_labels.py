"""Labels of rows that were drawn by the uncertainty of a metric, from the queue to agree and calibrate."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sgi.analysis.labelling import draw_chances
from sgi.engine.stored_runs import read_run
from sgi.store.database import open_database
from sgi.store.evaluations import sample_evaluation
from sgi.store.human_labels import store_label
from sgi.store.label_consensus import HumanLabel, drawn_order, text_version
from sgi.store.run_queries import find_run
from support.answers import write_jsonl

ROWS, LABELLED = 300, 60
WORDS = [f"word{k}" for k in range(10)]


def _rows():
    """Answers with 0 to 10 of the ten words of their reference."""
    generator = np.random.default_rng(4)
    for k in range(ROWS):
        same = int(generator.integers(0, 11))
        response = " ".join([*WORDS[:same], *(f"other{n}" for n in range(10 - same))])
        yield {
            "id": f"q{k}",
            "question": f"Question {k}?",
            "response": response,
            "reference": " ".join(WORDS),
        }


@pytest.fixture
def truth(sgi, tmp_path):
    """The share of good answers, with the rows of the queue of uncertain rows labelled."""
    write_jsonl(tmp_path / "a.jsonl", list(_rows()))
    assert sgi("run", "a.jsonl", "-m", "squad_token_f1,length", "--name", "a", "-q").code == 0
    with open_database(tmp_path / "sgi.db") as database:
        record = find_run(database, "a")
        run = read_run(database, record)
        column = run.metric("squad_token_f1")
        good = np.random.default_rng(5).random(ROWS) < column.values
        for place in drawn_order(run.ids, draw_chances(column))[0][:LABELLED].tolist():
            sample = sample_evaluation(database, record, run.ids[place]).sample
            label = HumanLabel(sample.id, text_version(sample), "Ada", bool(good[place]))
            store_label(database, record.dataset_name, label)
    return float(good.mean())


def test_agreement_and_the_corrected_mean_are_weighted(sgi, truth):
    result = sgi(
        "judge", "agree", "a", "--label", "people:squad_token_f1", "-m", "squad_token_f1", "--json"
    ).json
    assert result["labelled"] == LABELLED
    corrected = result["metrics"][0]["corpus"]["corrected"]
    assert corrected["interval"]["low"] <= truth <= corrected["interval"]["high"]
    assert corrected["interval"]["high"] - corrected["interval"]["low"] < 0.25
    assert "All numbers but counts are weighted by 1/probability" in " ".join(result["notes"])
    assert "Kolmogorov" not in " ".join(result["notes"])
    biased = sgi("judge", "agree", "a", "--label", "people-all", "-m", "squad_token_f1")
    assert "Kolmogorov" in biased.err


@pytest.mark.usefixtures("truth")
def test_a_calibration_of_the_same_metric_needs_no_weights_and_other_uses_are_refused(sgi, tmp_path):
    words = ("judge", "calibrate", "a", "--label", "people:squad_token_f1")
    outcome = sgi(*words, "-m", "squad_token_f1")
    assert outcome.code == 0, outcome.err
    assert "The labelled rows were drawn by their scores" in outcome.err
    stored = json.loads((tmp_path / "squad_token_f1.calibration.json").read_text())
    assert (stored["rows"], len(stored["reference"]["scores"])) == (LABELLED, ROWS)
    target = sgi(*words, "-m", "squad_token_f1", "--error-rate", "fpr=0.1")
    assert (target.code, "needs a random sample" in target.err) == (2, True)
    other = sgi(*words, "-m", "length")
    assert (other.code, "were drawn by squad_token_f1" in other.err) == (2, True)
    unknown = sgi("judge", "agree", "a", "--label", "people:no_such_metric")
    assert unknown.code == 2


@pytest.mark.usefixtures("truth")
def test_labels_are_exported_with_their_probability(sgi):
    result = sgi("judge", "labels", "a", "--json").json
    assert result["drawn"] == {"metric": "squad_token_f1", "rows": LABELLED}
    chances = [row["probability"] for row in result["labels"]]
    assert len(chances) == LABELLED
    assert all(0 < chance <= 1 for chance in chances)
    assert (
        f"{LABELLED} of them were drawn by the uncertainty of squad_token_f1"
        in sgi("judge", "labels", "a").out
    )
