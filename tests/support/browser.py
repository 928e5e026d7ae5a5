"""A real browser: Debian's Chromium, driven by Playwright, with what a page does watched."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page


@contextmanager
def chromium() -> Iterator[Browser]:
    """A headless browser; the test is skipped where there is none."""
    place = shutil.which("chromium") or shutil.which("chromium-browser")
    if place is None:
        pytest.skip("needs a browser: apt-get install chromium")
    driver = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install playwright")
    with driver.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=place, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class WatchedPage:
    """A page and what it did that it should not.

    Attributes:
        page: Playwright's.
        complaints: what the console or an uncaught error said, refusals of the content policy among them.
        requests: the addresses that it asked for.
    """

    page: Page
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def requests_outside(self, *allowed: str) -> list[str]:
        """Requests for addresses that begin with none of these."""
        return [address for address in self.requests if not address.startswith(allowed)]


@contextmanager
def watched_page(browser: Browser, **context: Any) -> Iterator[WatchedPage]:
    """A page of its own context, whose options are Playwright's `new_context`."""
    made = browser.new_context(**context)
    page = made.new_page()
    page.set_default_timeout(20_000)
    watched = WatchedPage(page)
    page.on("console", lambda said: _note(watched, said))
    page.on("pageerror", lambda error: watched.errors.append(str(error)))
    page.on("request", lambda request: watched.requests.append(request.url))
    try:
        yield watched
    finally:
        made.close()


def _note(watched: WatchedPage, said: Any) -> None:
    if said.type in {"error", "warning"}:
        watched.errors.append(f"{said.type}: {said.text}")


def wait_until(page: Page, expression: str, argument: Any = None, *, seconds: float = 20.0) -> Any:
    """What a JavaScript expression gives as soon as that counts as true.

    Playwright's own waiting makes code from text inside the page, which a strict content policy refuses.
    """
    end = monotonic() + seconds
    while not (found := page.evaluate(expression, argument)):
        assert monotonic() < end, f"was not true within {seconds:g} s: {expression}"
        page.wait_for_timeout(25)
    return found


def accessibility_violations(page: Page) -> list[str]:
    """What axe-core finds that keeps people from using the page, one line a rule with the places.

    The check is put into the page from outside, so a strict content policy does not stop it.
    """
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="needs axe: pip install axe-playwright-python"
    )
    found = axe.Axe().run(page).response["violations"]
    return [
        f"{fault['id']}: {fault['help']}: {'; '.join(str(node['target']) for node in fault['nodes'][:5])}"
        for fault in found
        if fault["impact"] in {"serious", "critical"}
    ]
