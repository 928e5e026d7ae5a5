from __future__ import annotations

import json
import re
import shutil
from itertools import islice

import pytest

from sgi import evaluate
from sgi.engine.calibration_file import CalibrationFile
from sgi.kernel.errors import UsageError
from support import command
from support.answers import write_jsonl
from support.calibrations import reference_rows

TARGET = ("--error-rate", "fpr=0.1")
COLUMN = re.compile(r'calibrated\(metric="content_f1", calibration="[0-9a-f]{8}"\)')

FAILING = """
def answer(question):
    number = int(question.split()[1])
    if number >= 256:
        raise RuntimeError("not yet")
    return "some answer number " + str(number)
"""


def changed(path, **changes):
    """What the calibration's file would hold had it been fitted so."""
    values = json.loads(path.read_text()) | changes
    del values["digest"]
    return CalibrationFile.model_validate(values).to_json()


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A folder with a labelled run without vectors and its calibration's file, and what was said of that."""
    folder = tmp_path_factory.mktemp("fitted")
    write_jsonl(folder / "data.jsonl", reference_rows())
    result = command.sgi(folder, "run", "data.jsonl", "-m", "content_f1", "--name", "nightly", "-q")
    assert result.code == 0, result.err
    output = command.sgi(folder, "judge", "calibrate", "nightly", "-m", "content_f1", *TARGET)
    assert output.code == 0, output.err
    return folder, output


@pytest.fixture
def nightly(fitted, tmp_path):
    """The labelled run and its calibration in the test's own folder."""
    shutil.copytree(fitted[0], tmp_path, dirs_exist_ok=True)
    return fitted[1]


def test_a_run_is_calibrated_into_a_file(sgi, nightly, tmp_path):
    assert (
        "nightly: content_f1, 260 labelled rows (130 grounded, 130 not, 260 clusters by question)"
        in nightly.out
    )
    assert "at most 10 % of the grounded flagged" in nightly.out
    assert "flags below" in nightly.out
    assert re.search(r"logistic +0\.\d{4} +0\.\d{4} +0\.\d{4}", nightly.out)
    assert re.search(r"base rate +0\.2500 +0\.0000 +0\.0000", nightly.out)
    assert "50.0% grounded answers" in nightly.err
    promised = "grounded answers to questions like these, one a question"
    assert f"On average over calibrations, at most 10 % of {promised}, are flagged." in nightly.err
    assert "bounds questions, not rows" not in nightly.err
    facts = json.loads((tmp_path / "content_f1.calibration.json").read_text())
    assert facts["metric"] == "content_f1"
    assert facts["encoders"] == []
    assert facts["rows"] == 260
    assert facts["thresholds"]["target"] == {"rate": "fpr", "value": 0.1, "among": promised}
    result = sgi(
        "judge", "calibrate", "nightly", "-m", "content_f1", *TARGET, "-o", "other.json", "--json", "-q"
    )
    assert result.err == ""
    assert (tmp_path / "other.json").read_text() == (tmp_path / "content_f1.calibration.json").read_text()
    assert result.json["file"] == "other.json"
    assert result.json | facts == result.json
    assert f"Calibration {result.json['digest']} written to content_f1.calibration.json." in nightly.err


def test_a_confidence_bounds_one_calibration_or_is_refused_with_the_number_of_labels(sgi, nightly, tmp_path):
    sure = (*TARGET, "--confidence", "0.95")
    made = sgi("judge", "calibrate", "nightly", "-m", "content_f1", *sure, "--cluster", "pair")
    assert "bounds questions, not rows" in made.err
    assert "With 95 % confidence, at most 10 % of grounded answers" in made.err
    assert "at most 10 % of the grounded flagged with 95 % confidence" in made.out
    facts = json.loads((tmp_path / "content_f1.calibration.json").read_text())
    assert facts["thresholds"]["target"]["confidence"] == 0.95
    few = sgi(
        "judge",
        "calibrate",
        "nightly",
        "-m",
        "content_f1",
        "--error-rate",
        "fpr=0.02",
        "--confidence",
        "0.95",
    )
    assert few.code == 2
    assert "needs 149 questions with a grounded answer; nightly has 130" in few.err
    assert "Label 19 more" in few.err
    for words in (("--confidence", "0.95"), (*TARGET, "--confidence", "0.4")):
        assert sgi("judge", "calibrate", "nightly", "-m", "content_f1", *words).code == 2


def test_a_calibration_makes_a_column_that_every_table_knows(sgi, nightly, tmp_path):
    result = sgi(
        "run", "data.jsonl", "-m", "squad_em", "--calibration", "content_f1.calibration.json", "--json", "-q"
    )
    assert result.code == 0, result.err
    names = [entry["metric"] for entry in result.json["metrics"]]
    assert names[:2] == ["squad_em", "content_f1"]
    assert COLUMN.fullmatch(names[2])
    column = result.json["metrics"][2]
    assert column["is_share"]
    assert set(column["classes"]) == {"flagged", "passed"}
    assert sum(column["classes"].values()) == 260
    grouped = sgi("show", "last", "--by", "label")
    assert re.search(r'calibrated\(metric="content_f1".* by .* +passed +flagged\n', grouped.out)
    assert re.search(r"\n1 +130 \(100\.0 %\) +0\n", grouped.out)
    assert "calibration of content_f1 for fpr=0.1, fitted on run " in sgi("show", "last").out
    (tmp_path / "again.toml").write_text(sgi("show", "last", "--spec").out)
    assert sgi("run", "again.toml", "--name", "from-toml", "-q").code == 0
    assert sgi("gate", "last", "calibrated>=0.3").code == 0
    assert sgi("gate", "last", "calibrated>=0.99").code == 4
    asked = ("-m", "content_f1", "--calibration", "content_f1.calibration.json")
    again = sgi("run", "data.jsonl", *asked, "--name", "again", "-q")
    assert again.code == 0, again.err
    assert "only in again: calibrated(" in sgi("compare", "nightly", "again").out
    compared = sgi("compare", "last~1", "again", "--json").json["metrics"]
    assert [COLUMN.fullmatch(one["metric"]) is not None for one in compared] == [False, True]


