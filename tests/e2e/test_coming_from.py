"""The pages for users of other tools: every metric that their tables name exists."""

import re
from pathlib import Path

import pytest

from sgi.kernel.registry import metric_names

PAGES = sorted((Path(__file__).parents[2] / "docs" / "coming-from").glob("*.md"))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_metric_in_the_tables_exists(path):
    rows = re.findall(r"^\| .*? \| (`.*?) \|", path.read_text("utf-8"), re.MULTILINE)
    shown = {name for cell in rows for name in re.findall(r"`([a-z_0-9]+)`", cell)}
    assert len(shown) > 2
    assert shown <= set(metric_names())
