"""Numbers on pages for users are those of the results."""

import json
import re
from functools import reduce
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[3] / "docs"
RESULTS = {
    "find-what-is-wrong": "diagnosis",
    "refusals": "refusals",
}
CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
NUMBER_WITH_INTERVAL = re.compile(r"[\d.]+(?: %)? \[[\d.]+, [\d.]+\]")


@pytest.mark.parametrize(("page", "results"), RESULTS.items())
def test_numbers_with_an_interval_are_in_the_results(page, results):
    summary = " ".join(CODE.sub("", (DOCS / f"{page}.md").read_text("utf-8")).split())
    measured = (DOCS / "internals" / "results" / f"{results}.md").read_text("utf-8").replace(" | [", " [")
    numbers = NUMBER_WITH_INTERVAL.findall(summary)
    assert numbers
    assert [number for number in numbers if number not in measured] == []


def marked(page):
    """List the numbers of a page that have a mark `<!-- from: FILE KEY -->`, with file and key."""
    return re.findall(
        r"([\d.]+)\**(?: \[([\d.]+), ([\d.]+)\])?<!-- from: (\S+) (\S+) -->", page.read_text("utf-8")
    )


@pytest.mark.parametrize("page", ["README.md", "docs/sgi.md", "docs/grounding.md"])
def test_a_number_with_a_mark_is_that_of_its_file(page):
    numbers = marked(DOCS.parent / page)
    assert numbers
    for value, low, high, file, key in numbers:
        measured = json.loads((DOCS.parent / file).read_text("utf-8"))
        measured = reduce(
            lambda part, step: part[int(step) if step.isdigit() else step], key.split("."), measured
        )
        bounds = [measured["interval"][end] for end in ("low", "high")] if low else []
        for shown, exact in zip((value, low, high), [measured["auroc"], *bounds], strict=False):
            assert shown == f"{exact:.{len(shown.partition('.')[2])}f}", (file, key)
