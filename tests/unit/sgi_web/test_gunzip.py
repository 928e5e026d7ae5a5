from __future__ import annotations

import gzip
import zlib
from io import BytesIO

import pytest

from sgi.kernel.errors import DataError
from sgi_web.body_limit import MAX_MEMBERS, gunzip


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
