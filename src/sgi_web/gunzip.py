"""Decompress gzip of untrusted clients: the work is linear in the size, also for many members."""

from __future__ import annotations

import zlib
from typing import IO, TYPE_CHECKING

from sgi.kernel.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_MEMBERS = 10_000
"""Maximum number of gzip members. A tool that writes members of 64 KB (bgzip) needs them for 640 MB."""

_GZIP = 16 + zlib.MAX_WBITS
_READ = 1 << 16  # bytes; zlib copies the rest of what it gets at the end of each member
_PIECE = 1 << 20


def gunzip(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the content of one or several gzip members, in pieces of at most 1 MB.

    Raises DataError if the stream is not gzip, is cut off, or has too many members.
    """
    data = stream.read(_READ)
    for _ in range(MAX_MEMBERS):
        if not data:
            return
        member = zlib.decompressobj(_GZIP)
        while not member.eof:
            if not data:
                raise DataError("the gzip data is cut off")
            try:
                yield member.decompress(data, _PIECE)
            except zlib.error:
                raise DataError("it is not valid gzip") from None
            data = member.unused_data or member.unconsumed_tail or stream.read(_READ)
    if data:
        raise DataError(f"it has more than {MAX_MEMBERS:,} gzip members")
