from __future__ import annotations

import json

import pytest

from sgi.kernel import registry
from sgi.store.database import open_database
from sgi.store.evaluations import sample_evaluation
from sgi.store.human_labels import store_label
from sgi.store.label_consensus import HumanLabel, text_version
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
