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


@pytest.mark.parametrize("wanted", ["bytes=abc", "bytes=99999999-", "bytes=0-3", "bytes=5-1", ""])
@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl"])
def test_whatever_range_is_wanted_the_file_comes_whole(client, name, wanted):
    whole = client.get(f"/runs/before/{name}")
    response = client.get(f"/runs/before/{name}", headers={"Range": wanted})
    assert (response.status_code, response.content) == (200, whole.content)
    assert len(response.content) > 0
    assert "content-length" not in response.headers


def test_who_comes_while_others_wait_is_asked_to_come_again(client, monkeypatch):
    monkeypatch.setattr(downloads, "_reports", Throttle(seconds=0.05))
    with downloads._reports.acquire():
        response = client.get("/runs/before/report.html")
    assert (response.status_code, int(response.headers["retry-after"]) > 0) == (503, True)
    assert client.get("/runs/before/report.html").status_code == 200


def test_many_that_want_a_report_keep_nobody_else_waiting(site, monkeypatch):
    monkeypatch.setattr(downloads, "_reports", Throttle(seconds=60))
    with serve_site(site) as address:
        place, statuses, threads = urlsplit(address).netloc, [], []

        def ask(path):
            wire = http.client.HTTPConnection(place, timeout=30)
            wire.request("GET", path)
            statuses.append(wire.getresponse().status)
            wire.close()

        with downloads._reports.acquire():
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
