"""The documentation site, built without a warning and opened from disk in a real browser."""

import re

import pytest

from support.browser import accessibility_violations, watched_page
from support.scripts import load_script

pytestmark = pytest.mark.slow

for package in ("furo", "latex2mathml", "myst_parser"):
    pytest.importorskip(package, reason="needs requirements/site.txt")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with load_script("make_site") as script:
        return script.build(tmp_path_factory.mktemp("build") / "site", "1.2.3")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "path", ["index.html", "reference/metrics/sgi.html", "reference/commands/sgi-run.html"]
)
def test_pages_load_nothing_from_elsewhere_and_are_accessible(site, browser, path, scheme):
    with watched_page(browser, color_scheme=scheme) as watched:
        watched.page.goto((site / path).as_uri())
        assert watched.requests_outside("file:", "data:") == []
        assert watched.errors == []
        assert accessibility_violations(watched.page) == []


def test_search_works_from_disk(site, browser):
    with watched_page(browser) as watched:
        watched.page.goto((site / "index.html").as_uri())
        watched.page.fill("input[name=q]", "max_failures")
        watched.page.keyboard.press("Enter")
        watched.page.wait_for_selector("#search-results li a")
        assert "Settings in TOML files" in watched.page.inner_text("#search-results")


def test_pages_work_on_a_phone_without_javascript(site, browser):
    phone = {"width": 360, "height": 740}
    with watched_page(browser, java_script_enabled=False, color_scheme="dark", viewport=phone) as watched:
        page = watched.page
        page.goto((site / "index.html").as_uri())
        page.click("article a:has-text('Reference')")
        page.click("article a:has-text('Metrics')")
        page.click("article a:has-text('grounding')")
        assert page.inner_text("h1").startswith("grounding")
        assert page.locator("body").evaluate("e => e.scrollWidth") <= phone["width"]
        red, green, blue = map(
            int,
            re.findall(r"\d+", page.locator("body").evaluate("e => getComputedStyle(e).backgroundColor"))[:3],
        )
        assert max(red, green, blue) < 64


def test_formulas_need_no_script(site):
    assert "<math" in (site / "reference/metrics/sgi.html").read_text(encoding="utf-8")


def test_versions_stay_in_their_folders(site):
    with load_script("make_site") as script:
        older = site.with_name("1.2.0")
        older.mkdir()
        (older / "index.html").write_text("old", encoding="utf-8")
        script._write_versions(site.parent)
    assert 'href="1.2.0/index.html"' in (site.parent / "versions.html").read_text(encoding="utf-8")
    assert "url=1.2.3/index.html" in (site.parent / "index.html").read_text(encoding="utf-8")
