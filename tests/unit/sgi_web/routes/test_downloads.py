from __future__ import annotations

import http.client
import threading
from functools import partial
from urllib.parse import urlsplit

import pytest

from sgi.kernel.errors import StoreError
from sgi_web.routes import downloads
from sgi_web.work_limits import Throttle
from support.web_server import serve_site, visible_text, wait_until

FILES = ["rows.csv", "rows.jsonl", "rows.parquet"]


@pytest.mark.parametrize("wanted", ["bytes=abc", "bytes=99999999-", "bytes=0-3", "bytes=5-1", ""])
@pytest.mark.parametrize("name", FILES)
def test_whatever_range_is_wanted_the_file_comes_whole_and_nothing_stays(client, site, name, wanted):
    whole = client.get(f"/runs/before/{name}")
    response = client.get(f"/runs/before/{name}", headers={"Range": wanted})
    assert (response.status_code, response.content) == (200, whole.content)
    assert len(response.content) > 0
    length = response.headers.get("content-length")
    assert length == (str(len(response.content)) if name == "rows.parquet" else None)
    assert not site.folder.exists() or list(site.folder.iterdir()) == []


def test_the_file_has_no_name_any_more_while_it_is_sent(site, monkeypatch):
    seen = []
    real = downloads._TemporaryFile.__call__

    async def looking(self, *given):
        seen.append((list(site.folder.iterdir()), self._file.closed))
        await real(self, *given)
        seen.append(self._file.closed)

    monkeypatch.setattr(downloads._TemporaryFile, "__call__", looking)
    with serve_site(site) as address:
        wire = http.client.HTTPConnection(urlsplit(address).netloc, timeout=30)
        wire.request("GET", "/runs/before/rows.parquet")
        assert len(wire.getresponse().read()) > 1000
        wire.close()
        wait_until(lambda: len(seen) == 2)
    assert seen == [([], False), True]


def test_an_export_that_fails_leaves_nothing(client, site, monkeypatch):
    def fails(_database, _record, path):
        path.write_text("half")
        raise StoreError("The database is away.")

    monkeypatch.setattr(downloads, "export", fails)
    assert client.get("/runs/before/rows.parquet").status_code == 503
    assert list(site.folder.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_told(client, site, tmp_path):
    (tmp_path / "file").write_text("x")
    site.folder = tmp_path / "file" / "below"
    response = client.get("/runs/before/rows.parquet")
    assert (
        response.status_code,
        "The file cannot be written: Not a directory." in visible_text(response.text),
    ) == (
        503,
        True,
    )
    assert str(tmp_path) not in response.text


@pytest.mark.parametrize("path", ["/runs/before/report.html", "/runs/before/rows.parquet"])
def test_who_comes_while_others_wait_is_asked_to_come_again(client, monkeypatch, path):
    monkeypatch.setattr(downloads, "_downloads", Throttle(seconds=0.05))
    with downloads._downloads.acquire():
        response = client.get(path)
    assert (response.status_code, response.headers["retry-after"]) == (503, "5")
    assert "Try again in a moment" in visible_text(response.text)
    assert client.get(path).status_code == 200


def test_many_that_want_a_report_keep_nobody_else_waiting(site, monkeypatch):
    monkeypatch.setattr(downloads, "_downloads", Throttle(seconds=60))
    with serve_site(site) as address:
        place, statuses, threads = urlsplit(address).netloc, [], []

        def ask(path):
            wire = http.client.HTTPConnection(place, timeout=30)
            wire.request("GET", path)
            statuses.append(wire.getresponse().status)
            wire.close()

        with downloads._downloads.acquire():
            for _ in range(60):
                threads.append(threading.Thread(target=ask, args=["/runs/before/report.html"], daemon=True))
                threads[-1].start()
            wait_until(lambda: len(statuses) == 44, 30)
            assert statuses == [503] * 44
            ask("/readyz")
            assert statuses[-1] == 200
        for thread in threads:  # the turn is free, and those who still waited are served
            thread.join(30)
        assert statuses.count(200) == 17, "one makes the report for all who wait"


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl"])
def test_rows_that_cannot_be_read_are_an_error_page_and_never_a_whole_file(client, site, monkeypatch, name):
    def breaks(_database, _record, _kind, *, after):
        yield from [b"half"] * after
        raise StoreError("The database is away.")

    monkeypatch.setattr(downloads, "export_chunks", partial(breaks, after=0))
    response = client.get(f"/runs/before/{name}")
    assert (response.status_code, "The database is away" in visible_text(response.text)) == (503, True)
    monkeypatch.setattr(downloads, "export_chunks", partial(breaks, after=1))
    with serve_site(site) as address:
        wire = http.client.HTTPConnection(urlsplit(address).netloc, timeout=30)
        wire.request("GET", f"/runs/before/{name}")
        with pytest.raises(http.client.IncompleteRead) as caught:
            wire.getresponse().read()
        wire.close()
    assert caught.value.partial == b"half"
