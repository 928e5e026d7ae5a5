from __future__ import annotations

import re
import shlex

import pytest

from support.answers_to_check import rows_to_check
from support.kept_runs import write_rows


@pytest.fixture
def data(tmp_path):
    return write_rows(tmp_path / "answers.jsonl", rows_to_check(3))


def test_the_first_answers_to_check_come_before_the_numbers(sgi, data, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    lines = sgi("run", str(data), "-m", "grounding", "--name", "mine").out.splitlines()
    assert lines[0].startswith("9 of 12 answers to check")
    heads = [line.split()[0] for line in lines[1:11:2]]
    assert [head.partition("-")[0] for head in heads] == ["contradicted"] * 3 + ["absent"] * 2
    assert all(line.endswith("label 0") for line in lines[1:11:2])
    assert all(len(line) <= 60 for line in lines[2:11:2])
    assert "312 m" in lines[2]
    assert "330 m" in lines[2]
    (command,) = (line for line in lines if "--worst 9" in line)
    shown = sgi(*command.partition("sgi ")[2].split()).out
    assert shown.count("label 0") == 9
    assert sgi("show", "mine").out.splitlines()[:11] == lines[:11]


def test_json_has_the_same_facts(sgi, data):
    run = sgi("run", str(data), "-m", "grounding", "--json").json
    show = sgi("show", "last", "--json").json
    for facts in (run, show):
        assert facts["headline"].startswith("9 of 12 answers to check")
        assert len(facts["to_check"]) == 5
        assert "330 m" in facts["to_check"][0]["why"]
        assert facts["to_check"][0]["label"] is False
        assert facts["evidence"]


def test_a_run_that_is_not_stored_has_the_sentence_without_the_rows(sgi, data):
    out = sgi("run", str(data), "-m", "grounding", "--no-store").out
    assert out.startswith("9 of 12 answers to check")
    assert "--worst" not in out


def test_a_run_of_several_systems_names_the_system_of_each_row(sgi, tmp_path):
    rows = [row | {"method": method} for method in ("local", "global") for row in rows_to_check(1)]
    data = write_rows(tmp_path / "methods.jsonl", [row | {"id": f"{n}"} for n, row in enumerate(rows)])
    assert "\n  3  local  grounding" in sgi("run", str(data), "-m", "grounding", "--name", "two").out
    worst = sgi("show", "two", "--worst", "6").out
    assert worst.count("  local  grounding") == worst.count("  global  grounding") == 3
    assert {row["system"] for row in sgi("show", "two", "--json").json["to_check"]} == {"local", "global"}
    page = sgi("report", "two", "--format", "md").out
    assert "- `7`: " in page
    assert ", label 0, global\n" in page
    long = [row | {"method": row["method"] + "-" * 500} for row in rows]
    path = write_rows(tmp_path / "long.jsonl", [row | {"id": f"{n}"} for n, row in enumerate(long)])
    sgi("run", str(path), "-m", "grounding", "-q")
    assert f", label 0, local{'-' * 54}…\n" in sgi("report", "last", "--format", "md").out
    assert "-" * 61 not in sgi("diagnose", "last", "--cause", "not diagnosed").out
    one = write_rows(tmp_path / "one.jsonl", [row | {"method": "local"} for row in rows_to_check(1)])
    assert "local" not in sgi("run", str(one), "-m", "grounding").out


@pytest.mark.parametrize(
    ("systems", "column"),
    [
        (({"method": "a"}, {"method": "b"}), "method"),
        (({"system": "Be brief.", "method": "a"}, {"system": "Be exact.", "method": "b"}), "system"),
        (({"method": "a"}, {"method": ""}), ""),
        (({"method": "a"}, {"method": " a"}), ""),
        (tuple({"method": f"{number}"} for number in range(27)), ""),
    ],
)
def test_the_printed_command_compares_the_systems(sgi, tmp_path, systems, column):
    """It is not printed if it would end in an error."""
    (row,) = [row for row in rows_to_check(1) if row["id"] == "low"]
    data = write_rows(
        tmp_path / "systems.jsonl",
        [row | system | {"id": f"{number}"} for number, system in enumerate(systems)],
    )
    err = sgi("run", str(data), "-m", "grounding", "--db", "my runs.db").err
    commands = re.findall(r"Compare them: sgi (.*)", err)
    assert [f" --by {column} " in command for command in commands] == [True] * bool(column)
    for command in commands:
        assert sgi(*shlex.split(command)).out.startswith("2 systems, 1 question\n")


def test_systems_of_different_questions_are_not_compared(sgi, tmp_path):
    """The next column is tried, such as `method` beside `system` with a prompt for each question."""
    rows = [
        row | {"id": f"{method}-{row['id']}", "system": row["question"], "method": method}
        for row in rows_to_check(2)
        for method in ("a", "b")
    ]
    both = write_rows(tmp_path / "both.jsonl", rows)
    assert " --by method\n" in sgi("run", str(both), "-m", "grounding").err
    one = write_rows(tmp_path / "one.jsonl", [row for row in rows if row["method"] == "a"])
    assert "Compare them" not in sgi("run", str(one), "-m", "grounding").err


def test_a_report_lists_no_more_rows_than_are_to_check(sgi, data):
    sgi("run", str(data), "-m", "grounding", "--name", "mine", "-q")
    page = sgi("report", "mine", "--format", "md").out
    listed = page[page.index("## Rows to check by grounding, flagged rows first") :]
    assert listed.count("\n- `") == 9
    assert "`right-" not in listed
