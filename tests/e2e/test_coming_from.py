"""The page for users of other tools: every metric that its tables name exists."""

import re
from pathlib import Path

import pytest

from sgi.kernel.registry import metric_names

PAGE = Path(__file__).parents[2] / "docs" / "migrate.md"
SECTIONS = re.split(r"^## Migrate from ", PAGE.read_text("utf-8"), flags=re.MULTILINE)[1:]


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.split("\n")[0])
def test_every_metric_in_the_tables_exists(section):
    rows = re.findall(r"^\| .*? \| (`.*?) \|", section, re.MULTILINE)
    shown = {name for cell in rows for name in re.findall(r"`([a-z_0-9]+)`", cell)}
    assert len(shown) > 2
    assert shown <= set(metric_names())
