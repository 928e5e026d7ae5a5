from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sgi.analysis.gate.checks import Check
from sgi.analysis.gate.gate import GateReport
from sgi.reporting.gate_summary import code_quality, file_in_repository, github_commands
from sgi.reporting.views.failing_rows import FailingRow
from support.github_runner import obeyed

PASSED = Check("sgi", "sgi >= 1", ">=", 1.2, 1.1, 1.0, passed=True, reason="")


def failed(reason):
    return Check("sgi", "sgi >= 1", ">=", 0.2, 0.1, 1.0, passed=False, reason=reason)


def test_a_gate_that_passed_has_no_commands():
    row = FailingRow("sgi >= 1", "q1", 3, "0.2000", "no")
    assert list(github_commands(GateReport("last", (PASSED,)), [row], "rows.jsonl")) == []


@given(st.text(), st.text(), st.text(), st.text())
def test_any_text_survives_in_one_command(reason, name, response, file):
    row = FailingRow("sgi >= 1", name, 3, "0.2000", response)
    lines = list(github_commands(GateReport("last", (failed(reason),)), [row], f"{file}x"))
    verdict, command = obeyed("\n".join(lines))
    assert {verdict.name, command.name} == {"error"}
    assert command.properties.keys() == {"file", "line", "title"}
    assert (command.properties["line"], command.properties["title"]) == ("3", "sgi >= 1: 0.2000")
    if name.isalnum():
        assert command.message.startswith(f"row {name}")


def test_a_row_without_a_file_or_line():
    row = FailingRow("sgi >= 1", "q1", None, "0.2000", "")
    report = GateReport("last", (failed("low"),))
    assert (
        list(github_commands(report, [row], "a.csv"))[1]
        == "::error file=a.csv,title=sgi >= 1%3A 0.2000::row q1"
    )
    assert list(github_commands(report, [row], None))[1] == "::error title=sgi >= 1%3A 0.2000::row q1"
    assert code_quality([row], "a.csv")[0]["location"] == {"path": "a.csv", "lines": {"begin": 1}}


def test_the_fingerprint_of_an_issue_depends_on_rule_and_row_only():
    one = FailingRow("sgi >= 1", "q1", 3, "0.2000", "no")
    moved = FailingRow("sgi >= 1", "q1", 9, "0.1000", "never")
    other = FailingRow("sgi >= 1", "q2", 3, "0.2000", "no")
    prints = [issue["fingerprint"] for issue in code_quality([one, moved, other], "a.csv")]
    assert prints[0] == prints[1] != prints[2]


def test_paths_are_relative_to_the_checkout(tmp_path, monkeypatch):
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "eval" / "rows.jsonl"
    monkeypatch.chdir(tmp_path)
    assert file_in_repository(path) == "eval/rows.jsonl"
    monkeypatch.setenv("CI_PROJECT_DIR", str(tmp_path / "eval"))
    assert file_in_repository(path) == "rows.jsonl"
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path / "other"))
    assert file_in_repository(path) == path.as_posix()
    assert file_in_repository(None) is None
