"""The table of rows in a real browser: pages load while one scrolls, and columns."""

import pytest

from support.browser import accessibility_violations, wait_until, watched_page
from support.kept_runs import rows, store_run
from support.web_server import open_site, serve_site

SHOWN = "() => [...document.querySelectorAll('#rows tbody th')].map(e => e.innerText)"
BOTTOM = "() => { const box = document.querySelector('#rows .box'); box.scrollTop = box.scrollHeight; }"
TOP = "() => { document.querySelector('#rows .box').scrollTop = 1; }"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("table")
    store_run(folder / "sgi.db", folder, rows(450), name="long")
    with open_site(folder) as site, serve_site(site) as made:
        yield made


@pytest.fixture
def page(browser, address):
    with watched_page(browser, base_url=address, viewport={"width": 1280, "height": 900}) as watched:
        watched.page.goto("/runs/long?sort=position")
        yield watched.page
        assert watched.errors == []


def scroll_to(page, end, first, last):
    """Scroll until the table has exactly the rows between these."""
    for _ in range(20):
        page.evaluate(end)
        page.wait_for_timeout(150)
        shown = page.evaluate(SHOWN)
        if (shown[0], shown[-1]) == (f"item-{first}", f"item-{last}"):
            return
    raise AssertionError((shown[0], shown[-1], len(shown)))


@pytest.mark.slow
def test_scrolling_loads_rows_and_removes_those_that_are_far_away(page):
    scroll_to(page, BOTTOM, 150, 449)
    assert len(page.evaluate(SHOWN)) == 300
    assert page.locator("#rows .pager").inner_text().split("\n") == ["Previous", "Pages 4 to 9 of 9", "Next"]
    assert page.locator("#rows tbody tr").last.get_attribute("aria-rowindex") == "451"
    assert page.locator("#rows table").get_attribute("aria-rowcount") == "451"
    assert "Rows 151 to 450 of 450" in page.locator("#announcement").text_content()
    scroll_to(page, TOP, 0, 299)
    assert len(set(page.evaluate(SHOWN))) == 300
    page.locator("#rows a[rel=next]").click()  # the links still work
    page.wait_for_url("**page=7*")
    assert page.evaluate(SHOWN)[0] == "item-300"


@pytest.mark.slow
def test_the_keyboard_reaches_rows_of_the_next_page(page):
    for _ in range(200):
        page.keyboard.press("j")
        if page.evaluate("() => document.activeElement.innerText") == "item-70":
            break
        page.wait_for_timeout(20)
    page.keyboard.press("Enter")
    page.wait_for_url("**/samples/item-70**at=71")
    assert "71 of 450" in page.locator("nav.pager").inner_text()


@pytest.mark.slow
def test_a_filter_starts_the_table_again_and_columns_stay_in_the_address(page):
    page.evaluate(BOTTOM)
    wait_until(page, "() => document.querySelectorAll('#rows tbody tr').length > 50")
    page.locator("summary", has_text="Columns").click()
    page.locator("input[name=columns][value=question]").uncheck()
    page.wait_for_url("**columns=label*")
    assert "question" not in page.url
    assert page.locator("#rows thead").inner_text().count("Question") == 0
    page.locator("input[name=columns][value=question]").check()
    wait_until(page, "() => !location.search.includes('columns=')")
    page.locator("#q").fill('"item 7"')
    page.locator("#rows p", has_text="1 of 450 rows").wait_for()
    page.goto(page.url)  # an address is a saved filter
    page.locator("#rows p", has_text="1 of 450 rows").wait_for()
    assert accessibility_violations(page) == []


@pytest.mark.slow
def test_the_table_works_without_scripts(browser, address):
    with watched_page(browser, base_url=address, java_script_enabled=False) as watched:
        page = watched.page
        page.goto("/runs/long?sort=position")
        page.locator("#rows a[rel=next]").click()
        assert page.locator("#rows tbody th").first.inner_text() == "item-50"
        page.locator("summary", has_text="Columns").click()
        page.locator("input[name=columns][value=label]").uncheck()
        page.get_by_role("button", name="Apply").click()
        assert "Label" not in page.locator("#rows thead").inner_text()
