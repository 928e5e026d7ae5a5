"""Runs the web application in this process, or behind a local server."""

import asyncio
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from threading import Thread
from typing import Any

import uvicorn
from fastapi import FastAPI
from starlette.testclient import TestClient

from sgi.store.database import open_database
from sgi_web.app import create_app
from sgi_web.connections import ConnectionLimits, server_options
from sgi_web.security import allowed_hosts
from sgi_web.site import Site

ADDRESS = "http://127.0.0.1:8765"
_KEY = re.compile(r'name="form_key" value="([0-9a-f]+)"')


@contextmanager
def open_site(folder: Path, **options: Any) -> Iterator[Site]:
    """Open a site over the database of a folder; a missing database is created."""
    place = folder / "sgi.db"
    with open_database(place) as database:
        hosts = allowed_hosts("127.0.0.1", 8765)
        yield Site(
            **({"database": database, "place": place, "folder": folder / "up", "hosts": hosts} | options)
        )


@contextmanager
def web_client(site: Site) -> Iterator[TestClient]:
    """A client of the application that follows no redirects."""
    with TestClient(create_app(site), base_url=ADDRESS, follow_redirects=False) as client:
        yield client


class _Server(uvicorn.Server):
    """A server that sees at once that it should end, where uvicorn looks every 0.1 s."""

    async def main_loop(self) -> None:
        while not self.should_exit:
            await self.on_tick(0)
            await asyncio.sleep(0.01)


@contextmanager
def serve_site(site: Site, limits: ConnectionLimits | None = None) -> Iterator[str]:
    """Serve the site on a free port with the options of `sgi serve`; yields the address."""
    with serve_app(site, create_app(site), limits) as address:
        yield address


@contextmanager
def serve_app(site: Site, app: FastAPI, limits: ConnectionLimits | None = None) -> Iterator[str]:
    """Serve the application of a site, like `serve_site`."""
    config = uvicorn.Config(app, port=0, **server_options(limits or ConnectionLimits()))
    server = _Server(config)
    thread = Thread(target=server.run, daemon=True)
    thread.start()
    try:
        wait_until(lambda: server.started)
        port = server.servers[0].sockets[0].getsockname()[1]
        site.hosts = allowed_hosts("127.0.0.1", port)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(30)


def form_key(client: TestClient, path: str) -> str:
    """The key in the form of a page."""
    match = _KEY.search(client.get(path).text)
    assert match is not None
    return match[1]


def submit_form(client: TestClient, path: str, *, to: str | None = None, **values: Any) -> Any:
    """Submit the form of a page with these values."""
    files = values.pop("files", None)
    return client.post(to or path, data={"form_key": form_key(client, path), **values}, files=files)


def visible_text(page: str) -> str:
    """The text of a page on one line, without tags."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page)).split())


def wait_until(condition: Any, seconds: float = 60.0) -> None:
    """Wait until the condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.02)
