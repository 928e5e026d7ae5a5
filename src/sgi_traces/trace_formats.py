"""Description of a trace format: how it is recognised, and how its files become rows, once for each file."""

from __future__ import annotations

import os
import weakref
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

import orjson

from sgi.io.raw_rows import RawRow
from sgi.io.rows import read_rows
from sgi.io.text_file import open_bytes
from sgi.kernel.errors import DataError, UsageError
from sgi_traces.trace_use import TraceUse, list_reasons

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from sgi.io.column_use import ReportColumns
    from sgi.io.readers import Dataset, Head
    from sgi.io.rows import Reject, RejectedRow
    from sgi.kernel.sample import Sample


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
    """Return whether converted rows can be cached: the system needs ``pread``."""
    return hasattr(os, "pread")


def stamp_of(path: Path) -> tuple[int, ...]:
    """Return size, time and inode of a file, which change if it is written; empty if it does not exist."""
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_size, status.st_mtime_ns, status.st_ino


@dataclass(frozen=True)
class TraceFormat:
    """A format of traces, or of another tool's export: a `sgi.io.readers.Reader`.

    Attributes:
        name: the prefix that selects it, as in ``otel:PATH``.
        title: its name in messages.
        recognises: function that returns whether a file has this format.
        rows: function that yields the rows of a file and counts them; its arguments are the path, the counts
            and the encoding of text, or None.
        folder: function that opens a folder of such files with a mapping of columns and an encoding, or None.
    """

    name: str
    title: str
    recognises: Callable[[Head], bool]
    rows: Callable[[Path, TraceUse, str | None], Iterator[RawRow]]
    folder: Callable[[Path, Mapping[str, str] | None, str | None], Dataset] | None = None

    def parse_options(self, options: Mapping[str, str]) -> dict[str, str | Path]:
        """Raise UsageError for any option: a format of traces has none."""
        if options:
            raise UsageError(
                f"{self.name} has no options: {', '.join(options)}.", hint=f"Write {self.name}:PATH."
            )
        return {}

    def open(
        self,
        path: Path | None,
        options: Mapping[str, str | Path],
        columns: Mapping[str, str] | None,
        encoding: str | None,
    ) -> Dataset:
        """Open a file or folder. Raises DataError if it cannot be opened, UsageError without a path."""
        del options  # it has none
        if path is None:
            raise UsageError(f"{self.name}: names no file.", hint=f"Write {self.name}:PATH.")
        if self.folder is not None and path.is_dir():
            return self.folder(path, columns, encoding)
        with open_bytes(path):
            pass
        return TraceDataset(path, self, columns, encoding)

    def raw_rows(self, path: Path, encoding: str | None) -> Iterator[RawRow]:
        """Yield the converted rows."""
        return self.rows(path, TraceUse(self.title), encoding)


@dataclass(eq=False)
class TraceDataset:
    """The rows of a file of traces or of another tool's export; it is converted at the first reading.

    ``columns`` maps fields to columns of the converted rows, such as ``metadata.evaluations.human.score``.
    """

    path: Path
    format: TraceFormat
    columns: Mapping[str, str] | None = None
    encoding: str | None = None
    _cache: RowCache | None = field(default=None, init=False, repr=False)

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.path.name

    def samples(
        self, *, on_reject: Reject | None = None, on_columns: ReportColumns | None = None
    ) -> Iterator[Sample]:
        """Yield the samples in order; see `sgi.io.rows.read_rows` for rejected rows."""
        path = str(self.path)
        cache = self._cache
        if cache is not None and cache.stamp == stamp_of(self.path):
            use, rows = cache.use, cache.rows()
        else:
            use = TraceUse(self.format.title)
            rows = self._convert(use)
        is_rejected = False

        def reject(rejected: RejectedRow) -> None:
            nonlocal is_rejected
            is_rejected = True
            if on_reject is None:
                raise rejected.error
            on_reject(rejected)

        yield from read_rows(rows, file=path, columns=self.columns, on_reject=reject)
        if not use.rows and not is_rejected:
            reasons = f": {list_reasons(use.unanswered)}" if use.unanswered else ""
            problem = (
                f"none of {use.parts()} gave a row{reasons}" if use.spans or use.records else "has no spans"
            )
            raise DataError(problem, file=path)
        if on_columns is not None:
            on_columns(use.columns(self.columns))

    def _convert(self, use: TraceUse) -> Iterator[RawRow]:
        """Yield the rows, and store them for the next reading if all are read."""
        cache = RowCache(use, stamp_of(self.path)) if can_cache() else None
        for row in self.format.rows(self.path, use, self.encoding):
            if cache is not None and not cache.add(row):
                cache = None
            yield row
        if cache is not None:
            cache.finish()
            self._cache = cache
