from __future__ import annotations

import shutil
from xml.etree import ElementTree as ET

import pytest

from support import command
from support.answers import FLAKY, SPITEFUL, rows, unheard, write


@pytest.fixture(scope="module")
def three_runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("three_runs")
    for name, spoilt in (("main", 0), ("same", 0), ("worse", 30)):
        write(folder / f"{name}.jsonl", rows(100, spoilt=spoilt))
        command.sgi(folder, "run", f"{name}.jsonl", "-m", "squad_em,rouge_l", "--name", name, "-q")
    return folder


@pytest.fixture
def kept(three_runs, tmp_path):
    shutil.copytree(three_runs, tmp_path, dirs_exist_ok=True)


def test_what_is_met_exits_0(sgi, kept):
    made = sgi("gate", "main", "squad_em>=0.9", "rouge_l > 0.9")
    assert made.code == 0
    assert "main: all rules met" in made.out
    assert "squad_em >= 0.9" in made.out
    assert "100.0%" in made.out


def test_a_planted_regression_exits_4_and_says_why(sgi, kept):
    made = sgi("gate", "worse", "squad_em>=0.9", "rouge_l>=0.1")
    assert made.code == 4
    assert "NOT MET: the 95 % interval reaches down to" in made.out
    assert "worse: 1 of 2 rules not met" in made.out


def test_a_drop_against_the_run_before(sgi, kept):
    assert sgi("gate", "same", "--against", "main", "--max-drop", "0.05").code == 0
    made = sgi("gate", "worse", "--against", "main", "--max-drop", "0.02", "--json")
    assert made.code == 4
    assert [check["rule"] for check in made.json["checks"]] == [
        "squad_em drop <= 0.02",
        "rouge_l drop <= 0.02",
    ]
    assert made.json["checks"][0]["value"] == pytest.approx(-0.3)
    assert not made.json["passed"]


def test_rules_of_a_file(sgi, kept, tmp_path):
    (tmp_path / "rules.toml").write_text('[[rule]]\nmetric = "squad_em"\nat_least = 0.5\nmax_drop = 0.1\n')
    assert sgi("gate", "same", "rules.toml", "--against", "main").code == 0
    made = sgi("gate", "worse", "rules.toml", "--against", "main", "--json")
    assert (made.code, [check["passed"] for check in made.json["checks"]]) == (4, [True, False])


def test_junit_is_written_whether_met_or_not(sgi, kept):
    for name, code, failures in (("main", 0, 0), ("worse", 4, 1)):
        assert sgi("gate", name, "squad_em>=0.9", "--junit", "gate.xml").code == code
        root = ET.parse("gate.xml").getroot()  # noqa: S314 - we wrote it
        assert (root.get("tests"), root.get("failures")) == ("1", str(failures))
        assert len(root.findall(".//failure")) == failures
        assert root.find(".//testcase").get("name") == "squad_em >= 0.9"


def test_junit_that_cannot_be_written_is_an_error(sgi, kept):
    made = sgi("gate", "main", "squad_em>=0.9", "--junit", "no/gate.xml")
    assert (made.code, made.out, "no/gate.xml" in made.err) == (2, "", True)


@pytest.mark.parametrize(("coverage", "code"), [("95%", 4), ("80%", 0), ("0.85", 0)])
def test_rows_without_a_value_count(sgi, tmp_path, coverage, code):
    (tmp_path / "flaky_for_gate.py").write_text(FLAKY)
    data = [row | {"reference": "answer"} for row in rows(300)]
    write(tmp_path / "many.jsonl", data)
    sgi("run", "many.jsonl", "-m", "squad_em", "--target", "flaky_for_gate:answer", "-q")
    made = sgi("gate", "last", "squad_em>=0.9", "--coverage", coverage, "--allow-unfinished")
    assert made.code == code
    assert "85.3%" in made.out
    made = sgi("gate", "last", "squad_em>=0.9", "--coverage", coverage)
    assert (made.code, "85.3%" in made.out) == (4, True)
    assert "NOT MET: 256 of 300 rows are scored; resume it with sgi run --resume" in made.out


def test_a_reader_that_leaves_does_not_change_the_verdict(sgi, kept, tmp_path):
    assert unheard(tmp_path, "gate", "worse", "squad_em>=0.9") == (4, b"")


def test_an_unknown_metric_is_not_met(sgi, kept):
    made = sgi("gate", "main", "faithfulness>=0.8", "--json")
    assert (made.code, made.json["checks"][0]["value"]) == (4, None)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["main"], "no rule"),
        (["main", "squad_em"], "is no rule"),
        (["main", "squad_em>=much"], "no number"),
        (["main", "no.toml"], "no.toml"),
        (["main", "squad_em>=0.5", "--coverage", "lots"], "lots"),
        (["main", "squad_em>=0.5", "--coverage", "150%"], "150%"),
        (["main", "--max-drop", "0.1"], "--against"),
        (["main", "squad_em>=0.5", "--against", "same"], "Give both"),
        (["main", "--against", "same", "--max-drop", "nan"], "finite"),
        (["nobody", "squad_em>=0.5"], "nobody"),
        (["main", "squad_em>=0.5", "--db", "no.db"], "no.db"),
    ],
)
def test_what_makes_no_sense_exits_2_and_writes_no_report(sgi, kept, tmp_path, words, said):
    made = sgi("gate", *words, "--junit", "gate.xml")
    assert (made.code, made.out) == (2, "")
    assert said in made.err
    assert not (tmp_path / "gate.xml").exists()


def test_a_hostile_rule_and_name_stay_text(sgi, tmp_path):
    write(tmp_path / "a.jsonl", rows(6))
    sgi("run", "a.jsonl", "-m", "squad_em", "--name", SPITEFUL, "-q")
    made = sgi("gate", SPITEFUL, f"{SPITEFUL}>0.5", "--junit", "gate.xml")
    assert made.code == 4
    assert not set(made.out + made.err) & set("\x1b\x9b\u202e")
    assert ET.parse("gate.xml").getroot().find(".//failure") is not None  # noqa: S314 - we wrote it


def test_rows_that_could_not_be_read_count(sgi, tmp_path):
    write(tmp_path / "some.jsonl", [*rows(90), *({"id": f"bad {k}", "response": k} for k in range(10))])
    assert sgi("run", "some.jsonl", "-m", "squad_em", "--on-error", "skip", "-q").code == 3
    made = sgi("gate", "last", "squad_em>=0.9")
    assert made.code == 4
    assert "NOT MET: only 90.0% of 100 rows (10 could not be read) have a value" in made.out
    assert sgi("gate", "last", "squad_em>=0.9", "--coverage", "90%").code == 0


def test_a_metric_that_the_run_before_alone_has_is_not_met(sgi, kept):
    sgi("run", "main.jsonl", "-m", "squad_em", "--name", "less", "-q")
    made = sgi("gate", "less", "--against", "main", "--max-drop", "0.05", "--json")
    assert made.code == 4
    assert [(check["metric"], check["passed"]) for check in made.json["checks"]] == [
        ("squad_em", True),
        ("rouge_l", False),
    ]
