"""The script that measures an entailment model on labelled sets, with a small model on a few rows."""

from __future__ import annotations

import json

import numpy as np
import pytest

from support.entailment_models import counting_model
from support.scripts import load_script

PASSAGE = "the tower in paris is tall and old"
WORDS = ("tall", "old", "rome", "paris")


@pytest.fixture(scope="module")
def script():
    with load_script("measure_entailment") as module:
        yield module


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    rows = [
        {
            "id": str(number),
            "question": f"what about {number}",
            "contexts": [f"{PASSAGE} {number}", "it rains"],
            "response": f"The tower is {WORDS[number % 4]} and {'not ' * (number % 3)}old {'it ' * number}.",
            "label": number % 2 == 0,
        }
        for number in range(24)
    ]
    rows.append({"id": "x", "contexts": [PASSAGE], "response": "The tower.", "question": "what"})
    (folder / "begin.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture
def measured(script, data, tmp_path):
    model = counting_model(tmp_path / "model", limit=64)

    def measure(*words):
        options = [str(data), "--nli", str(model), "--out", str(tmp_path / "out"), *words]
        return script.measure(script.arguments(options))

    return measure


def cells(page):
    (line,) = (line for line in page.splitlines() if line.startswith("| BEGIN"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_table_has_both_areas_and_the_time(script, measured, tmp_path):
    found = dict(zip(script.HEADERS, cells(measured()), strict=True))
    lines = (tmp_path / "out" / "begin.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines[1:]]
    assert found["rows"] == "24"
    assert len(rows) == 24
    assert all(row["pairs"] == 2 for row in rows)
    assert all(row["seconds"] >= 0 for row in rows)
    labels = np.array([row["label"] for row in rows])
    for column, key in (("AUROC without", "without"), ("with the model", "with_model")):
        assert found[column] == f"{script.auroc([row[key] for row in rows], labels):.3f}"
    assert found["with the model"] != found["AUROC without"]
    assert float(found["difference"].split()[0]) == pytest.approx(
        float(found["with the model"]) - float(found["AUROC without"]), abs=0.0011
    )
    assert found["pairs a row"] == "2.0"


def test_it_resumes_after_a_row_that_was_cut(script, measured, tmp_path, monkeypatch):
    page = measured()
    file = tmp_path / "out" / "begin.jsonl"
    whole = file.read_text()
    file.write_text(whole[: len(whole) // 2])
    kept = len(whole[: len(whole) // 2].splitlines()) - 2
    scored = []
    original = script.Measurement._score

    def counted(own, rows, start):
        scored.append(len(rows))
        return original(own, rows, start)

    monkeypatch.setattr(script.Measurement, "_score", counted)
    again = measured()
    assert sum(scored) == 24 - kept
    assert cells(again)[:7] == cells(page)[:7]
    measured()
    assert sum(scored) == 24 - kept


def test_rows_of_another_model_are_refused(script, measured, tmp_path):
    measured()
    with pytest.raises(SystemExit, match="another model, data or version"):
        measured("--band", "0.2:0.8")
    (tmp_path / "out" / "begin.jsonl").write_text("")
    with pytest.raises(SystemExit, match="another model, data or version"):
        measured()


def test_sets_are_chosen_by_name_or_file(script, data, measured):
    assert script.chosen_sets(data, "") == {"BEGIN": data / "begin.jsonl"}
    assert script.chosen_sets(data, "begin.jsonl") == {"begin.jsonl": data / "begin.jsonl"}
    with pytest.raises(SystemExit, match="There is no"):
        script.chosen_sets(data, "BEGIN|SummEdits")
    with pytest.raises(SystemExit, match="has no file of a set"):
        script.chosen_sets(data.parent, "")


def test_lengths_are_cut_into_fifths(script):
    strata = script.length_strata(np.arange(10.0))
    assert np.bincount(strata).tolist() == [2, 2, 2, 2, 2]
    assert script.length_strata(np.zeros(0)).tolist() == []
