"""The main job on the labelled data, through the command a person types."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import sgi


def run(*words, cwd):
    command = [sys.executable, "-m", "sgi", "run", *map(str, words)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_halueval_shows_sgi_beside_the_length_that_beats_it(data_folder, tmp_path):
    metrics = "sgi,semantic_similarity,lexical_aggregate"
    result = run(data_folder / "halueval_qa.jsonl", "-m", metrics, "-o", "out.jsonl", "--json", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    summary = json.loads(result.stdout)
    assert summary["rows"] == 5994
    assert summary["questions"] < 3000
    first = summary["metrics"][0]
    assert first["coverage"] > 0.99
    assert first["ranking"]["auroc"] == pytest.approx(0.80, abs=0.01)
    length, overlap = summary["baselines"]
    assert (length["name"], length["direction"]) == ("length", "shorter")
    assert length["ranking"]["auroc"] == pytest.approx(0.97, abs=0.01)
    assert overlap["ranking"]["auroc"] > first["ranking"]["auroc"]
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()]
    assert len(rows) == len({row["id"] for row in rows}) == 5994
    values = [row["scores"]["sgi"]["value"] for row in rows if row["scores"]["sgi"]["value"] is not None]
    share = np.mean([value / (1 + value) for value in values])  # the mean of a ratio is taken on this scale
    assert share / (1 - share) == pytest.approx(first["mean"])


@pytest.mark.slow
def test_ragtruth_keeps_a_value_for_each_of_several_passages(data_folder, tmp_path):
    result = run(
        data_folder / "ragtruth_qa_test.jsonl", "-m", "sgi", "-o", "out.jsonl", "--json", cwd=tmp_path
    )
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["rows"] == 306
    details = [
        json.loads(line)["scores"]["sgi"]["details"]
        for line in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()
    ]
    assert sum(len(detail["passages"]) > 1 for detail in details) > 250
    for detail in details:
        assert detail["passages"][detail["passage"]] == max(v for v in detail["passages"] if v is not None)
    assert sum(len(detail["sentences"]) > 1 for detail in details) > 200


@pytest.mark.slow
def test_similarity_agrees_with_people_on_sts_b(data_folder):
    result = sgi.evaluate(data_folder / "stsb.jsonl", ["semantic_similarity"])
    human = pd.Series([sample.metadata["score"] for sample in result.samples]).rank()
    ours = pd.Series(result["semantic_similarity"].values).rank()
    assert np.corrcoef(human, ours)[0, 1] >= 0.80


@pytest.mark.parametrize(
    ("name", "metric", "rows", "labelled"),
    [
        pytest.param("begin", "theta_rq", 1497, 1476, marks=pytest.mark.slow),
        ("evouna", "content_f1", 4000, 4000),
        ("halueval_dialogue", "content_f1", 2000, 2000),
        pytest.param("halueval_qa_lenmatched", "theta_rq", 324, 324, marks=pytest.mark.slow),
        ("ragas_samples", "theta_rq", 40, 40),
        ("truthfulqa", "content_f1", 1922, 1922),
    ],
)
def test_every_labelled_set_is_read_without_a_mapping(data_folder, name, metric, rows, labelled):
    summary = sgi.evaluate(data_folder / f"{name}.jsonl", [metric]).summary()
    assert (summary.rows, summary.labelled) == (rows, labelled)


def test_questions_without_answers_are_refused_with_the_fields_there_are(data_folder, tmp_path):
    result = run(data_folder / "graphrag_bench.jsonl", cwd=tmp_path)
    assert result.returncode == 2
    assert "question (1264), reference (1264)" in result.stderr
