"""The reference has all environment variables that SGI reads, and no others."""

import ast
import tomllib
from pathlib import Path

import pytest
import typer

import sgi
from sgi.cli.main import app
from sgi.kernel.input_limits import NAMES, InputLimits, size_in_bytes, variable
from support.scripts import FOLDER

VARIABLES = tomllib.loads((FOLDER / "reference_pages" / "environment.toml").read_text("utf-8"))["variables"]
OURS = (
    "SGI_",
    "AZURE_",
    "OPENAI_",
    "OLLAMA_",
    "VLLM_",
    "OPENROUTER_",
    "AWS_",
    "ANTHROPIC_",
    "GOOGLE_",
    "GEMINI_",
)


def constants():
    """Yield each text of the code that is the name of a variable."""
    for path in Path(sgi.__file__).parent.parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if not any(name in text for name in (*OURS, *VARIABLES)):
            continue  # parsing takes most of the time
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isupper():
                yield node.value


def test_the_variables_that_the_code_names_are_those_of_the_reference():
    named = {*constants(), *map(variable, NAMES)}
    ours = {name for name in named if name.startswith(OURS) and not name.endswith("_")}
    assert ours <= VARIABLES.keys() <= named


def test_the_options_that_read_a_variable_are_among_its_readers():
    def walk(command, path):
        for name, child in getattr(command, "commands", {}).items():
            walk(child, f"{path} {name}")
        for parameter in command.params:
            if parameter.envvar is not None:
                readers = VARIABLES[parameter.envvar]["readers"]
                assert f"`{path}`" in readers or f"`{parameter.opts[0]}`" in readers

    walk(typer.main.get_command(app), "sgi")


@pytest.mark.parametrize("name", NAMES)
def test_the_default_of_a_limit_is_that_of_the_code(name):
    assert size_in_bytes(VARIABLES[variable(name)]["default"]) == getattr(InputLimits(), name)
