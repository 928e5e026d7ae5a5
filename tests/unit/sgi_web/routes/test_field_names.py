"""Names with control characters survive the forms of the pages, over HTTP and with what browsers change."""

from __future__ import annotations

import json
import re
from html import unescape
from html.parser import HTMLParser

import httpx2
import pytest

from sgi.store.human_labels import run_labels
from sgi.store.run_queries import find_run
from support.kept_runs import rows, store_run
from support.web_server import serve_site, visible_text

NAMES = ["a\rb", "a\r\nb", "a\nb", "a\x00b", "a\x1b[2J", "\x7f\x85b", "%:a", "50%0D", "plain"]


class _Browser(HTMLParser):
    """The fields of the forms of a page as a browser sends them: it changes line breaks and NUL."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.fields: dict[str, list[str]] = {}
        self.options: dict[str, list[str]] = {}
        self._select = ""
        self.feed(re.sub("\r\n?", "\n", page).replace("\x00", "\ufffd"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        value = re.sub("\r\n?|\n", "\r\n", given.get("value") or "")
        if tag in {"select", "datalist"}:
            self._select = given.get("name") or given["id"]
        elif tag == "option":
            self.options.setdefault(self._select, []).append(value)
            if "selected" in given:
                self.fields[self._select] = [value]
        elif tag == "input" and given.get("type") not in {"checkbox", "file", "radio"}:
            value = value if given.get("type") == "hidden" else re.sub("[\r\n]", "", value)
            self.fields.setdefault(given["name"], []).append(value)


@pytest.fixture
def browser(site):
    with serve_site(site) as address, httpx2.Client(base_url=address, timeout=60) as client:
        yield client


def fields(page, start="<form"):
    return _Browser(start + page.split(start, 1)[1].split("</form>", 1)[0])


LEADERBOARD = '<form method="get" action="/leaderboard"'


@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_columns_and_values_with_any_characters_rank_and_filter(browser, site, tmp_path, name):
    data = [
        row | {"id": f"{row['id']}-{system}", "metadata": {name: f"{system}{name}", "other": system}}
        for system in ("one", "two")
        for row in rows(12)
    ]
    run = store_run(site.place, tmp_path, data, metrics=["content_f1"])
    asked = fields(browser.get("/leaderboard", params={"run": run}).text, LEADERBOARD)
    (chosen,) = set(asked.options["by"]) - {"other"}
    board = browser.get("/leaderboard", params=asked.fields | {"by": chosen}).text
    sent = fields(board, LEADERBOARD).fields | {"within": "other"}
    again = browser.get("/leaderboard", params=sent)
    assert (again.status_code, "<bdi>other</bdi>" in again.text) == (200, True)
    by_other = browser.get("/leaderboard", params={"run": run, "by": "other"}).text
    sent = fields(by_other, LEADERBOARD)
    assert set(sent.options["within"]) == {"", chosen}
    assert browser.get("/leaderboard", params=sent.fields | {"within": chosen}).status_code == 200
    link = unescape(re.search(r'href="(/runs/[^"]*is=[^"]*)"', board)[1])
    shown = browser.get(link.partition("#")[0]).text
    assert "12 of 24 rows" in visible_text(shown)
    filters = fields(shown, '<form id="filters"').fields
    assert "12 of 24 rows" in visible_text(browser.get(f"/runs/{run}", params=filters).text)


@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_a_column_with_any_characters_is_mapped(browser, name):
    lines = "".join(json.dumps({"question": "Who?", name: f"answer {n}"}) + "\n" for n in range(3))
    key = fields(browser.get("/upload").text).fields
    address = browser.post("/upload", data=key, files={"file": ("rows.jsonl", lines)}).headers["location"]
    preview = _Browser(browser.get(address).text)
    (option,) = [one for one in preview.options["columns"] if one != "question"]
    sent = preview.fields | {"map.response": option, "action": "preview"}
    mapped = browser.post(address, data=sent).text
    assert "answer 0" in mapped
    again = browser.post(address, data=_Browser(mapped).fields | {"action": "preview"}).text
    assert "answer 0" in again
    assert 'role="alert"' not in again


def test_rows_with_any_ids_are_labelled(browser, site, tmp_path):
    data = [row | {"id": name} for name, row in zip(NAMES, rows(len(NAMES)), strict=True)]
    run = store_run(site.place, tmp_path, data, metrics=["content_f1"])
    for _ in NAMES:
        form = fields(browser.get(f"/runs/{run}/label").text.split("<main", 1)[1]).fields
        assert browser.post(f"/runs/{run}/label", data=form | {"answer": "yes"}).status_code == 303
    assert sorted(run_labels(site.database, find_run(site.database, run)).current) == sorted(NAMES)
