"""The report in a real browser, opened from disk: what people do with it, and that nothing leaves it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from sgi.reporting.html import comparison_report, run_report
from support.browser import accessibility_violations, wait_until, watched_page
from support.report_pages import DRAWN, WIDE, open_report, wait_for_rows
from support.views import HOSTILE_ID, comparison_view, id_of, row_page, run_view, theta

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from support.browser import WatchedPage

pytestmark = pytest.mark.slow

_LEVELS = """[...document.querySelectorAll('h1,h2,h3,h4,h5')]
  .filter(e => !e.closest('dialog')).map(e => Number(e.tagName[1]))"""
_PHONE = {"width": 360, "height": 740}
_FILL = "document.querySelector('[data-chart=distribution-0] svg text')?.getAttribute('fill')"

# The first pixel of the plane that is inside a point: all its neighbours have colour too.
_COLOURED = """() => {
  const canvas = document.querySelector('[data-chart=plane] canvas');
  const { data, width, height } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const coloured = (x, y) => {
    const [r, g, b] = data.subarray(4 * (y * width + x));
    return Math.max(r, g, b) - Math.min(r, g, b) > 60;
  };
  for (let y = 2; y < height * 0.8; y += 1) {
    for (let x = 2; x < width - 2; x += 1) {
      if ([[0, 0], [2, 0], [-2, 0], [0, 2], [0, -2]].every(([dx, dy]) => coloured(x + dx, y + dy))) {
        return [x * canvas.clientWidth / width + 0.5, y * canvas.clientHeight / height + 0.5];
      }
    }
  }
  return null;
}"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("report") / "report.html"
    place.write_text(run_report(run_view(), row_page(), export="rows.jsonl"), encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("comparison") / "comparison.html"
    place.write_text(
        comparison_report(comparison_view(), run_view().headline, run_view().headline), encoding="utf-8"
    )
    return place


@pytest.fixture
def opened(browser: Browser, report: Path) -> Iterator[WatchedPage]:
    """The report, drawn; whatever a test does, it must not make the page complain or ask for anything."""
    with watched_page(browser, viewport=WIDE) as watched:
        open_report(watched.page, report)
        yield watched
        assert watched.errors == []
        assert watched.requests == [report.as_uri()]


def _ids(page: Page) -> list[str]:
    return page.locator("#rows-table tbody tr th").all_inner_texts()


def _places(page: Page) -> list[int]:
    return [int(text) for text in page.locator("#rows-table tbody tr td:first-child").all_inner_texts()]


def test_nothing_in_the_texts_runs_and_every_chart_is_drawn(opened: WatchedPage) -> None:
    assert opened.page.evaluate("window.hacked") is None
    empty = opened.page.evaluate(
        "[...document.querySelectorAll('[data-chart]')].filter(e => !e.querySelector('svg, canvas')).length"
    )
    assert empty == 0
    assert opened.page.locator("[data-chart]").count() == 10
    assert opened.page.locator("[data-chart=plane] canvas").count() == 1
    assert opened.page.get_by_role("img", name="sgi: angle plane").count() == 1


def test_the_table_filters_by_text_status_and_label_and_says_how_many_rows_are_left(
    opened: WatchedPage,
) -> None:
    page = opened.page
    wait_for_rows(page, 120)
    page.locator("#filters [name=text]").fill("question 11?")
    wait_for_rows(page, 1)
    assert _ids(page) == ["row-11"]
    page.locator("#filters [name=text]").fill("no such words")
    wait_for_rows(page, 0)
    assert "No rows match" in page.locator("#rows-table tbody").inner_text()
    page.get_by_role("button", name="Show all").click()
    wait_for_rows(page, 120)
    page.locator("#filters [name=status]").select_option("failed")
    wait_for_rows(page, 80)
    page.locator("#filters [name=label]").select_option("none")
    wait_for_rows(page, 8)
    page.locator("#filters [name=status]").select_option("ok")
    wait_for_rows(page, 4)


def test_the_table_sorts_by_a_column_both_ways_and_says_so(opened: WatchedPage) -> None:
    page = opened.page
    head = page.locator("#rows-table thead th").nth(5)
    button = head.get_by_role("button")
    button.click()
    assert head.get_attribute("aria-sort") == "ascending"
    values = [float(text) for text in page.locator("#rows-table tbody tr td:nth-child(6)").all_inner_texts()]
    assert values == sorted(values)
    button.click()
    assert head.get_attribute("aria-sort") == "descending"
    assert float(page.locator("#rows-table tbody tr td:nth-child(6)").first.inner_text()) > values[-1]
    judged = page.locator("#rows-table thead th").nth(7)
    judged.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "none"
    page.get_by_role("button", name="Last").click()
    assert page.locator("#rows-table tbody abbr").count() == 20  # rows without a value stand last, either way


def test_the_table_is_paged(opened: WatchedPage) -> None:
    page = opened.page
    assert _places(page) == list(range(50))
    assert page.get_by_role("button", name="Previous").is_disabled()
    page.get_by_role("button", name="Next").click()
    assert _places(page) == list(range(50, 100))
    assert page.locator("#page-now").inner_text() == "Page 2 of 3"
    page.get_by_role("button", name="Last").click()
    assert _places(page) == list(range(100, 120))
    assert page.get_by_role("button", name="Next").is_disabled()


def test_a_rectangle_in_the_plane_leaves_the_rows_inside_it(opened: WatchedPage) -> None:
    page = opened.page
    canvas = page.locator("[data-chart=plane] canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.6)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.7, box["y"] + box["height"] * 0.4, steps=6)
    page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + box["height"] * 0.1, steps=6)
    page.mouse.up()
    wait_until(page, "document.getElementById('angles-form').elements['rc-low'].value !== ''")
    page.wait_for_timeout(1000)  # the last move updates the fields with a delay
    low, high, down, up = (
        float(page.locator(f"[name={name}]").input_value())
        for name in ("rc-low", "rc-high", "rq-low", "rq-high")
    )
    inside = [at for at in range(120) if low <= theta(at)[0] <= high and down <= theta(at)[1] <= up]
    assert 5 < len(inside) < 100
    wait_for_rows(page, len(inside))
    assert set(_places(page)) <= set(inside)
    assert page.locator("#angles-count").inner_text() == f"{len(inside)} rows are in the table below."
    page.get_by_role("button", name="Clear").click()
    wait_for_rows(page, 120)
    assert page.locator("[name=rc-low]").input_value() == ""


def test_the_angles_can_be_typed(opened: WatchedPage) -> None:
    page = opened.page
    page.get_by_role("group", name="θ(r, c), rad").get_by_label("from").fill("1.2")
    page.get_by_role("group", name="θ(r, q), rad").get_by_label("to").fill("1.0")
    inside = [at for at in range(120) if theta(at)[0] >= 1.2 and theta(at)[1] <= 1.0]
    assert inside
    wait_for_rows(page, len(inside))
    assert _places(page) == inside


def test_a_point_tells_of_its_row_and_opens_it(opened: WatchedPage) -> None:
    page = opened.page
    page.locator("[data-chart=plane]").scroll_into_view_if_needed()
    box = page.locator("[data-chart=plane] canvas").bounding_box()
    assert box is not None
    across, down = wait_until(page, _COLOURED)
    page.mouse.move(box["x"] + across, box["y"] + down)
    tip = page.locator(".tip")
    text = tip.inner_text()
    assert "SGI" in text
    assert "question Question" in text
    page.mouse.down()
    page.mouse.up()
    assert page.locator("#panel").is_visible()
    assert page.locator("#panel-title").inner_text() in text


def test_a_row_opens_with_the_keyboard_and_closes_with_escape(opened: WatchedPage) -> None:
    page = opened.page
    page.get_by_role("button", name="row-7", exact=True).focus()
    page.keyboard.press("Enter")
    panel = page.get_by_role("dialog")
    assert panel.get_by_role("heading", name="row-7").is_visible()
    assert "Answer 7." in panel.inner_text()
    assert "sgi show 01J00000000000000000000000 --sample=row-7" in panel.inner_text()
    page.keyboard.press("Escape")
    assert not panel.is_visible()
    assert page.evaluate("document.activeElement.textContent") == "row-7"


def test_a_row_link_opens_its_details_for_any_id(opened: WatchedPage) -> None:
    page = opened.page
    page.locator("#rows-table tbody tr").nth(2).locator("button").click()
    panel = page.get_by_role("dialog")
    shown = HOSTILE_ID.replace("\u202e", "\ufffd")
    assert panel.locator("#panel-title").inner_text() == shown
    assert "used for the score" in panel.inner_text()
    assert page.locator("[id=row-2]").count() == 1
    panel.get_by_role("button", name="Close").click()
    assert not panel.is_visible()


def test_a_link_to_a_folded_row_opens_it(opened: WatchedPage) -> None:
    page = opened.page
    row = page.locator("details#row-1")
    assert not row.evaluate("e => e.open")
    link = page.locator('a[href="#row-1"]').first
    link.locator("xpath=ancestor::details").locator("summary").first.click()
    link.click()
    wait_until(page, "document.getElementById('row-1').open")
    assert row.is_visible()


def test_the_skip_link_is_first_and_leads_to_the_content(opened: WatchedPage) -> None:
    page = opened.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_the_switch_changes_page_and_charts_and_keeps_nothing(browser: Browser, report: Path) -> None:
    with watched_page(browser, viewport=WIDE, color_scheme="dark") as watched:
        page = watched.page
        open_report(page, report)
        ground = "getComputedStyle(document.documentElement).backgroundColor"
        dark, dark_label = page.evaluate(ground), page.evaluate(_FILL)
        page.get_by_role("button", name="Switch to light theme").click()
        wait_until(page, f"old => {_FILL} && {_FILL} !== old", dark_label)
        assert page.evaluate(ground) == "rgb(255, 255, 255)" != dark
        page.reload()
        page.wait_for_selector(DRAWN)
        assert page.evaluate(ground) == dark
        assert watched.errors == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("which", ["report", "comparison"])
def test_no_serious_fault_of_accessibility(
    browser: Browser, request: pytest.FixtureRequest, which: str, scheme: str
) -> None:
    with watched_page(browser, viewport=WIDE, color_scheme=scheme) as watched:
        open_report(watched.page, request.getfixturevalue(which))
        watched.page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true; })")
        assert accessibility_violations(watched.page) == []
        if which == "report":
            watched.page.locator("#rows-table tbody button").first.click()
            assert accessibility_violations(watched.page) == []
        assert watched.errors == []


