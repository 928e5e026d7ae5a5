"""The documentation site, built without a warning and opened from disk in a real browser."""

import re

import pytest

from support.browser import accessibility_violations, watched_page
from support.command import sgi
from support.pages import ROOT
from support.scripts import load_script

pytestmark = pytest.mark.slow

for package in ("furo", "latex2mathml", "myst_parser"):
    pytest.importorskip(package, reason="needs requirements/site.txt")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with load_script("make_site") as script:
        return script.build(tmp_path_factory.mktemp("build") / "site", "1.2.3")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["index.html", "grounding.html", "reference/formats.html"])
def test_pages_load_nothing_from_elsewhere_and_are_accessible(site, browser, path, scheme):
    with watched_page(browser, color_scheme=scheme) as watched:
        watched.page.goto((site / path).as_uri())
        assert watched.requests_outside("file:", "data:") == []
        assert watched.errors == []
        assert accessibility_violations(watched.page) == []


def found(site, page, query):
    """Return the addresses of the first results of the search for a text."""
    page.goto((site / "index.html").as_uri())
    page.fill("input[name=q]", query)
    page.keyboard.press("Enter")
    page.wait_for_selector("#search-results h2:has-text('Search Results')")
    return [link.get_attribute("href") for link in page.query_selector_all("#search-results li a")][:3]


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("privacy", "privacy.html"),
        ("GPU", "large-data.html"),
        ("test questions from documents", "quiz.html"),
        ("production", "production.html"),
        ("100,000 rows", "large-data.html"),
        ("xlsx", "data.html"),
        ("migrate from ragas", "migrate.html"),
        ("embedding models", "languages.html"),
        ("pandas", "python.html"),
    ],
)
def test_the_search_finds_what_users_look_for(site, browser, query, path):
    with watched_page(browser) as watched:
        assert path in found(site, watched.page, query)


@pytest.mark.parametrize(
    ("words", "anchor"),
    [
        (["run", "answers.csv", "-m", "groundingg"], "#unknown-metric"),
        (["runs", "tag", "monday", "old"], "#the-database-does-not-exist"),
        (
            ["run", "answers.csv", "--resume", "last", "--no-store"],
            "#no-store-cannot-be-combined-with-resume",
        ),
    ],
)
def test_the_search_finds_a_pasted_error_message(site, browser, tmp_path, words, anchor):
    (tmp_path / "answers.csv").write_text("question,response\nWhy?,Because.\n", encoding="utf-8")
    printed = sgi(tmp_path, *words).err.splitlines()[-1]
    with watched_page(browser) as watched:
        assert found(site, watched.page, printed)[0].startswith(f"reference/errors.html{anchor}"), printed


def test_pages_work_on_a_phone_without_javascript(site, browser):
    phone = {"width": 360, "height": 740}
    with watched_page(browser, java_script_enabled=False, color_scheme="dark", viewport=phone) as watched:
        page = watched.page
        page.goto((site / "index.html").as_uri())
        page.locator("article").get_by_role("link", name="Metrics", exact=True).last.click()
        page.click("article a:has-text('grounding')")
        assert page.url.endswith("metric-details.html#grounding")
        assert page.locator("body").evaluate("e => e.scrollWidth") <= phone["width"]
        red, green, blue = map(
            int,
            re.findall(r"\d+", page.locator("body").evaluate("e => getComputedStyle(e).backgroundColor"))[:3],
        )
        assert max(red, green, blue) < 64


def test_formulas_need_no_script(site):
    assert "<math" in (site / "reference/metric-details.html").read_text(encoding="utf-8")


def test_the_site_is_small_and_has_every_page(site):
    pages, written = [*site.parent.rglob("*.html")], [*(ROOT / "docs").glob("*.md")]
    assert len(pages) <= 60
    assert sum(len(path.read_text("utf-8").split()) for path in written) <= 45_000
    assert {path.stem for path in pages} >= {path.stem for path in written}


def test_assistants_get_a_list_of_pages_and_one_file_of_them(site):
    listed = re.findall(r"\]\((.+?)\)", (site / "llms.txt").read_text(encoding="utf-8"))
    assert [path for path in listed if not (site / path).is_file()] == []
    whole = (site / "llms-full.md").read_text(encoding="utf-8")
    assert all(path.read_text("utf-8") in whole for path in (ROOT / "docs").glob("*.md"))


def test_versions_stay_in_their_folders(site):
    with load_script("make_site") as script:
        older = site.with_name("1.2.0")
        older.mkdir()
        (older / "index.html").write_text("old", encoding="utf-8")
        script._write_versions(site.parent)
    assert 'href="1.2.0/index.html"' in (site.parent / "versions.html").read_text(encoding="utf-8")
    assert "url=1.2.3/index.html" in (site.parent / "index.html").read_text(encoding="utf-8")
