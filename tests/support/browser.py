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
    """A headless browser; the test is skipped without one."""
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
    """A page with its errors and requests.

    Attributes:
        page: Playwright's.
        errors: console messages, uncaught errors, and violations of the content policy.
        requests: the addresses that it requested.
    """

    page: Page
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def requests_outside(self, *allowed: str) -> list[str]:
        """The requested addresses that start with none of these prefixes."""
        return [address for address in self.requests if not address.startswith(allowed)]


@contextmanager
def watched_page(browser: Browser, **context: Any) -> Iterator[WatchedPage]:
    """Open a page in a new context; the options are those of Playwright's `new_context`."""
    browser_context = browser.new_context(**context)
    page = browser_context.new_page()
    page.set_default_timeout(20_000)
    watched = WatchedPage(page)
    page.on("console", lambda said: _note(watched, said))
    page.on("pageerror", lambda error: watched.errors.append(str(error)))
    page.on("request", lambda request: watched.requests.append(request.url))
    try:
        yield watched
    finally:
        browser_context.close()


def _note(watched: WatchedPage, said: Any) -> None:
    if said.type in {"error", "warning"}:
        watched.errors.append(f"{said.type}: {said.text}")


def wait_until(page: Page, expression: str, argument: Any = None, *, seconds: float = 20.0) -> Any:
    """Wait until a JavaScript expression is truthy, and return its value.

    Playwright's own function evaluates text as code inside the page, which a strict content policy forbids.
    """
    end = monotonic() + seconds
    while True:
        try:
            if value := page.evaluate(expression, argument):
                return value
        except Exception as error:  # Playwright's error, which a light environment cannot import
            if "context was destroyed" not in str(error):  # a page that is being left has no value
                raise
        assert monotonic() < end, f"was not true within {seconds:g} s: {expression}"
        page.wait_for_timeout(25)


def accessibility_violations(page: Page) -> list[str]:
    """Serious and critical violations that axe-core finds: one line per rule, with the elements.

    Playwright injects the check, so a strict content policy does not block it.
    """
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="needs axe: pip install axe-playwright-python"
    )
    violations = axe.Axe().run(page).response["violations"]
    return [
        f"{fault['id']}: {fault['help']}: {'; '.join(str(node['target']) for node in fault['nodes'][:5])}"
        for fault in violations
        if fault["impact"] in {"serious", "critical"}
    ]