@pytest.mark.parametrize("which", ["report", "comparison"])
def test_headings_come_in_order(browser: Browser, request: pytest.FixtureRequest, which: str) -> None:
    with watched_page(browser, viewport=WIDE) as watched:
        open_report(watched.page, request.getfixturevalue(which))
        levels = watched.page.evaluate(_LEVELS)
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(after <= before + 1 for before, after in pairwise(levels))


@pytest.mark.parametrize("which", ["report", "comparison"])
def test_a_phone_scrolls_down_alone(browser: Browser, request: pytest.FixtureRequest, which: str) -> None:
    with watched_page(browser, viewport=_PHONE, has_touch=True) as watched:
        page = watched.page
        open_report(page, request.getfixturevalue(which))
        page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") == 360
        assert watched.errors == []


def test_print_is_light_and_without_controls(browser: Browser, report: Path) -> None:
    with watched_page(browser, viewport=WIDE, color_scheme="dark") as watched:
        page = watched.page
        page.goto(report.as_uri())
        page.wait_for_selector(DRAWN)
        page.emulate_media(media="print")
        assert (
            page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
            == "rgb(255, 255, 255)"
        )
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.locator("details.section:not([open])").count() == 0
        for control in ("#filters", "#pages", "#theme", ".contents", "#angles-form"):
            assert not page.locator(control).is_visible()
        wait_until(page, f"{_FILL} === '#222'")
        assert page.pdf().startswith(b"%PDF")
        assert watched.errors == []


