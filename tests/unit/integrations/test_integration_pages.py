"""The pages about frameworks; the environments of the frameworks run their examples."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[3]
PAGES = ROOT / "docs" / "integrations"
NAMES = sorted(page.stem for page in PAGES.glob("*.md") if page.name != "README.md")
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
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
