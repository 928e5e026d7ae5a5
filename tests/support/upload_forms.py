"""Uploads a file and submits the form of its preview, as a browser without JavaScript does."""

from html.parser import HTMLParser
from typing import Any

from starlette.testclient import TestClient

from support.web_server import submit_form, wait_until


class _Form(HTMLParser):
    """The values that a browser would submit."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.values: dict[str, list[str]] = {}
        self._select = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "input" and (given.get("type") not in {"checkbox", "file"} or "checked" in given):
            self.values.setdefault(str(given["name"]), []).append(given.get("value") or "")
        if tag == "select":
            self._select = str(given["name"])
        if tag == "option" and (self._select not in self.values or "selected" in given):
            self.values[self._select] = [given.get("value") or ""]


def form_values(page: str) -> dict[str, list[str]]:
    """The values of the form of a page."""
    return _Form(page).values


def send_file(client: TestClient, content: bytes, name: str) -> str:
    """Upload a file; return the address of its preview."""
    response = submit_form(client, "/upload", files={"file": (name, content)})
    assert response.status_code == 303, response.text
    return str(response.headers["location"])


def press(client: TestClient, address: str, action: str = "score", page: str = "", **changes: Any) -> Any:
    """Submit the form of a preview with changes; the page is that of the address, unless it is given."""
    values = form_values(page or client.get(address).text)
    return client.post(address, data={**values, **changes, "action": action})


def wait_for_end(client: TestClient, address: str) -> Any:
    """The page of an upload once its run has ended; starting its process can take long."""
    wait_until(lambda: "hx-trigger" not in client.get(address).text, 600.0)
    return client.get(address)
