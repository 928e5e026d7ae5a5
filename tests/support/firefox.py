"""Debian's Firefox, driven by WebDriver BiDi (https://w3c.github.io/webdriver-bidi/).

Playwright can only drive its own build of Firefox, and Debian has no geckodriver.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import shutil
import tempfile
from contextlib import asynccontextmanager, contextmanager
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
from anyio.from_thread import start_blocking_portal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from anyio.from_thread import BlockingPortal

_KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "Tab": "\ue004", "ArrowDown": "\ue015", "ArrowUp": "\ue013"}
_LISTENING = re.compile(rb"WebDriver BiDi listening on (ws://\S+)")
_SECONDS = 60.0


class BidiError(Exception):
    """Firefox refused a command, or a script of the page failed."""


class _Connection:
    """A session of WebDriver BiDi with one tab; it belongs to the event loop that opened it."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._number = 0
        self.tab = ""
        self.errors: list[str] = []

    async def start(self) -> None:
        await self.send("session.new", capabilities={})
        await self.send("session.subscribe", events=["log.entryAdded"])
        self.tab = (await self.send("browsingContext.getTree"))["contexts"][0]["context"]

    async def send(self, method: str, **parameters: Any) -> Any:
        """Send a command, and return its result; errors of the page that arrive meanwhile are recorded."""
        self._number += 1
        await self._socket.send_json({"id": self._number, "method": method, "params": parameters})
        while True:
            message = await self._socket.receive_json(timeout=_SECONDS)
            if message.get("method") == "log.entryAdded" and message["params"]["level"] == "error":
                self.errors.append(str(message["params"]["text"]))
            if message.get("id") == self._number:
                if message["type"] == "error":
                    raise BidiError(f"{method}: {message['error']}: {message['message']}")
                return message["result"]


class Firefox:
    """One tab of a headless Firefox, with the methods of `browser.Tab`."""

    def __init__(self, portal: BlockingPortal, connection: _Connection) -> None:
        self._portal = portal
        self._connection = connection

    @property
    def errors(self) -> list[str]:
        """Uncaught errors and console errors of all pages so far."""
        return self._connection.errors

    def _send(self, method: str, **parameters: Any) -> Any:
        async def send() -> Any:
            return await self._connection.send(method, **parameters)

        return self._portal.call(send)

    def goto(self, address: str) -> None:
        """Open an address, and wait until it is loaded."""
        self._send("browsingContext.navigate", context=self._connection.tab, url=address, wait="complete")

    def resize(self, width: int, height: int) -> None:
        """Set the size of the page in CSS pixels."""
        size = {"width": width, "height": height}
        self._send("browsingContext.setViewport", context=self._connection.tab, viewport=size)

    def evaluate(self, expression: str) -> Any:
        """Return the JSON value of a JavaScript expression."""
        reply = self._send(
            "script.callFunction",
            functionDeclaration=f"async () => JSON.stringify(await ({expression}) ?? null)",
            target={"context": self._connection.tab},
            awaitPromise=True,
            userActivation=True,
        )
        if reply["type"] != "success":
            raise BidiError(reply["exceptionDetails"]["text"])
        return json.loads(reply["result"]["value"])

    def wait_until(self, expression: str) -> Any:
        """Wait until an expression is truthy, and return its value; a page that is being left has none."""
        end = monotonic() + _SECONDS
        while monotonic() < end:
            try:
                if value := self.evaluate(expression):
                    return value
            except BidiError:
                pass
            sleep(0.05)
        raise AssertionError(f"was not true within {_SECONDS:g} s: {expression}")

    def press(self, *keys: str) -> None:
        """Press and release keys one after another: characters, or names such as Enter."""
        actions = [
            {"type": kind, "value": _KEYS.get(key, key)} for key in keys for kind in ("keyDown", "keyUp")
        ]
        source = {"type": "key", "id": "keyboard", "actions": actions}
        self._send("input.performActions", context=self._connection.tab, actions=[source])

    def click(self, selector: str) -> None:
        """Click in the middle of the first element of a CSS selector, as soon as it is visible."""
        found = json.dumps(selector)
        self.wait_until(f"document.querySelector({found})?.getClientRects().length")
        self.evaluate(
            f"document.querySelector({found}).scrollIntoView({{block: 'center', behavior: 'instant'}})"
        )
        box = self.evaluate(f"document.querySelector({found}).getClientRects()[0].toJSON()")
        middle = {"x": int(box["x"] + box["width"] / 2), "y": int(box["y"] + box["height"] / 2)}
        actions = [
            {"type": "pointerMove", **middle},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0},
        ]
        source = {"type": "pointer", "id": "mouse", "actions": actions}
        self._send("input.performActions", context=self._connection.tab, actions=[source])

    def choose_files(self, selector: str, *paths: Path) -> None:
        """Choose files in a file input."""
        found = self._send(
            "browsingContext.locateNodes",
            context=self._connection.tab,
            locator={"type": "css", "value": selector},
        )
        element = {"sharedId": found["nodes"][0]["sharedId"]}
        self._send(
            "input.setFiles",
            context=self._connection.tab,
            element=element,
            files=[str(path) for path in paths],
        )

    def screenshot(self, path: Path) -> None:
        """Save the visible part of the page as PNG."""
        reply = self._send("browsingContext.captureScreenshot", context=self._connection.tab)
        path.write_bytes(base64.b64decode(reply["data"]))


@contextmanager
def firefox() -> Iterator[Firefox]:
    """Start a headless Firefox; the test is skipped without one."""
    place = shutil.which("firefox") or shutil.which("firefox-esr")
    if place is None:
        pytest.skip("needs a browser: apt-get install firefox-esr")
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(_connected(place)) as connection,
    ):
        yield Firefox(portal, connection)


@asynccontextmanager
async def _connected(place: str) -> AsyncIterator[_Connection]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = ["--headless", "--remote-debugging-port", "0", "--profile", profile, "about:blank"]
        process = await asyncio.create_subprocess_exec(place, *options, stderr=asyncio.subprocess.PIPE)
        assert process.stderr is not None
        try:
            async with asyncio.timeout(_SECONDS):
                address = await _address(process.stderr)
            discarding = asyncio.create_task(process.stderr.read())  # a full pipe would stop Firefox
            async with (
                aiohttp.ClientSession() as client,
                client.ws_connect(f"{address}/session", max_msg_size=0) as socket,
            ):
                connection = _Connection(socket)
                await connection.start()
                yield connection
        finally:
            process.terminate()
            await process.wait()
        await discarding


async def _address(stream: asyncio.StreamReader) -> str:
    async for line in stream:
        if match := _LISTENING.search(line):
            return match[1].decode()
    raise AssertionError("Firefox ended before it listened")
