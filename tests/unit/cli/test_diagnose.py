"""``sgi diagnose``: the table of causes, rows with evidence, files, tables of your own, and bad options."""

from __future__ import annotations

import json

import pytest

TOWER = {"question": "How tall is the tower?", "contexts": ["The tower is 330 m tall."], "reference": "330 m"}
RESPONSES = ["The tower is 330 m tall.", "The tower is 312 m tall.", "I don't know."]


@pytest.fixture
def run(sgi, tmp_path):
    """A stored run with three rows, which has neither grounding nor citations."""
    lines = [json.dumps({"id": str(n), **TOWER, "response": text}) for n, text in enumerate(RESPONSES)]
    (tmp_path / "rows.jsonl").write_text("\n".join(lines), encoding="utf-8")
    assert sgi("run", "rows.jsonl", "-m", "refusal", "--name", "tower", "-q").code == 0
    return sgi


def test_causes_rows_json_and_file(run, tmp_path):
    shown = run("diagnose", "tower", "-q")
    assert shown.code == 0
    assert "3 of 3 rows are diagnosed" in shown.out
    assert "what to do about it" in shown.out
    assert "“312 m”" in run("diagnose", "tower", "--cause", "contradicted_fact", "-q").out
    facts = run("diagnose", "tower", "--json", "-q", "-o", "causes.jsonl").json
    assert [row["cause"] for row in facts["diagnoses"]] == [
        "correct",
        "contradicted_fact",
        "needless_refusal",
    ]
    written = (tmp_path / "causes.jsonl").read_text(encoding="utf-8").splitlines()
    assert list(map(json.loads, written)) == facts["diagnoses"]


def test_a_table_of_your_own(run, tmp_path):
    text = run("diagnose", "--print-table").out
    (tmp_path / "mine.toml").write_text(
        text.replace('cause = "needless_refusal"', 'cause = "off_topic"'), "utf-8"
    )
    facts = run("diagnose", "tower", "--table", "mine.toml", "--json", "-q").json
    assert facts["diagnoses"][2]["cause"] == "off_topic"
    assert facts["table"] == "mine.toml"


def test_the_report_shows_the_causes(run, tmp_path):
    assert run("report", "tower", "--diagnose", "-q").code == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count('id="causes"') == page.count('data-chart="causes"') == 1
    assert "3 of 3 rows are diagnosed: contradicted_fact 33.3 %; needless_refusal 33.3 %; correct " in page
    assert "| needless_refusal |" in run("report", "tower", "--diagnose", "--format", "md").out
    assert "What is wrong" not in run("report", "tower", "--format", "md").out
    refused = run("report", "tower", "tower", "--diagnose")
    assert refused.code == 2
    assert "--diagnose needs one run" in refused.err
