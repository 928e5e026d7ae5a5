"""`sgi judge calibrate` with other labels and metrics: what it refuses, and its limits."""

from __future__ import annotations

import json
from itertools import islice

import pytest

from support.answers import write_jsonl
from support.calibrations import reference_rows

TARGET = ("--error-rate", "fpr=0.1")


@pytest.mark.slow
def test_real_answers_with_real_vectors(sgi, tmp_path, data_folder):
    """The first 120 items of HaluEval, two answers each; SGI's verdicts keep the rate they promise."""
    rows = []
    with (data_folder / "halueval_qa.jsonl").open(encoding="utf-8") as lines:
        for k, item in enumerate(map(json.loads, islice(lines, 120))):
            texts = {"question": item["question"], "contexts": [item["knowledge"]]}
            rows.append(texts | {"id": f"{k}+", "response": item["right_answer"], "label": 1})
            rows.append(texts | {"id": f"{k}-", "response": item["hallucinated_answer"], "label": 0})
    write_jsonl(tmp_path / "halueval.jsonl", rows)
    result = sgi("run", "halueval.jsonl", "-m", "sgi,theta_rq", "--name", "halueval", "-q")
    assert result.code == 0, result.err
    outcome = sgi("judge", "calibrate", "halueval", "-m", "sgi", *TARGET, "--curve", "isotonic", "--json")
    assert outcome.code == 0, outcome.err
    facts = outcome.json
    assert facts["encoders"][0].startswith("minilm@")
    assert (facts["clusters"], facts["positives"], facts["negatives"]) == (120, 120, 120)
    assert facts["thresholds"]["false_positives"]["interval"]["low"] <= 0.1
    assert facts["thresholds"]["recall"]["value"] > 0.35
    assert facts["quality"]["brier"] < facts["base_rate"]["brier"]
    scored = sgi("run", "halueval.jsonl", "--calibration", "sgi.calibration.json", "--json", "-q")
    assert scored.code == 0, scored.err
    by_name = {one["metric"].partition("(")[0]: one for one in scored.json["metrics"]}
    assert by_name["calibrated"]["ok"] == 240
    # Isotonic probabilities of the rows they were fitted on are right on average.
    assert by_name["calibrated"]["mean"] == pytest.approx(0.5, abs=1e-9)
    assert by_name["calibrated"]["ranking"]["auroc"] >= by_name["sgi"]["ranking"]["auroc"] - 1e-9


DEFINED = """
[quality]
metric = "weighted_mean"
of = ["content_f1", "short"]

[short]
metric = "length"
high = 50
"""


def test_a_defined_metric_is_calibrated_by_its_name(sgi, tmp_path):
    write_jsonl(tmp_path / "data.jsonl", reference_rows())
    (tmp_path / "metrics.toml").write_text(DEFINED)
    define = ("--define", "metrics.toml")
    assert sgi("run", "data.jsonl", *define, "-m", "quality", "--name", "one", "-q").code == 0
    outcome = sgi("judge", "calibrate", "one", "-m", "quality", *TARGET)
    assert outcome.code == 0, outcome.err
    content = json.loads((tmp_path / "quality.calibration.json").read_text())
    assert content["define"].keys() == {"quality", "short"}
    (tmp_path / "metrics.toml").unlink()
    run = ("run", "data.jsonl", "-m", "content_f1", "--calibration", "quality.calibration.json")
    assert sgi(*run, "--name", "two", "-q").code == 0
    shown = sgi("show", "two", "--json").json
    names = [metric["metric"].partition("(")[0] for metric in shown["summary"]["metrics"]]
    assert names == ["content_f1", "quality", "calibrated"]
    assert sgi("run", "--resume", "two", "-q").code == 0
    (tmp_path / "other.toml").write_text(DEFINED.replace("50", "60"))
    refused = sgi(*run, "--define", "other.toml", "--name", "three")
    assert refused.code == 2
    assert "The calibration has another definition of short than" in refused.err
    content["define"] = "metrics.toml"
    (tmp_path / "quality.calibration.json").write_text(json.dumps(content))
    assert "define: expected an object with definitions" in sgi(*run, "--name", "four").err
