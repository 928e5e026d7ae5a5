from __future__ import annotations

from support.scripts import load_script


def test_the_page_is_what_the_code_says():
    with load_script("make_metrics_page") as script:
        assert script.PAGE.read_text(encoding="utf-8") == script.page(), (
            "run `python scripts/make_metrics_page.py`"
        )
