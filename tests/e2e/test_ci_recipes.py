"""The recipes of docs/ci.md for build servers: their commands run as written."""

import json
import re
import shlex
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
    rows = [json.loads(line) for line in EXAMPLES.read_text("utf-8").splitlines()[:20]]
    for name, answer in (("released", "right_answer"), ("answers", "hallucinated_answer")):
        texts = [
            {"question": row["question"], "contexts": [row["knowledge"]], "response": row[answer]}
            for row in rows
        ]
        (tmp_path / "eval" / f"{name}.jsonl").write_text("\n".join(map(json.dumps, texts)), "utf-8")
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
    workflow, *_ = (yaml.safe_load(block) for block in blocks("yaml"))
    steps = workflow["jobs"]["answers"]["steps"]
    assert [step["uses"] for step in steps if "uses" in step] == [
        "actions/checkout@v6",
        "actions/setup-python@v6",
    ]
    summary = checkout / "summary.md"
    environment = {"GITHUB_STEP_SUMMARY": str(summary), "GITHUB_WORKSPACE": str(checkout)}
    outcome = execute(checkout, commands_of(workflow["jobs"]["answers"]), **environment)
    assert outcome.code == 4
    assert "::error file=eval/answers.jsonl,line=" in outcome.out
    assert "<code>eval/answers.jsonl</code>" in summary.read_text("utf-8")


def test_gitlab(checkout):
    _, pipeline, *_ = (yaml.safe_load(block) for block in blocks("yaml"))
    job = pipeline["answers"]
    assert job.keys() == {"image", "before_script", "script", "after_script", "artifacts"}
    environment = {"CI_PROJECT_DIR": str(checkout)}
    assert execute(checkout, job["before_script"] + job["script"], **environment).code == 4
    assert execute(checkout, job["after_script"], **environment).code == 0
    reports = job["artifacts"]["reports"]
    assert ET.parse(checkout / reports["junit"]).getroot().get("failures") != "0"
    issues = json.loads((checkout / reports["codequality"]).read_text("utf-8"))
    assert issues
    for issue in issues:
        assert issue.keys() == {"description", "check_name", "fingerprint", "severity", "location"}
        assert issue["severity"] in {"info", "minor", "major", "critical", "blocker"}
        assert issue["location"]["path"] == "eval/answers.jsonl"
        number = re.search(r"row (\d+):", issue["description"])[1]
        assert issue["location"]["lines"]["begin"] == int(number)  # an id holds the number of its line
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)
    assert all((checkout / path).exists() for path in job["artifacts"]["paths"])


def commands_of(job):
    """The commands of a job of GitHub."""
    return [step["run"] for step in job["steps"] if "run" in step]


def test_a_baseline_passes_if_nothing_changed_and_fails_after_a_drop(checkout):
    answers = checkout / "eval" / "answers.jsonl"
    rows = [json.loads(line) for line in EXAMPLES.read_text("utf-8").splitlines()[:80]]
    answers.write_text(
        "\n".join(json.dumps(one | {"hallucinated_answer": one["right_answer"]}) for one in rows)
    )
    jobs = yaml.safe_load(blocks("yaml")[2])["jobs"]
    environment = {"GITHUB_STEP_SUMMARY": str(checkout / "summary.md")}
    assert execute(checkout, commands_of(jobs["main"]), **environment).code == 0
    assert execute(checkout, commands_of(jobs["branch"]), **environment).code == 0
    worse = [one | {"right_answer": one["hallucinated_answer"]} for one in rows]
    answers.write_text("\n".join(map(json.dumps, worse)))
    assert execute(checkout, commands_of(jobs["branch"]), **environment).code == 4


def test_jenkins(checkout):
    (pipeline,) = blocks("groovy")
    assert pipeline.count("{") == pipeline.count("}")
    assert execute(checkout, re.findall(r"sh '(.*)'", pipeline)).code == 4
    (report,) = re.findall(r"junit '(.*)'", pipeline)
    assert (checkout / report).exists()
