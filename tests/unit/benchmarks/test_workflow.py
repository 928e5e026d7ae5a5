"""The workflow that compares a pull request with its base, with its own commands and little data."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

WORKFLOW = Path(__file__).parents[3] / ".github" / "workflows" / "benchmarks.yml"


@pytest.fixture(scope="module")
def job():
    return yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]["compare"]


@pytest.fixture
def run_step(job, tmp_path):
    """Run the commands of a step in a folder where both revisions are this checkout and its environment."""
    assert job["defaults"]["run"]["shell"] == "bash"
    for side in ("base", "head"):
        (tmp_path / side).mkdir()
        (tmp_path / side / ".venv").symlink_to(sys.prefix)
        for name in ("benchmarks", "src"):
            (tmp_path / side / name).symlink_to(WORKFLOW.parents[2] / name)

    def run(name, **variables):
        (step,) = (step for step in job["steps"] if step.get("name") == name)
        bash = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        environment = {
            **os.environ,
            **step.get("env", {}),
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
            **variables,
        }
        return subprocess.run(
            bash, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    return run


def plant(files, factor):
    """Make our work in the results slower by the factor, and the noise small."""
    for file in files:
        record = json.loads(file.read_text(encoding="utf-8"))
        for row in record["figures"]:
            ours = row["ours"] * factor
            row |= {"ours": ours, "repeats": {"ours": [ours] * 5, "bound": [row["peer"]] * 5}}
        file.write_text(json.dumps(record), encoding="utf-8")


@pytest.mark.slow
def test_both_sides_are_measured_and_a_slower_one_fails(run_step, tmp_path):
    measured = run_step("Measure both in turns", BENCH="--only overhead --quick", ROUNDS="1")
    assert measured.returncode == 0, measured.stderr
    base, head = (list((tmp_path / "results" / side / "1").glob("*.json")) for side in ("base", "head"))
    assert len(base) == len(head) == 1
    head[0].write_text(base[0].read_text(encoding="utf-8"), encoding="utf-8")
    plant([*base, *head], 1)
    assert run_step("Compare").returncode == 0
    plant(head, 1.15)
    assert run_step("Compare").returncode == 1
    assert (tmp_path / "summary.md").read_text(encoding="utf-8").count("| worse |") == 2


def test_a_benchmark_that_fails_stops_the_workflow(run_step):
    assert run_step("Measure both in turns", BENCH="--only missing", ROUNDS="1").returncode != 0
