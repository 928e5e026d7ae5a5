from __future__ import annotations

import os
import shutil
from xml.etree import ElementTree as ET

import pytest

from support import command
from support.answers import FAILING_TARGET, rows, run_with_closed_stdout, write_jsonl


@pytest.fixture(scope="module")
def three_runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("three_runs")
    for name, spoilt in (("main", 0), ("same", 0), ("worse", 30)):
        write_jsonl(folder / f"{name}.jsonl", rows(100, spoilt=spoilt))
        command.sgi(folder, "run", f"{name}.jsonl", "-m", "squad_em,rouge_l", "--name", name, "-q")
    return folder


@pytest.fixture
def kept(three_runs, tmp_path):
    shutil.copytree(three_runs, tmp_path, dirs_exist_ok=True)


def test_junit_is_written_whether_met_or_not(sgi, kept):
    for name, code, failures in (("main", 0, 0), ("worse", 4, 1)):
        assert sgi("gate", name, "squad_em>=0.9", "--junit", "gate.xml").code == code
        root = ET.parse("gate.xml").getroot()
        assert (root.get("tests"), root.get("failures")) == ("1", str(failures))
        assert len(root.findall(".//failure")) == failures
        assert root.find(".//testcase").get("name") == "squad_em >= 0.9"


def test_files_are_replaced_so_that_none_is_half_written(sgi, kept, tmp_path):
    for name in ("gate.xml", "quality.json"):
        (tmp_path / name).write_text("old")
    with (tmp_path / "gate.xml").open() as junit, (tmp_path / "quality.json").open() as quality:
        result = sgi("gate", "main", "squad_em>=0.9", "--junit", "gate.xml", "--code-quality", "quality.json")
        assert (result.code, junit.read(), quality.read()) == (0, "old", "old")
    assert (tmp_path / "gate.xml").read_bytes().startswith(b"<")


def test_rows_without_a_value_count(sgi, tmp_path):
    (tmp_path / "flaky_for_gate.py").write_text(FAILING_TARGET)
    data = [row | {"reference": "answer"} for row in rows(300)]
    write_jsonl(tmp_path / "many.jsonl", data)
    sgi("run", "many.jsonl", "-m", "squad_em", "--target", "flaky_for_gate:answer", "-q")
    for coverage, code in (("95%", 4), ("80%", 0), ("0.85", 0)):
        gate = ("gate", "last", "squad_em>=0.9", "--coverage", coverage)
        result = sgi(*gate, "--allow-unfinished")
        assert (coverage, result.code, "85.3%" in result.out) == (coverage, code, True)
        result = sgi(*gate)
        assert (coverage, result.code, "85.3%" in result.out) == (coverage, 4, True)
        assert "FAILED: 256 of 300 rows are scored; resume it with sgi run --resume" in result.out


def test_a_reader_that_leaves_does_not_change_the_verdict(sgi, kept, tmp_path):
    assert run_with_closed_stdout(tmp_path, "gate", "worse", "squad_em>=0.9") == (4, b"")


def nameless(questions, *, wrong=()):
    return [
        {
            "question": f"Question {k}?",
            "response": "no idea" if k in wrong else f"answer {k}",
            "reference": f"answer {k}",
        }
        for k in questions
    ]


def test_rows_without_ids_keep_their_partners_after_an_inserted_line(sgi, tmp_path):
    wrong = range(20, 35)
    write_jsonl(tmp_path / "before.jsonl", nameless(range(60)))
    write_jsonl(tmp_path / "after.jsonl", nameless([0, 99, *range(1, 60)], wrong=wrong))
    for name in ("before", "after"):
        sgi("run", f"{name}.jsonl", "-m", "squad_em", "--name", name, "-q")
    result = sgi("gate", "after", "--against", "before", "--max-drop", "0.2", "--json")
    assert result.code == 4
    (check,) = result.json["checks"]
    assert (check["value"], check["coverage"]) == (-0.25, pytest.approx(60 / 61))
    assert [row["id"] for row in check["worst"]] == ["22", "23", "24", "25", "26"]  # numbers in the new file
    assert check["worst"][0] == {"id": "22", "value": 0.0, "before": 1.0, "response": "no idea"}
    assert "The rows of before and after have no ids: rows were paired by their questions" in result.err
    compared = sgi("compare", "before", "after", "--json").json
    assert (compared["paired_by"], compared["pairs"], compared["only_new"]) == ("content", 60, 1)
    assert [(row["id"], row["new_id"]) for row in compared["metrics"][0]["changed"]][:1] == [("21", "22")]


def looks(sgi, run, *words):
    result = sgi("gate", run, "squad_em>=0.5", "--json", *words)
    return result.code, result.json["checks"][0]["look"], result.err


def test_each_run_over_the_same_questions_is_one_more_look(sgi, kept):
    assert looks(sgi, "main") == (0, 1, "")
    code, look, err = looks(sgi, "worse")
    assert (code, look) == (0, 2)
    assert "This is gate 2 on these questions. Each gate at 95 % is one more chance" in err
    assert looks(sgi, "main")[1] == 1
    assert looks(sgi, "same", "--looks", "3")[:2] == (0, 3)
    assert (
        "gate 3 of 3 planned on these questions; intervals at 98.3333 %"
        in looks(sgi, "same", "--looks", "3")[2]
    )
    late = sgi("gate", "same", "squad_em>=0.5", "--looks", "2")
    assert (late.code, "FAILED: this is gate 3 on these questions, but 2 were planned" in late.out) == (
        4,
        True,
    )
    other = sgi("gate", "same", "squad_em<=1", "--json").json["checks"][0]
    assert other["look"] == 1


def test_a_file_that_may_only_be_read_still_gives_a_decision(sgi, kept, monkeypatch):
    real = os.access

    def refusing(path, mode, **options):
        return real(path, mode, **options) and not (str(path).endswith("sgi.db") and mode & os.W_OK)

    with monkeypatch.context() as patch:
        patch.setattr("sgi.store.sqlite_file.os.access", refusing)
        code, look, err = looks(sgi, "main")
    assert (code, look) == (0, 1)
    assert "This gate is not counted:" in err
    assert "readonly" in err
    assert looks(sgi, "worse")[1] == 1
