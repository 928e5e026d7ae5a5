"""Run the commands of the release workflow on this machine, in a new clone and an empty environment.

    python scripts/release_dry_run.py [--job build]

The clone gets a section of the changelog, so that all checks have their input. Steps that use an action
are left out, and no job that attests or publishes is run. It needs a network, to install the tools.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
WORKFLOW = ROOT / ".github" / "workflows" / "release.yml"
GIT = ("git", "-c", "user.name=dry run", "-c", "user.email=dry-run@localhost")


def prepare(folder: Path) -> str:
    """Clone the project, release its changelog and return the tag."""
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    tag = "v" + tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    changelog = folder / "CHANGELOG.md"
    text = changelog.read_text("utf-8")
    changelog.write_text(text.replace("## Unreleased\n", f"## {tag[1:]} (2000-01-01)\n", 1), "utf-8")
    subprocess.run([*GIT, "commit", "--quiet", "--all", "-m", "Release"], cwd=folder, check=True)
    return tag


def steps(job: str) -> list[tuple[str, str]]:
    """Return the names and the commands of a job."""
    listed = yaml.safe_load(WORKFLOW.read_text("utf-8"))["jobs"][job]["steps"]
    return [(step["name"], step["run"]) for step in listed if "run" in step]


def main() -> None:
    """Run the steps one after the other, and stop at the first error."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--job", default="build", choices=["build", "test"])
    jobs = {"build": ["build"], "test": ["build", "test"]}[parser.parse_args().job]
    with tempfile.TemporaryDirectory() as name:
        clone, environment = Path(name) / "clone", Path(name) / "environment"
        tag = prepare(clone)
        subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
        path = os.pathsep.join([str(environment / "bin"), os.environ["PATH"]])
        variables = {**os.environ, "PATH": path, "TAG": tag, "RESOLUTION": "highest"}
        for title, command in (step for job in jobs for step in steps(job)):
            print(f"== {title}", flush=True)
            bash = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command]
            subprocess.run(bash, cwd=clone, env=variables, check=True)
        for file in sorted([*(clone / "dist").iterdir(), *(clone / "release").iterdir()]):
            print(f"{file.stat().st_size:>10}  {file.relative_to(clone)}")


if __name__ == "__main__":
    main()
