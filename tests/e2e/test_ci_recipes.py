"""The recipes of docs/ci.md: the files are valid, and their commands run as written."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import yaml

from support.command import sgi

PAGE = Path(__file__).parents[2] / "docs" / "ci.md"
EXAMPLES = PAGE.parents[1] / "src" / "sgi" / "data" / "halueval_qa_sample.jsonl"


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


@pytest.fixture
def checkout(tmp_path):
    (tmp_path / "eval").mkdir()
    rows = EXAMPLES.read_text("utf-8").splitlines()[:20]
    (tmp_path / "eval" / "answers.jsonl").write_text("\n".join(rows), "utf-8")
    return tmp_path


def execute(folder, commands, **environment):
    """Run the commands of a job until one fails; return the last outcome. pip is not run."""
    outcome = None
    for command in commands:
        words = shlex.split(command)
        if words[0] == "pip":
            assert words == ["pip", "install", "./sgi"]
            continue
        assert words[0] == "sgi"
        outcome = sgi(folder, *words[1:], **environment)
        if outcome.code:
            break
    return outcome


def test_github(checkout):
    workflow, _ = (yaml.safe_load(block) for block in blocks("yaml"))
    steps = workflow["jobs"]["answers"]["steps"]
    assert [step["uses"] for step in steps if "uses" in step] == [
        "actions/checkout@v6",
        "actions/setup-python@v6",
    ]
    summary = checkout / "summary.md"
    environment = {"GITHUB_STEP_SUMMARY": str(summary), "GITHUB_WORKSPACE": str(checkout)}
    outcome = execute(checkout, [step["run"] for step in steps if "run" in step], **environment)
    assert outcome.code == 4
    assert "::error file=eval/answers.jsonl,line=" in outcome.out
    assert "<code>eval/answers.jsonl</code>" in summary.read_text("utf-8")


def test_gitlab(checkout):
    _, pipeline = (yaml.safe_load(block) for block in blocks("yaml"))
    job = pipeline["answers"]
    assert job.keys() == {"image", "before_script", "script", "after_script", "artifacts"}
    environment = {"CI_PROJECT_DIR": str(checkout)}
    assert execute(checkout, job["before_script"] + job["script"], **environment).code == 4
    assert execute(checkout, job["after_script"], **environment).code == 0
    reports = job["artifacts"]["reports"]
    assert ET.parse(checkout / reports["junit"]).getroot().get("failures") != "0"  # noqa: S314 - we wrote it
    issues = json.loads((checkout / reports["codequality"]).read_text("utf-8"))
    assert issues
    for issue in issues:
        assert issue.keys() == {"description", "check_name", "fingerprint", "severity", "location"}
        assert issue["severity"] in {"info", "minor", "major", "critical", "blocker"}
        assert issue["location"]["path"] == "eval/answers.jsonl"
        number = re.search(r"row answers-(\d+)-(?:right|hallucinated):", issue["description"])[1]
        assert issue["location"]["lines"]["begin"] == int(number)  # an id holds the number of its line
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)
    assert all((checkout / path).exists() for path in job["artifacts"]["paths"])


def test_jenkins(checkout):
    (pipeline,) = blocks("groovy")
    assert pipeline.count("{") == pipeline.count("}")
    assert execute(checkout, re.findall(r"sh '(.*)'", pipeline)).code == 4
    (report,) = re.findall(r"junit '(.*)'", pipeline)
    assert (checkout / report).exists()


def test_a_baseline(checkout):
    baseline, branch = (block.splitlines() for block in blocks("bash"))
    assert execute(checkout, baseline).code == 0
    outcome = execute(checkout, branch)
    assert outcome.code == 4  # nothing changed, but 20 questions are too few to show it
    assert "grounding drop <= 0.05" in outcome.out


def test_pytest(checkout):
    test, scorer = blocks("python")
    (checkout / "test_answers.py").write_text(test, "utf-8")
    (checkout / "conftest.py").write_text(scorer, "utf-8")
    lines = EXAMPLES.read_text("utf-8").splitlines()[:4]
    (checkout / "answers.jsonl").write_text("\n".join(lines), "utf-8")
    words = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider"]
    done = subprocess.run(words, cwd=checkout, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(r"\d failed, \d passed", done.stdout)
    assert "contribution of each signal" in done.stdout
    assert "test_answers.py::test_answer[answers-2-hallucinated]" in done.stdout
