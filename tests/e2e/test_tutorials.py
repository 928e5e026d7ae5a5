"""Tutorials and gallery: every command runs in the order of the page, and prints the lines that it shows."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from support.command import sgi

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {"gate-a-release": {"sgi gate": 4}, "study-a-detector": {}, "traces-to-dashboard": {}, "gallery": {}}
"""The pages, and the exit codes of their commands that differ from 0."""
STEP = re.compile(
    r"```console\n(.*?)\n```(?:\s+[^`\n]*(?:`[^`\n]+`[^`\n]*)*\s*```text\n(.*?)\n```)?", re.DOTALL
)
FILE = re.compile(r"as `([a-z_]+\.py)`.*?```python\n(.*?)```", re.DOTALL)
NUMBER = re.compile(r"\d+\.\d+")


def _run(folder, command, codes):
    words = shlex.split(command.removeprefix("$ "), comments=True)
    if words[0] == "python":
        return subprocess.run(
            [sys.executable, *words[1:]], cwd=folder, check=True, capture_output=True, text=True
        ).stdout
    result = sgi(folder, *words[1:])
    assert result.code == codes.get(" ".join(words[:2]), 0), f"{command}: {result.err}"
    return result.out


def _is_same(found, shown):
    """Whether two lines differ in the last digits of numbers only."""
    numbers = [list(map(float, NUMBER.findall(line))) for line in (found, shown)]
    return NUMBER.sub("0", found) == NUMBER.sub("0", shown) and numbers[0] == pytest.approx(
        numbers[1], abs=0.01
    )


@pytest.mark.parametrize("name", PAGES)
def test_the_commands_run_and_print_what_the_page_shows(name, tmp_path):
    page = (DOCS / f"{name}.md").read_text("utf-8")
    for file, content in FILE.findall(page):
        (tmp_path / file).write_text(content, encoding="utf-8")
    (tmp_path / "gallery.jsonl").symlink_to(DOCS / "gallery.jsonl")
    shown_lines = 0
    for commands, shown in STEP.findall(page):
        printed = "\n".join(_run(tmp_path, command, PAGES[name]) for command in commands.split("\n"))
        lines = iter([line.rstrip() for line in printed.split("\n")])
        for line in filter(None, shown.split("\n")):
            assert any(_is_same(found, line) for found in lines), line  # in this order
            shown_lines += 1
    assert shown_lines > 6
