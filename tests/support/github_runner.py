"""Runs the steps of a composite action on this machine, as the runner of GitHub Actions does."""

import os
import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
_COMMAND = re.compile(r"\s*::(?P<name>[a-zA-Z-]+)(?: (?P<properties>.*?))?::(?P<message>.*)", re.DOTALL)
_OLD_COMMAND = re.compile(r"##\[(?P<name>[a-zA-Z-]+)(?: (?P<properties>[^\]]*))?\](?P<message>.*)", re.DOTALL)


@dataclass(frozen=True)
class Command:
    """A workflow command that the runner would obey."""

    name: str
    properties: dict[str, str]
    message: str


@dataclass
class Job:
    """What the steps of an action have done."""

    code: int = 0
    log: str = ""
    summary: str = ""
    outputs: dict[str, str] = field(default_factory=dict)
    used: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    """The actions that were used, with their inputs; they are recorded, not run."""

    @property
    def commands(self) -> list[Command]:
        """The commands that the runner obeys; after ``stop-commands`` it waits for the token."""
        return list(obeyed(self.log))


def obeyed(log: str):
    """Yield the commands of a log that the runner obeys."""
    token = None
    for line in log.split("\n"):
        match = _COMMAND.fullmatch(line) or _OLD_COMMAND.search(line)
        if match is None:
            if token and line.strip() == f"::{token}::":
                token = None
        elif token is not None:
            token = None if match["name"] == token else token
        elif match["name"] == "stop-commands":
            token = match["message"]
        else:
            pairs = (pair.split("=", 1) for pair in (match["properties"] or "").split(",") if pair)
            properties = {name: _unescape(value) for name, value in pairs}
            yield Command(match["name"], properties, _unescape(match["message"]))


def run_script(command: Sequence[str | Path], **options: Any) -> tuple[int, bytes]:
    """Run a command; return its exit code and output."""
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **options)
    return result.returncode, result.stdout


def run_action(
    action: Path,
    workspace: Path,
    temporary: Path,
    inputs: dict[str, str],
    execute: Callable[..., tuple[int, bytes]] = run_script,
    **environment: str,
) -> Job:
    """Run the composite steps with bash, in a workspace; steps that use other actions are recorded."""
    loaded: dict[str, Any] = yaml.safe_load(action.read_text("utf-8"))
    unknown = inputs.keys() - loaded["inputs"].keys()
    assert not unknown, unknown
    context: dict[str, str] = {"runner.temp": str(temporary)}
    for name, declared in loaded["inputs"].items():
        context[f"inputs.{name}"] = inputs.get(name, declared.get("default", ""))
    job, path = Job(), os.environ["PATH"]
    files = {name: temporary / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_PATH")}
    for number, step in enumerate(loaded["runs"]["steps"]):
        if not _condition(step.get("if", ""), context):
            continue
        if "uses" in step:
            job.used.append((step["uses"], {k: evaluate(str(v), context) for k, v in step["with"].items()}))
            context[f"steps.{step.get('id')}.outputs.artifact-url"] = "https://github.example/artifacts/7"
            continue
        for file in files.values():
            file.write_bytes(b"")
        script = temporary / f"step-{number}.sh"
        script.write_text(step["run"], "utf-8")
        given = {name: evaluate(text, context) for name, text in step.get("env", {}).items()}
        code, output = execute(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", script],
            cwd=workspace / evaluate(step.get("working-directory", "."), context),
            env=os.environ
            | environment
            | {name: str(file) for name, file in files.items()}
            | {"GITHUB_WORKSPACE": str(workspace), "RUNNER_TEMP": str(temporary), "PATH": path}
            | given,
        )
        job.log += output.decode()
        job.summary += files["GITHUB_STEP_SUMMARY"].read_text("utf-8")
        path = ":".join([*files["GITHUB_PATH"].read_text("utf-8").split(), path])
        for line in files["GITHUB_OUTPUT"].read_text("utf-8").splitlines():
            name, _, value = line.partition("=")
            context[f"steps.{step['id']}.outputs.{name}"] = value
        if code:
            job.code = code
            break
    job.outputs = {name: evaluate(out["value"], context) for name, out in loaded["outputs"].items()}
    return job


def evaluate(text: str, context: dict[str, str]) -> str:
    """Replace each ``${{ name }}`` by its value; an unknown output of a step is empty."""
    return _EXPRESSION.sub(lambda match: _value(match[1], context), text)


def _value(name: str, context: dict[str, str]) -> str:
    return context.get(name, "") if name.startswith("steps.") else context[name]


def _condition(text: str, context: dict[str, str]) -> bool:
    match = _EXPRESSION.fullmatch(text)
    for part in [] if match is None else match[1].split(" && "):
        name, different = re.fullmatch(r"(\S+) != '(.*)'", part).groups()
        if _value(name, context) == different:
            return False
    return True


def _unescape(text: str) -> str:
    for code, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, character)
    return text
