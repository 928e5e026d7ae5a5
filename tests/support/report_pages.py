"""A report in a real browser."""

from pathlib import Path

from playwright.sync_api import Page

from support.browser import wait_until

DRAWN = "html[data-charts=drawn]"
WIDE = {"width": 1280, "height": 900}


def open_report(page: Page, place: Path) -> None:
    """Open a report, wait for its charts, and open all sections."""
    page.goto(place.as_uri())
    page.wait_for_selector(DRAWN)
    page.evaluate("() => document.querySelectorAll('details.section').forEach(e => { e.open = true; })")


def wait_for_rows(page: Page, rows: int) -> None:
    """Wait until so many rows are said to be shown."""
    said = "text => document.getElementById('rows-count').textContent === text"
    wait_until(page, said, f"{rows} of 120 rows shown")
