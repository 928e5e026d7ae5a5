"""An adapter without its framework says which extra to install."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[3]


EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]


ADAPTERS = sorted(path.stem.removeprefix("test_") for path in (ROOT / "tests/integrations").glob("test_*.py"))


NEED_A_PACKAGE = [name for name in ADAPTERS if EXTRAS[name.replace("_", "-")]]


# Some of the frameworks are in this environment, so none of them can be imported here.
IMPORT_WITHOUT_FRAMEWORKS = '''
import importlib, sys
from sgi.kernel.errors import MissingExtraError

frameworks = """
datasets dspy haystack inspect_ai langchain_core langfuse langsmith llama_index mlflow opentelemetry
pandas phoenix polars pydantic_evals weave
"""
sys.modules.update(dict.fromkeys(frameworks.split()))
for name in sys.argv[1:]:
    try:
        importlib.import_module(f"sgi.integrations.{name}")
    except MissingExtraError as error:
        print(error)
'''


@pytest.fixture(scope="module")
def errors():
    command = [sys.executable, "-c", IMPORT_WITHOUT_FRAMEWORKS, *NEED_A_PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(zip(NEED_A_PACKAGE, done.stdout.splitlines(), strict=True))


@pytest.mark.parametrize("name", NEED_A_PACKAGE)
def test_the_error_has_the_command_that_installs_the_framework(errors, name):
    extra = name.replace("_", "-")
    assert errors[name].startswith(
        f"sgi.integrations.{name} needs the extra {extra!r}. Install it: pip install "
    )
    assert f"[{extra}]" in errors[name]


PAGES = ROOT / "docs" / "integrations"


NAMES = sorted(page.stem for page in PAGES.glob("*.md") if page.name != "README.md")


LOCK = dict(
    re.findall(r"^(\S+)==(\S+)", (ROOT / "requirements/integrations.txt").read_text("utf-8"), re.MULTILINE)
)


@pytest.mark.parametrize("name", NAMES)
def test_the_page_shows_the_example_and_is_listed(name):
    page = (PAGES / f"{name}.md").read_text("utf-8")
    example = ROOT / "examples" / "integrations" / f"with_{name}.py"
    assert page.startswith("# SGI in five minutes with ")
    assert re.search(r"```python\n(.*?)```", page, re.DOTALL)[1] == example.read_text("utf-8")
    assert f"[{name}.md]({name}.md)" in (PAGES / "README.md").read_text("utf-8")


@pytest.mark.parametrize("name", [name for name in NAMES if EXTRAS.get(name.replace("_", "-"))])
def test_the_versions_on_the_pages_are_those_of_the_lock(name):
    packages = [Requirement(text).name for text in EXTRAS[name.replace("_", "-")]]
    versions = {LOCK[package] for package in packages}
    page = (PAGES / f"{name}.md").read_text("utf-8")
    tested = re.search(r"Tested\s+with(.*?)\.\n", page, re.DOTALL)[1].split()
    (listed,) = re.findall(rf"\| (\S+) \| \[{name}\.md\]", (PAGES / "README.md").read_text("utf-8"))
    assert listed in tested
    assert listed in versions


def test_every_adapter_has_a_page():
    tests = {path.stem.removeprefix("test_") for path in (ROOT / "tests" / "integrations").glob("test_*.py")}
    assert tests == {*NAMES}