def test_without_scripts_the_first_rows_are_there(browser: Browser, report: Path) -> None:
    with watched_page(browser, java_script_enabled=False) as watched:
        watched.page.goto(report.as_uri())
        assert watched.page.locator("#rows-table tbody tr").count() == 50
        assert watched.page.locator("noscript").count() == 1
        watched.page.locator("details#rows > summary").click()
        assert not watched.page.locator("#filters").is_visible()
        text = watched.page.locator("#rows-table").inner_text()
        assert id_of(1) in text


def test_the_comparison_shows_both_answers_side_by_side(browser: Browser, comparison: Path) -> None:
    with watched_page(browser, viewport=WIDE) as watched:
        page = watched.page
        open_report(page, comparison)
        page.locator("details.row summary").first.click()
        sides = page.locator("details.row .side").all_inner_texts()
        assert len(sides) == 2
        assert "No." in sides[0]
        assert page.locator("[data-chart=differences] svg").count() == 1
        assert watched.errors == []
        assert watched.requests == [comparison.as_uri()]


def test_sections_are_closed_until_a_link_leads_into_them(browser: Browser, report: Path) -> None:
    with watched_page(browser, viewport=WIDE) as watched:
        page = watched.page
        page.goto(report.as_uri())
        page.wait_for_selector(DRAWN)
        assert page.locator("details.section[open]").count() == 0
        assert "median" in page.locator("details#distributions > summary").inner_text()
        page.get_by_role("link", name="Distributions").click()
        page.locator("[data-chart=distribution-0] svg").wait_for(state="visible")
        assert page.locator("[data-chart=distribution-0] svg").bounding_box()["width"] > 200


def test_an_address_that_is_no_escape_leaves_the_page_whole(browser: Browser, report: Path) -> None:
    with watched_page(browser, viewport=WIDE) as watched:
        watched.page.goto(f"{report.as_uri()}#%")
        watched.page.wait_for_selector(DRAWN)
        wait_for_rows(watched.page, 120)
        assert watched.errors == []
