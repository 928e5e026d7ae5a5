"""An adapter without its framework says which extra to install."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from support.scripts import load_script

ROOT = Path(__file__).parents[3]


EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]


ADAPTERS = sorted(path.stem.removeprefix("test_") for path in (ROOT / "tests/integrations").glob("test_*.py"))


NEED_A_PACKAGE = [name for name in ADAPTERS if EXTRAS[name.replace("_", "-")]]


# Some of the frameworks are in this environment, so none of them can be imported here.
IMPORT_WITHOUT_FRAMEWORKS = '''
import importlib, sys
from sgi.kernel.errors import MissingExtraError

frameworks = """
datasets dspy haystack inspect_ai langchain_core langfuse langsmith llama_index mcp mlflow opentelemetry
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


FRAMEWORKS = (ROOT / "docs" / "frameworks.md").read_text("utf-8")


LOCK = dict(
    re.findall(r"^(\S+)==(\S+)", (ROOT / "requirements/integrations.txt").read_text("utf-8"), re.MULTILINE)
)


@pytest.mark.parametrize("name", ADAPTERS)
def test_a_page_shows_a_part_of_the_example_and_is_listed(name):
    with load_script("update_integration_page") as script:
        page, code, _ = script.shown(name)
    assert code in (ROOT / "examples" / "integrations" / f"with_{name}.py").read_text("utf-8")
    extra = name.replace("_", "-")
    row = rf"^\| (.*?) \| (\S+) \| \[\1\]\({page.name}#(\S+)\) \| `{extra}` \|"
    framework, version, anchor = re.search(row, FRAMEWORKS, re.MULTILINE).groups()
    assert anchor == framework.lower().replace(" ", "-")
    assert f"\n## {framework}\n" in page.read_text("utf-8")
    if packages := EXTRAS[extra]:
        assert version in {LOCK[Requirement(text).name] for text in packages}
