from __future__ import annotations

import json

import numpy as np
import pytest

from sgi.analysis.labelling import draw_chances
from sgi.engine.stored_runs import read_run
from sgi.kernel import registry
from sgi.store.database import open_database
from sgi.store.evaluations import sample_evaluation
from sgi.store.human_labels import store_label
from sgi.store.label_consensus import HumanLabel, drawn_order, text_version
from sgi.store.run_queries import find_run
from support.answers import rows, write_jsonl

GRADED = '''
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sgi.kernel.metric import Metric, MetricSpec, Scores
from sgi.kernel.sample import RESPONSE


@dataclass(frozen=True)
class Graded(Metric):
    """A grade by the first letter of the response."""

    spec: ClassVar = MetricSpec("graded", 1, needs=RESPONSE, low=0.0, high=1.0, category="grade")

    def score(self, batch, features, /):
        grades = [text[0] for text in batch.response]
        values = np.array([1 - "ABCDE".index(grade) / 4 for grade in grades])
        return Scores.of(values, details=[{"grade": grade} for grade in grades])
'''


def labelled(n=40, *, spoilt=12, **changes):
    """Rows whose label says whether the response is right, but for a few."""
    data = rows(n, spoilt=spoilt)
    for k, row in enumerate(data):
        row["label"] = int(k >= spoilt) if k % 10 else 1 - int(k >= spoilt)
        row["metadata"] |= {name: make(k) for name, make in changes.items()}
    return data


@pytest.fixture
def made_run(sgi, tmp_path):
    def make(data, metrics="squad_em,rouge_l", name="nightly"):
        write_jsonl(tmp_path / "data.jsonl", data)
        result = sgi("run", "data.jsonl", "-m", metrics, "--name", name, "-q")
        assert result.code == 0, result.err

    return make


def test_grades_of_a_metric_beside_grades_of_people(sgi, made_run, monkeypatch, tmp_path):
    (tmp_path / "graded_for_agree.py").write_text(GRADED)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(registry.BUILT_IN, "graded", "graded_for_agree:Graded")
    registry.metric_names.cache_clear()
    try:
        data = labelled(30, people=lambda k: "ABCDE"[min(4, k % 4 + (k % 7 == 0))])
        for k, row in enumerate(data):
            row["response"] = "ABCDE"[k % 4] + " is the grade"
        made_run(data, "graded,squad_em")
        result = sgi("judge", "agree", "nightly", "--label", "people")
        graded, exact = sgi("judge", "agree", "nightly", "--label", "people", "--json").json["metrics"]
    finally:
        registry.metric_names.cache_clear()
    assert "grades (quadratic, ordinal)" in result.out
    assert "Same class as the label in 83.3 % of the rows" in result.out
    assert (
        "squad_em: not compared: the labels are names of classes, but the metric gives numbers." in result.out
    )
    assert (graded["rows"], 0.9 < graded["kappa"]["value"] < 1, exact["kappa"]) == (30, True, None)


def test_rows_without_a_majority_are_counted(sgi, made_run, tmp_path):
    made_run([{key: value for key, value in row.items() if key != "label"} for row in labelled(30)])
    assert "labelled a row. Run sgi serve, and open /runs/" in sgi("judge", "labels", "nightly").err
    with open_database(tmp_path / "sgi.db") as database:
        record = find_run(database, "nightly")
        for number in range(30):
            sample = sample_evaluation(database, record, f"q{number}").sample
            for author, value in (("Ada", number > 11), ("Bo", number > 7)):
                label = HumanLabel(sample.id, text_version(sample), author, value)
                store_label(database, record.dataset_name, label)
    waiting = "4 rows wait for a decision, because people disagree and there is no majority."
    agreement = sgi("judge", "agree", "nightly")
    assert "26 of 30 rows have a label in people" in agreement.out
    assert waiting in agreement.err
    assert waiting in sgi("judge", "labels", "nightly").out
    assert "wait" not in sgi("judge", "agree", "nightly", "--label", "depth").err


def test_a_real_metric_beside_real_people(sgi, data_folder, tmp_path):
    lines = (data_folder / "evouna.jsonl").read_text("utf-8").splitlines()[:500]
    (tmp_path / "evouna.jsonl").write_text("\n".join(lines))
    truth = [json.loads(line)["label"] for line in lines]
    sgi("run", "evouna.jsonl", "-m", "squad_em,rouge_l_recall", "-q")
    exact, recall = sgi("judge", "agree", "last", "--json").json["metrics"]
    assert exact["corpus"]["labels"]["value"] == pytest.approx(sum(truth) / 500)
    assert exact["specificity"]["value"] > 0.98
    assert recall["kappa"]["value"] > exact["kappa"]["value"] + 0.2


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
