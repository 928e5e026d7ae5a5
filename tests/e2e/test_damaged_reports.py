"""Reports with little data, with damage and with strange names, in a real browser."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from sgi.reporting.html import run_report
from support.browser import accessibility_violations, watched_page
from support.report_pages import WIDE, open_report, wait_for_rows
from support.views import bare_view, row_page, run_view

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow


def test_a_run_of_which_nothing_is_known_opens(browser: Browser, tmp_path: Path) -> None:
    place = tmp_path / "bare.html"
    place.write_text(run_report(bare_view(), row_page(0), export=None), encoding="utf-8")
    with watched_page(browser, viewport=WIDE) as watched:
        open_report(watched.page, place)
        assert "No rows are scored yet." in watched.page.locator("main").inner_text()
        assert accessibility_violations(watched.page) == []
        assert watched.errors == []


def test_compressed_data_is_read_and_damage_is_reported(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sgi.reporting.html_page._MAX_PLAIN_BYTES", 1000)
    whole = run_report(run_view(), row_page(), export=None)
    place = tmp_path / "packed.html"
    place.write_text(whole, "utf-8")
    with watched_page(browser, viewport=WIDE) as watched:
        open_report(watched.page, place)
        wait_for_rows(watched.page, 120)
        assert watched.page.locator("[data-chart=distribution-0] svg").count() == 1
        assert watched.errors == []
        start = 'type="text/plain" id="data-charts">'
        assert start in whole
        place.write_text(whole.replace(start, f"{start}AAAA"), "utf-8")
        watched.page.goto(place.as_uri())
        watched.page.get_by_text("cannot read the data of this report").wait_for()
        assert watched.page.locator("#rows-table tbody tr").count() == 50


def test_a_chart_that_fails_says_so_and_the_others_are_drawn(browser: Browser, tmp_path: Path) -> None:
    whole = run_report(run_view(), row_page(), export=None)
    place = tmp_path / "broken.html"
    place.write_text(whole.replace('"distribution-0":{', '"distribution-0":null,"unused":{'), "utf-8")
    with watched_page(browser, viewport=WIDE) as watched:
        open_report(watched.page, place)
        failed = watched.page.locator("[data-chart=distribution-0]")
        assert "Cannot draw this chart" in failed.inner_text()
        assert failed.get_attribute("role") is None
        assert watched.page.locator("[data-chart=distribution-1] svg").count() == 1


def test_an_id_that_begins_with_a_dash_is_no_option(browser: Browser, tmp_path: Path) -> None:
    page = row_page()
    dashed = replace(page, rows=(*page.rows[:50], replace(page.rows[50], id="--spec"), *page.rows[51:]))
    place = tmp_path / "dashed.html"
    place.write_text(run_report(run_view(), dashed, export=None), encoding="utf-8")
    with watched_page(browser, viewport=WIDE) as watched:
        open_report(watched.page, place)
        watched.page.locator("#filters [name=text]").fill("--spec")
        wait_for_rows(watched.page, 1)
        watched.page.get_by_role("button", name="--spec").click()
        assert watched.page.locator("#panel-body code").inner_text().endswith(" --sample=--spec")
