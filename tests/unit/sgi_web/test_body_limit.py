from __future__ import annotations

import gzip
import zlib
from io import BytesIO

import pytest

from sgi.kernel.errors import DataError
from sgi_web.body_limit import FORM_LIMIT, MAX_MEMBERS, gunzip
from support.web_server import form_key, submit_form, visible_text, web_client


@pytest.fixture
def narrow(site):
    """A browser of a site that takes uploads of 1 kB."""
    site.upload_limit = 1000
    with web_client(site) as client:
        yield client


def _lines(size):
    return b'{"id": "1", "response": "' + b"x" * size + b'"}\n'


def _parts(total, size=8192):
    for _ in range(0, total, size):
        yield b"x" * size


def test_an_upload_beyond_the_limit_is_told_on_a_page_and_nothing_is_kept(narrow, site):
    files = {"file": ("rows.jsonl", _lines(1000 + FORM_LIMIT))}
    response = submit_form(narrow, "/upload", files=files)
    assert response.status_code == 413
    assert "--upload-limit" in visible_text(response.text)
    assert not site.folder.exists() or not list(site.folder.iterdir())


def test_what_is_counted_is_what_comes_not_what_the_headers_say(narrow):
    key = form_key(narrow, "/upload")
    kind = {"Content-Type": "multipart/form-data; boundary=x"}
    head = (
        f'--x\r\nContent-Disposition: form-data; name="form_key"\r\n\r\n{key}\r\n--x\r\nContent-Disposition: '
    )
    head += 'form-data; name="file"; filename="a.jsonl"\r\n\r\n'

    def body():
        yield head.encode()
        yield from _parts(3 * FORM_LIMIT)

    assert narrow.post("/upload", content=body(), headers=kind).status_code == 413
    too_small = {**kind, "Content-Length": "10"}
    assert narrow.post("/upload", content=b"".join(body()), headers=too_small).status_code == 413
    too_large_message = {**kind, "Content-Length": str(10**12)}
    assert narrow.post("/upload", content=head.encode(), headers=too_large_message).status_code == 413


def test_forms_without_a_file_are_small(client):
    response = submit_form(client, "/runs/before/edit", name="x" * FORM_LIMIT)
    assert response.status_code == 413
    assert client.get("/runs/before").status_code == 200


def test_what_fits_goes_through(narrow):
    response = submit_form(narrow, "/upload", files={"file": ("rows.jsonl", _lines(900))})
    assert response.status_code == 303


class CountingZlib:
    """Counts the bytes that decompressors copy: what they get, and what they hand back."""

    def __init__(self, monkeypatch):
        self.copied = 0
        self.members = 0
        self._make = zlib.decompressobj
        monkeypatch.setattr(zlib, "decompressobj", self._counting)

    def _counting(self, *arguments):
        count, real = self, self._make(*arguments)
        count.members += 1

        class Member:
            def decompress(self, data, most):
                content = real.decompress(data, most)
                count.copied += len(real.unused_data) + len(real.unconsumed_tail)
                return content

            def __getattr__(self, name):
                return getattr(real, name)

        return Member()


def test_several_members_are_one_content():
    packed = gzip.compress(b"one ", mtime=0) + gzip.compress(b"") + gzip.compress(bytes(3 << 20))
    pieces = list(gunzip(BytesIO(packed)))
    assert b"".join(pieces) == b"one " + bytes(3 << 20)
    assert max(map(len, pieces)) == 1 << 20


def test_many_empty_members_are_refused_after_bounded_work(monkeypatch):
    work = CountingZlib(monkeypatch)
    with pytest.raises(DataError, match="more than 10,000 gzip members"):
        list(gunzip(BytesIO(gzip.compress(b"", mtime=0) * 400_000)))
    assert work.members == MAX_MEMBERS
    assert work.copied < MAX_MEMBERS << 16


def test_a_rest_after_many_members_is_not_copied_for_each(monkeypatch):
    work = CountingZlib(monkeypatch)
    rest = gzip.compress(bytes(range(256)) * 32_768, compresslevel=0)
    packed = gzip.compress(b"", mtime=0) * 1000 + rest
    assert sum(map(len, gunzip(BytesIO(packed)))) == 8 << 20
    assert work.copied < 1001 << 16


@pytest.mark.parametrize(
    ("packed", "reason"),
    [
        (b"text", "not valid gzip"),
        (gzip.compress(b"a", mtime=0)[:-1], "cut off"),
        (gzip.compress(b"a", mtime=0) + b"b", "cut off"),
    ],
)
def test_other_data_is_refused(packed, reason):
    with pytest.raises(DataError, match=reason):
        list(gunzip(BytesIO(packed)))
