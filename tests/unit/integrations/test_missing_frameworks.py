"""An adapter without its framework says which extra to install."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

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
