from __future__ import annotations

import importlib.util
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "make_metrics_page.py"


def test_the_page_is_what_the_code_says():
    spec = importlib.util.spec_from_file_location("make_metrics_page", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.PAGE.read_text(encoding="utf-8") == script.page(), (
        "run `python scripts/make_metrics_page.py`"
    )
