"""Every command that takes -m also takes --define, by the same option and with the same errors."""

import json
import shutil

import click
import pytest
import typer

from sgi.cli import options
from sgi.cli.commands import command_points
from sgi.cli.main import app
from support.answers import write_jsonl
from support.command import sgi as run_command

FILE = """
[quality]
metric = "minimum"
of = ["rouge_l", "named"]

[named]
metric = "contains"
text = "1950"
"""
DATA = [
    {"id": str(n), "question": f"When, {n}?", "response": f"In {n}.", "reference": "In 1950.", "label": n % 2}
    for n in range(1948, 1953)
]
ANSWER = ("--c", "The tower is 330 m tall.", "--r", "It is 330 m tall in 1950.")
ARGUMENTS = {
    "run": ("rows.jsonl", "--no-store"),
    "score": ("rows.jsonl",),
    "check": ANSWER,
    "study bench": ("--data", "rows.jsonl"),
    "judge rescore": ("one",),
    "serve": ("--otlp", "--port", "0"),
    "audit": ("one",),
    "judge agree": ("one",),
    "judge calibrate": ("one", "--error-rate", "fpr=0.05"),
    "study card": ("one",),
    "compare": ("one", "two"),
    "runs export": ("one", "--as-quiz"),
    "runs plot": ("one", "-k", "distribution", "-o", "a.svg"),
    "study repeats": ("one",),
    "show": ("one", "--worst", "1"),
    "study watch": ("rows.jsonl", "--once"),
}
"""The other arguments of each command with -m; a new command must be added here."""


def commands():
    """Each command with options of its own, by its words."""
    app_command = typer.main.get_command(app)
    for point in command_points():
        *group, name = point.split(".")
        parent = app_command.commands[group[0]] if group else app_command
        command = parent.commands[name]
        if not hasattr(command, "commands"):
            yield " ".join((*group, name)), command


def has_option(command, name):
    return any(name in parameter.opts for parameter in command.params)


WITH_METRIC = {name: command for name, command in commands() if has_option(command, "-m")}
del WITH_METRIC["runs show"]  # it is `sgi show`


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("two_runs")
    write_jsonl(folder / "rows.jsonl", DATA)
    (folder / "metrics.toml").write_text(FILE)
    for name in ("one", "two"):
        words = ("run", "rows.jsonl", "--define", "metrics.toml", "-m", "quality,named", "--name", name)
        outcome = run_command(folder, *words)
        assert outcome.code == 0, outcome.err
    return folder


@pytest.fixture
def files(two_runs, tmp_path):
    shutil.copytree(two_runs, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_the_table_has_every_command_that_takes_a_metric():
    assert set(WITH_METRIC) == set(ARGUMENTS)


@pytest.mark.parametrize("name", WITH_METRIC)
def test_the_option_is_the_shared_one_and_names_are_completed(name, files):
    command = WITH_METRIC[name]
    (define,) = (parameter for parameter in command.params if "--define" in parameter.opts)
    assert define.help == options.Define.__metadata__[0].help
    (metric,) = (parameter for parameter in command.params if "-m" in parameter.opts)
    context = click.Context(command)
    context.params["define"] = str(files / "metrics.toml")
    assert "quality" in [item.value for item in metric.shell_complete(context, "qua")]


@pytest.mark.parametrize("name", ["run", "check", "serve", "judge agree"])
def test_an_invalid_file_of_definitions_is_one_error(name, files, sgi):
    (files / "metrics.toml").write_text('[quality]\nmetric = "minimun"\nof = ["rouge_l"]\n')
    outcome = sgi(*name.split(), *ARGUMENTS[name], "--define", "metrics.toml", "-m", "quality")
    assert (outcome.code, "metrics.toml: [quality]" in outcome.err) == (2, True)


@pytest.mark.parametrize(
    "name",
    [
        "audit",
        "judge agree",
        "judge calibrate",
        "study card",
        "compare",
        "runs plot",
        "study repeats",
        "show",
    ],
)
def test_a_run_with_another_definition_is_refused(name, files, sgi):
    (files / "metrics.toml").write_text(FILE.replace("1950", "1951"))
    outcome = sgi(*name.split(), *ARGUMENTS[name], "--define", "metrics.toml", "-m", "quality")
    assert (outcome.code, "quality" in outcome.err) == (2, True)


def test_figures_tables_and_checks_take_the_defined_name(files, sgi):
    define = ("--define", "metrics.toml")
    for command in ("runs plot", "compare", "show"):
        outcome = sgi(*command.split(), *ARGUMENTS[command], *define, "-m", "named")
        assert outcome.code == 0, outcome.err
    (files / "metrics.toml").write_text('[named]\nmetric = "contains"\ntext = "1950"\n')
    printed = sgi("check", *ANSWER, *define).out
    assert printed.rstrip().endswith("named  1.0000")
    (entry,) = json.loads(sgi("check", *ANSWER, *define, "--json").out)["metrics"].values()
    assert entry == {"value": 1.0, "status": "ok", "reason": ""}
    bench = sgi("study", "bench", "--data", "rows.jsonl", *define, "--perturb", "refusal", "--json")
    assert [name.partition("(")[0] for name in json.loads(bench.out)["metrics"]] == ["named"]


def test_completion_after_a_comma_and_with_a_broken_file(files):
    context = click.Context(WITH_METRIC["run"])
    context.params["define"] = files / "metrics.toml"
    assert options.complete_metric(context, "sgi,qual") == ["sgi,quality"]
    context.params["define"] = files / "missing.toml"
    assert "rouge_l" in options.complete_metric(context, "rouge")
