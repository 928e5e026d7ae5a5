"""Tutorials and gallery: every command runs in the order of the page, and prints the lines that it shows."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from support.command import sgi
from support.local_llm import local_llm

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {"gate-a-release": {"sgi gate": 4}, "study-a-detector": {}, "traces-to-dashboard": {}, "gallery": {}}
"""The pages, and the exit codes of their commands that differ from 0."""
STEP = re.compile(
    r"```console\n(.*?)\n```(?:\s+[^`\n]*(?:`[^`\n]+`[^`\n]*)*\s*```text\n(.*?)\n```)?", re.DOTALL
)
FILE = re.compile(r"as `([a-z_]+\.(?:py|jsonl))`.*?```(?:python|json)\n(.*?)```", re.DOTALL)
NUMBER = re.compile(r"\d+\.\d+")
FINISHED_WITH_FAILURES = 3
LOCAL_JUDGE = "http://127.0.0.1:8080/v1"
JUDGED = re.compile(
    r'(?:groundedness|rated|"?reasoning"?): .*|\[[-\d., ]+\]|[-+]?\d[\d.,]*(?: %)?|–'
    r"|  (?:wilson|rare|unseen).*|\d+ (?:failed|undefined)$"
)
"""What can differ when another processor runs the model: numbers, the judge's texts, kinds of intervals."""


def _run(folder, command, codes):
    words = shlex.split(command.removeprefix("$ "), comments=True)
    if words[0] == "python":
        return subprocess.run(
            [sys.executable, *words[1:]], cwd=folder, check=True, capture_output=True, text=True
        ).stdout
    result = sgi(folder, *words[1:])
    expected = codes.get(" ".join(words[:2]), 0)
    if "--max-failures" in words and result.code == FINISHED_WITH_FAILURES:
        expected = FINISHED_WITH_FAILURES  # the replies of a small model differ between processors
    assert result.code == expected, f"{command}: {result.err}"
    return result.out


def _is_same(found, shown):
    """Whether two lines differ in the last digits of numbers only."""
    numbers = [list(map(float, NUMBER.findall(line))) for line in (found, shown)]
    return NUMBER.sub("0", found) == NUMBER.sub("0", shown) and numbers[0] == pytest.approx(
        numbers[1], abs=0.01
    )


def _is_same_but_judged(found, shown):
    """Whether two lines have the same words and the same number of columns."""
    return JUDGED.sub(" 0 ", found).split() == JUDGED.sub(" 0 ", shown).split()


def _check_page(name, folder, is_same, judge=None):
    """Write the files of the page, run its commands, and find the lines that it shows.

    Without a judge, they must be in this order: ratings of a judge change the order of rows.
    """
    page = (DOCS / f"{name}.md").read_text("utf-8")
    for file, content in FILE.findall(page):
        (folder / file).write_text(content, encoding="utf-8")
    shown_lines = 0
    for commands, shown in STEP.findall(page):
        steps = commands.replace(LOCAL_JUDGE, judge or LOCAL_JUDGE).split("\n")
        printed = "\n".join(_run(folder, command, PAGES.get(name, {})) for command in steps)
        lines = [line.rstrip() for line in printed.split("\n")]
        lines = lines if judge else iter(lines)
        for line in filter(None, shown.split("\n")):
            assert any(is_same(found, line) for found in lines), line
            shown_lines += 1
    assert shown_lines > 6


@pytest.mark.parametrize("name", PAGES)
def test_the_commands_run_and_print_what_the_page_shows(name, tmp_path):
    (tmp_path / "gallery.jsonl").symlink_to(DOCS / "gallery.jsonl")
    _check_page(name, tmp_path, _is_same)


@pytest.mark.slow
def test_a_local_model_judges_as_its_page_shows(tmp_path):
    with local_llm() as url:
        _check_page("judge-locally", tmp_path, _is_same_but_judged, url)
    judged = sgi(tmp_path, "agree", "first", "--json").json["metrics"][0]
    interval = judged["kappa"]["interval"]
    assert interval["low"] < 0 < interval["high"]  # the page says that this model cannot judge
