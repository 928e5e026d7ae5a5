"""Rows of a data file as tests: in pytest runs of their own, also in several processes."""

import json
import re
import subprocess
import sys

import pytest

ROWS = [
    {
        "id": "good",
        "question": "When did the bridge open?",
        "contexts": ["The bridge opened in 1932."],
        "response": "It opened in 1932.",
        "reference": "1932",
    },
    {
        "id": "bad",
        "question": "Where is the river?",
        "contexts": ["The river Seine flows through Paris."],
        "response": "The river Seine flows through Berlin.",
        "reference": "Paris",
    },
    {"id": "no passages", "question": "Who?", "response": "Ada Lovelace."},
]

MODULE = """
import os
from pathlib import Path

import pytest


@pytest.mark.sgi_rows("data/rows.jsonl")
def test_grounding(sgi_row, sgi_score_row):
    assert sgi_score_row(sgi_row)["grounding"] >= 0.5


@pytest.mark.sgi_rows("data/rows.jsonl")
def test_a_comparison_that_is_negated(sgi_row, sgi_score_row):
    assert not sgi_score_row(sgi_row)["grounding"] > 1


@pytest.mark.sgi_rows("data/rows.jsonl")
def test_an_answer_of_the_system(sgi_row, sgi_score_row):
    scores = sgi_score_row(sgi_row, response="Paris in 1932", contexts=["In 1932 it was in Paris."])
    assert 0.0 <= scores["rouge_l"] if sgi_row.reference else scores["grounding"] >= 0


@pytest.mark.sgi_rows("data/rows.jsonl")
def test_each_process_has_one_scorer(sgi_row, sgi_scorer):
    with (Path(__file__).parent / "scorers.txt").open("a") as file:
        file.write(f"{os.getpid()} {id(sgi_scorer)} {sgi_row.id}\\n")
"""

SINGLE = """
import pytest


def test_a_truth_value(sgi_score_row):
    assert sgi_score_row({"response": "a", "reference": "a"})["squad_em"]


def test_an_unknown_metric(sgi_score_row):
    assert sgi_score_row({"response": "a", "reference": "a"})["bleu"] > 0


def test_equal(sgi_score_row):
    score = sgi_score_row({"response": "a", "reference": "a"})["squad_em"]
    assert score == 1
    assert score == pytest.approx(1.0)
    assert score != 0
    assert float(score) == 1.0


def test_equal_without_a_value(sgi_score_row):
    assert sgi_score_row({"response": "a"})["squad_em"] != 0


@pytest.fixture(scope="session")
def sgi_scorer():
    import sgi

    with sgi.Scorer(["squad_em"]) as scorer:
        yield scorer
"""


def write_rows(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), "utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nsgi_metrics =\n    grounding\n    rouge_l\n")
    return tmp_path


@pytest.mark.slow
def test_metrics_of_a_file_are_defined_in_the_configuration(tmp_path):
    (tmp_path / "metrics.toml").write_text("[strict]\nmetric = 'minimum'\nof = ['rouge_l', 'squad_em']\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\nsgi_define = metrics.toml\nsgi_metrics = strict\n")
    row = {"response": "Ida", "reference": "Ida"}
    module = f"def test_it(sgi_score_row):\n    assert sgi_score_row({row})['strict'] == 1.0\n"
    assert "1 passed" in run_pytest(tmp_path, module)


@pytest.fixture
def folder(tmp_path):
    return write_rows(tmp_path)


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """Return the output of the tests in one process."""
    return run_pytest(write_rows(tmp_path_factory.mktemp("alone")), MODULE)


def run_pytest(folder, module, *words):
    (folder / "test_theirs.py").write_text(module, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--color=no", "-rA", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def outcomes(text):
    return {
        name: verdict
        for verdict, name in re.findall(
            r"^(PASSED|FAILED) test_theirs\.py::(\w+\[.+?\]|\w+)", text, re.MULTILINE
        )
    }


def test_each_row_is_a_test_and_a_failure_shows_the_evidence_map(alone):
    found = outcomes(alone)
    assert {name: found[name] for name in found if name.startswith("test_grounding")} == {
        "test_grounding[good]": "PASSED",
        "test_grounding[bad]": "FAILED",
        "test_grounding[no passages]": "FAILED",
    }
    assert re.search(r"grounding of row bad is (0\.\d{4}), so \1 >= 0\.5 is false", alone)
    assert "response: The river Seine flows through Berlin." in alone
    assert "passage 1" in alone  # of the evidence map
    assert "[Berlin]" in alone


def test_a_row_without_a_value_fails_with_its_status_and_reason(alone):
    assert outcomes(alone)["test_a_comparison_that_is_negated[no passages]"] == "FAILED"
    message = "grounding of row no passages has no value: missing: the sample has no contexts"
    assert alone.count(message) >= 2
    assert "TypeError" not in alone


def test_fields_of_a_row_can_be_replaced(alone):
    verdicts = [verdict for name, verdict in outcomes(alone).items() if "answer_of_the_system" in name]
    assert verdicts == ["PASSED"] * 3


@pytest.mark.slow
def test_processes_have_the_same_rows_and_a_scorer_each(folder, alone):
    together = run_pytest(folder, MODULE, "-n", "2", "--dist=load")
    assert outcomes(together) == outcomes(alone)
    lines = [line.split(" ", 2) for line in (folder / "scorers.txt").read_text().splitlines()]
    assert sorted(name for *_, name in lines) == ["bad", "good", "no passages"]
    scorers = {(process, scorer) for process, scorer, _ in lines}
    assert len(scorers) == len({process for process, _ in scorers})


def test_scores_without_meaning_are_errors(folder):
    text = run_pytest(folder, SINGLE)
    assert outcomes(text) == {
        "test_a_truth_value": "FAILED",
        "test_an_unknown_metric": "FAILED",
        "test_equal": "PASSED",
        "test_equal_without_a_value": "FAILED",
    }
    assert "squad_em is a score, not a yes or no" in text
    assert "'bleu'" in text
    assert "squad_em of row 1 has no value: missing: the sample has no reference" in text


@pytest.mark.parametrize(
    ("row", "reason"), [('{"question": 3', "rows.jsonl:4"), ('{"id": "good", "question": "?"}', "same id")]
)
@pytest.mark.slow
def test_a_row_that_cannot_be_read_stops_the_collection(folder, row, reason):
    with (folder / "data" / "rows.jsonl").open("a") as file:
        file.write(row)
    text = run_pytest(folder, MODULE)
    assert "sgi_rows: " in text
    assert reason in text
    assert " passed" not in text


@pytest.mark.slow
def test_a_missing_file_stops_the_collection(folder):
    text = run_pytest(folder, MODULE.replace("rows.jsonl", "nowhere.jsonl"))
    assert "nowhere.jsonl" in text
    assert " passed" not in text
