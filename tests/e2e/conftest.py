"""One browser for the tests of a module."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.browser import chromium

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser(request: pytest.FixtureRequest) -> Iterator[Browser]:
    """Open Chromium after the module's server and report: Playwright holds the event loop of this thread."""
    for name in ("address", "report"):
        if hasattr(request.module, name):
            request.getfixturevalue(name)
    with chromium() as opened:
        yield opened
