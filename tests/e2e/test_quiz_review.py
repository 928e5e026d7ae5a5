"""The review of a quiz in a real browser: one key each."""

import json

import pytest

from sgi_quiz.review_file import Review, dropped_path, read_quiz
from support.browser import accessibility_violations, watched_page
from support.web_server import open_site, serve_site

PASSAGE = "It is blue. The **ferry** {0} was launched\nin 19{0}0 by the shipyard of Tolvik. It is slow."


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("quiz") / "quiz.jsonl"
    rows = [
        {
            "id": f"fact-{number}",
            "question": f"When was the ferry {number} launched?",
            "reference": f"19{number}0",
            "gold_passages": [PASSAGE.format(number)],
            "kind": "fact",
            "asks_for": "date",
            "difficulty": "easy",
            "why": "Asks for a date that one sentence of ferries.md > Ferries states.",
            "sentence": f"The ferry {number} was launched in 19{number}0 by the shipyard of Tolvik.",
            "sources": ["ferries.md > Ferries"],
        }
        for number in range(1, 5)
    ]
    rows[0] |= {"review": "kept", "stale": True, "stale_reason": "its passage is no longer in ferries.md"}
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def address(path):
    with open_site(path.parent, quiz=Review(path)) as site, serve_site(site) as made:
        yield made


def _press(page, *keys):
    """Press keys on a page that has loaded."""
    page.wait_for_load_state()
    for key in keys:
        page.keyboard.press(key)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_keys_keep_edit_drop_and_undo(browser, address, path, scheme):
    context = {"viewport": {"width": 360, "height": 800}, "color_scheme": scheme}
    with watched_page(browser, base_url=address, **context) as watched:
        page = watched.page
        page.goto("/quiz")
        assert "Stale" in page.locator(".problem").inner_text()
        assert accessibility_violations(page) == []
        assert page.evaluate("() => document.documentElement.scrollWidth <= 360")
        _press(page, "k")
        page.wait_for_selector("text=1 of 4 reviewed")
        _press(page, "e", "Control+End", "!", "Escape", "k")
        page.wait_for_selector("text=2 of 4 reviewed")
        _press(page, "d")
        page.wait_for_selector("text=3 of 4 reviewed")
        assert [row.review for row in read_quiz(path).rows] == ["kept", "edited", None]
        assert read_quiz(path).rows[1].question.endswith("!")
        assert dropped_path(path).stat().st_size
        for left in (2, 1, 0):
            _press(page, "u")
            page.wait_for_selector(f"text={left} of 4 reviewed")
        assert [row.review for row in read_quiz(path).rows] == ["kept", None, None, None]
        assert watched.errors == []
        assert watched.requests_outside(address, "data:") == []
