from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_tests_and_pages_that_it_names_exist():
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w./]+)`", text) + re.findall(r"\]\(([\w./-]+)\)", text)
    assert len(named) > 20
    assert [path for path in named if not (ROOT / path).exists()] == []
