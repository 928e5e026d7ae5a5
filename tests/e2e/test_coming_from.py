"""The pages for users of other tools: their example prints what they show, and every name is there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from sgi.kernel.registry import metric_names
from support.command import sgi

PAGES = sorted((Path(__file__).parents[2] / "docs" / "coming-from").glob("*.md"))
FILE = re.compile(r"`([a-z]+\.(?:jsonl|json|csv))` (?:is|has)")
NUMBER = re.compile(r"\d+\.\d+")


def block(page, language):
    (found,) = re.findall(rf"```(?:{language})\n(.*?)\n```", page, re.DOTALL)
    return found


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_the_example_prints_what_the_page_shows(path, tmp_path):
    page = path.read_text("utf-8")
    (tmp_path / FILE.search(page)[1]).write_text(block(page, "json|csv"), encoding="utf-8")
    result = sgi(tmp_path, *shlex.split(block(page, "console").removeprefix("$ "))[1:])
    assert result.code == 0, result.err
    printed = "\n".join(line.rstrip() for line in result.out.rstrip().split("\n"))
    shown = block(page, "text")
    assert NUMBER.sub("0", printed) == NUMBER.sub("0", shown)
    numbers = [list(map(float, NUMBER.findall(text))) for text in (printed, shown)]
    assert numbers[0] == pytest.approx(numbers[1], abs=0.005)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_metric_in_the_tables_is_there(path):
    rows = re.findall(r"^\| .*? \| (`.*?) \|", path.read_text("utf-8"), re.MULTILINE)
    shown = {name for cell in rows for name in re.findall(r"`([a-z_0-9]+)`", cell)}
    assert len(shown) > 2
    assert shown <= set(metric_names())
