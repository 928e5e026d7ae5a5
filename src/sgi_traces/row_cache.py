"""Stores the converted rows of a file in a temporary file, so that it is converted once."""

from __future__ import annotations

import os
import weakref
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

import orjson

from sgi.io.raw_rows import RawRow
from sgi.kernel.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sgi_traces.trace_use import TraceUse

_PIECE = 1 << 20


class RowCache:
    """The converted rows of a file, and the counts. Threads and forked processes may share it.

    Attributes:
        use: the counts.
        stamp: size, time and inode of the file when the conversion began.
    """

    def __init__(self, use: TraceUse, stamp: tuple[int, ...]) -> None:
        self.use = use
        self.stamp = stamp
        self._file = TemporaryFile()  # noqa: SIM115 - closed by the finalizer
        self._end = 0
        weakref.finalize(self, self._file.close)

    def add(self, row: RawRow) -> bool:
        """Write a row; return False if it has values that JSON does not have."""
        values = row.values
        if isinstance(values, DataError):
            values = {
                "message": values.message,
                "id": values.sample_id,
                "field": values.field,
                "hint": values.hint,
            }
        try:
            is_error = isinstance(row.values, DataError)
            line = orjson.dumps(
                [row.line, is_error, values, row.text, row.kind], option=orjson.OPT_APPEND_NEWLINE
            )
        except TypeError:
            return False
        self._file.write(line)
        return True

    def finish(self) -> None:
        """Write what is buffered; no row can be added after this."""
        self._file.flush()
        self._end = self._file.tell()

    def rows(self) -> Iterator[RawRow]:
        """Yield the rows."""
        rest = b""
        for place in range(0, self._end, _PIECE):
            # pread has a position of its own, so readers do not disturb each other.
            *lines, rest = (rest + os.pread(self._file.fileno(), _PIECE, place)).split(b"\n")
            yield from map(_row, lines)


def _row(line: bytes) -> RawRow:
    number, is_error, values, text, kind = orjson.loads(line)
    if is_error:
        error = DataError(
            values["message"], sample_id=values["id"], field=values["field"], hint=values["hint"]
        )
        return RawRow(number, error, text, kind)
    return RawRow(number, values, text, kind)


def can_cache() -> bool:
    """Return whether the system can read at a position of a file."""
    return hasattr(os, "pread")


def stamp_of(path: Path) -> tuple[int, ...]:
    """Return size, time and inode of a file, which change if it is written; empty if it does not exist."""
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_size, status.st_mtime_ns, status.st_ino
