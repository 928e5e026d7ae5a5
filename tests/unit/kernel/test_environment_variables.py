"""All environment variables that SGI reads are declared in one module, from which the reference is made."""

import ast
from pathlib import Path

import pytest
import typer

import sgi
from sgi.cli.main import app
from sgi.kernel.environment_variables import MAX_CELL, MAX_COLUMNS, MAX_FILE, MAX_ROW, VARIABLES
from sgi.kernel.limits import InputLimits, size_in_bytes

FOLDER = Path(sgi.__file__).parent
DECLARED = "kernel/environment_variables.py"
NOT_OF_SGI = {
    "kernel/telemetry.py": "sets variables of libraries",
    "distributed/cluster.py": "sets variables of Ray",
    "cli/main.py": "sets variables for worker processes",
    "io/parquet.py": "gives the environment to a process",
    "target/variables.py": "reads the names in the settings of a target",
    "llm/client.py": "reads the proxies as httpx does",
}
"""Modules that use the environment without a name of their own that they read."""
READERS = {"environ", "environb", "getenv", "getenvb", "getproxies", "getproxies_environment"}


def nodes(kind):
    for path in FOLDER.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, kind):
                yield path.relative_to(FOLDER).as_posix(), node


def test_only_the_declaring_module_reads_the_environment():
    by_name = {file for file, node in nodes(ast.Name) if node.id in READERS}
    by_attribute = {file for file, node in nodes(ast.Attribute) if node.attr in READERS}
    assert by_name | by_attribute == {DECLARED, *NOT_OF_SGI}


def test_variables_are_declared_in_one_module_and_once():
    assert {file for file, node in nodes(ast.Call) if ast.unparse(node.func) == "Variable"} == {DECLARED}
    names = [variable.name for variable in VARIABLES]
    assert sorted({*names}) == sorted(names)
    assert [each.name for each in VARIABLES if not each.meaning or not each.readers] == []


def test_the_options_that_read_a_variable_name_a_declared_one():
    declared = {variable.name: variable for variable in VARIABLES}

    def walk(command, path):
        for name, child in getattr(command, "commands", {}).items():
            walk(child, f"{path} {name}")
        for parameter in command.params:
            if parameter.envvar is not None:
                readers = declared[parameter.envvar].readers
                assert f"`{path}`" in readers or f"`{parameter.opts[0]}`" in readers

    walk(typer.main.get_command(app), "sgi")


@pytest.mark.parametrize("variable", [MAX_CELL, MAX_ROW, MAX_FILE, MAX_COLUMNS])
def test_the_default_of_a_limit_is_that_of_the_code(variable):
    field = variable.name.removeprefix("SGI_MAX_").lower()
    assert size_in_bytes(variable.default) == getattr(InputLimits(), field)