def test_the_same_in_python(nightly, tmp_path):
    result = evaluate(
        tmp_path / "data.jsonl", "squad_em", calibration=tmp_path / "content_f1.calibration.json"
    )
    assert [*result][:2] == ["squad_em", "content_f1"]
    assert result["calibrated"].ok.all()
    assert {detail["verdict"] for detail in result["calibrated"].details} == {"flagged", "passed"}
    with pytest.raises(UsageError, match="cannot be read"):
        evaluate(tmp_path / "data.jsonl", "squad_em", calibration=tmp_path / "none.json")


def test_a_run_resumes_without_the_file(sgi, nightly, tmp_path, monkeypatch):
    """The run that was stopped keeps the calibration, and another one is another question."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "flaky_rag.py").write_text(FAILING)
    questions = [{key: row[key] for key in ("id", "question", "reference")} for row in reference_rows(300)]
    write_jsonl(tmp_path / "questions.jsonl", questions)
    calibration = tmp_path / "content_f1.calibration.json"
    asked = ("-m", "content_f1", "--calibration", str(calibration), "--name", "stopped", "-q")
    stopped = sgi("run", "questions.jsonl", "--target", "flaky_rag:answer", *asked)
    assert stopped.code == 2
    assert "--resume" in stopped.err
    (tmp_path / "other.json").write_text(changed(calibration, label="another"))
    calibration.unlink()
    monkeypatch.delitem(__import__("sys").modules, "flaky_rag", raising=False)
    (tmp_path / "flaky_rag.py").write_text(FAILING.replace("256", "1000"))
    refused = sgi("run", "--resume", "stopped", "--trust-target", "--calibration", "other.json", "-q")
    assert refused.code == 2
    assert "its settings changed" in refused.err
    result = sgi("run", "--resume", "stopped", "--trust-target", "--retry-failed", "--json", "-q")
    assert result.code == 0, result.err
    assert [entry["ok"] for entry in result.json["metrics"]] == [300, 300]
    assert COLUMN.fullmatch(result.json["metrics"][1]["metric"])
    finished = sgi("run", "--resume", "stopped", "--json", "-q")
    assert finished.json["metrics"] == result.json["metrics"]


@pytest.mark.parametrize("further", [(), ("--no-store",)])
def test_the_rows_it_was_fitted_on_prove_nothing_of_it(sgi, nightly, tmp_path, further):
    write_jsonl(tmp_path / "others.jsonl", reference_rows(20))
    asked = ("--calibration", "content_f1.calibration.json", *further)
    digest = sgi("judge", "calibrate", "nightly", "-m", "content_f1", *TARGET, "--json").json["digest"]
    warning = f"The calibration {digest} was fitted on these same rows, "
    same = sgi("run", "data.jsonl", *asked)
    assert (same.code, same.err.count(warning)) == (0, 1)
    assert "these very rows" not in same.out
    assert "these very rows" not in sgi("run", "data.jsonl", *asked, "-q").err
    others = sgi("run", "others.jsonl", *asked)
    assert others.code == 0
    assert "these very rows" not in others.err
    assert "these very rows" not in sgi("run", "data.jsonl", "-m", "content_f1", *further).err


def test_a_finished_run_says_so_again_without_its_data(sgi, nightly, tmp_path):
    sgi("run", "data.jsonl", "--calibration", "content_f1.calibration.json", "--name", "same", "-q")
    (tmp_path / "data.jsonl").unlink()
    result = sgi("run", "--resume", "same")
    assert result.code == 0, result.err
    assert "fitted on these same rows" in result.err


def test_a_calibration_for_another_encoder_is_refused(sgi, nightly, tmp_path):
    own = tmp_path / "content_f1.calibration.json"
    foreign = changed(own, metric="sgi", version=4, encoders=["bge@1,cls,512tok,fp32"])
    (tmp_path / "sgi.json").write_text(foreign)
    rows = [row | {"contexts": ["some passage"]} for row in reference_rows(4)]
    write_jsonl(tmp_path / "few.jsonl", rows)
    result = sgi("run", "few.jsonl", "-m", "sgi", "--calibration", "sgi.json", "--name", "refused")
    assert result.code == 2
    assert "another encoder: bge@1,cls,512tok,fp32; this run has minilm@" in result.err
    assert "refused" not in sgi("runs").out
    with pytest.raises(UsageError, match="another encoder"):
        evaluate(rows, "sgi", calibration=tmp_path / "sgi.json")


def test_a_note_names_the_calibration_that_is_replaced(sgi, nightly, tmp_path):
    path = tmp_path / "content_f1.calibration.json"
    first = json.loads(path.read_text())
    same = sgi("judge", "calibrate", "nightly", "-m", "content_f1", *TARGET)
    assert "replaced" not in nightly.err + same.err
    other = sgi("judge", "calibrate", "nightly", "-m", "content_f1", "--error-rate", "fpr=0.2")
    replaced = f"{first['digest']} of content_f1 for fpr=0.1, fitted on run {first['run']}, label 'label'"
    assert f"It replaced another calibration in {path.name}: {replaced}." in other.err
    path.write_text("my notes")
    assert f"{path.name} was replaced; it was not a calibration." in (
        sgi("judge", "calibrate", "nightly", "-m", "content_f1", *TARGET).err
    )
    assert json.loads(path.read_text()) == first


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
