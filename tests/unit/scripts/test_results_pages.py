"""The summary on a page for users repeats numbers of its page of results."""

import re
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
