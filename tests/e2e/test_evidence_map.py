"""The evidence map in a real browser: in the dashboard over a real server, and in the report from disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sgi.reporting.html import run_report
from sgi.reporting.views.run_view import RunView
from sgi.store.row_query import RowQuery, row_page
from sgi.store.run_queries import find_run
from support.browser import accessibility_violations, watched_page
from support.evidence_maps import CONTEXTS, RESPONSE
from support.kept_runs import store_run
from support.slow import slow
from support.web_server import open_site, serve_site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from sgi_web.site import Site

MARKUP = "<script>document.title='stolen'</script><img src=x onerror=alert(1)> {{ 7 * 7 }} \u202e"
_TOWER = {"question": "How tall is it?", "contexts": [*CONTEXTS, "It opened in 1889."], "response": RESPONSE}
_SPITE = {"question": MARKUP, "contexts": [f"{MARKUP} 330 m tall."], "response": f"{MARKUP} 9 m tall."}
ROWS = [{"id": "tower"} | _TOWER, {"id": "hostile"} | _SPITE]
_OPEN = "() => document.querySelectorAll('details').forEach(e => { e.open = true; })"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("evidence")
    store_run(folder / "sgi.db", folder, ROWS, name="grounded", metrics=["grounding"])
    with open_site(folder) as made:
        yield made


@pytest.fixture(scope="module")
def address(site: Site) -> Iterator[str]:
    with serve_site(site) as made:
        yield made


@pytest.fixture(scope="module")
def report(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = find_run(site.database, "grounded")
    place = tmp_path_factory.mktemp("report") / "report.html"
    page = run_report(RunView(site.database, run), row_page(site.database, run, RowQuery()), export=None)
    place.write_text(page, encoding="utf-8")
    return place


def _sees_what_is_wrong(page: Page) -> None:
    """The marks, the number beside that of the passage, the passage that nobody used."""
    found = page.locator(".support").filter(has_text="312 m")
    wrong = found.locator("mark.contradicted")
    assert wrong.evaluate("e => e.firstChild.data") == "312 m"
    assert wrong.get_attribute("title") == "passage 3 has 330 m (other value)"
    assert found.locator("mark.stated").all_inner_texts() == ["330 m"]
    verdicts = found.locator(".verdict").all_inner_texts()
    assert verdicts == ["Contradicted", "Unsupported", "Supported"]
    assert "Spanish investors" in found.locator("mark.absent").first.inner_text()
    assert "passage 1: Bananas are yellow." in found.inner_text()


@pytest.mark.parametrize("scheme", ["light", *slow("dark")])
def test_a_row_of_the_dashboard(browser: Browser, address: str, scheme: str) -> None:
    with watched_page(browser, base_url=address, color_scheme=scheme) as watched:
        watched.page.goto("/runs/grounded/samples/tower")
        _sees_what_is_wrong(watched.page)
        assert accessibility_violations(watched.page) == []
        assert watched.errors == []
        assert watched.requests_outside(address, "data:") == []


@pytest.mark.parametrize("scheme", ["light", *slow("dark")])
def test_a_row_of_the_report(browser: Browser, report: Path, scheme: str) -> None:
    with watched_page(browser, color_scheme=scheme) as watched:
        watched.page.goto(report.as_uri())
        watched.page.wait_for_selector("html[data-charts=drawn]")
        watched.page.evaluate(_OPEN)
        _sees_what_is_wrong(watched.page)
        assert accessibility_violations(watched.page) == []
        watched.page.locator("details.row").evaluate_all("rows => rows.forEach(e => { e.open = false; })")
        watched.page.get_by_role("button", name="tower", exact=True).click()
        assert watched.page.get_by_role("dialog").locator(".sentences mark.contradicted").count() == 1
        assert watched.errors == []


def test_hostile_texts_are_texts(browser: Browser, address: str) -> None:
    with watched_page(browser, base_url=address) as watched:
        watched.page.goto("/runs/grounded/samples/hostile")
        assert "stolen" not in watched.page.title()
        assert watched.page.locator(".support img, .support script").count() == 0
        assert "{{ 7 * 7 }}" in watched.page.locator(".support").inner_text()
        assert watched.errors == []


@pytest.mark.slow
def test_a_phone_needs_no_scrolling_aside_and_no_script(browser: Browser, report: Path) -> None:
    with watched_page(browser, viewport={"width": 360, "height": 740}, java_script_enabled=False) as watched:
        page = watched.page
        page.goto(report.as_uri())
        for row in page.locator("details.row summary").all():
            row.click()
        _sees_what_is_wrong(page)
        assert page.locator("html").evaluate("e => e.scrollWidth") == 360
