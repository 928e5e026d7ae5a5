"""Accepted spans that wait for the rest of their trace, in a SQLite file that survives a crash."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from dataclasses import dataclass
from threading import RLock
from typing import TYPE_CHECKING, NamedTuple

from sgi.io.raw_rows import RawRow
from sgi.kernel.errors import DataError, StoreError
from sgi.kernel.input_limits import input_limits, size_text
from sgi_traces.group_spans import decode_span, encode_span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from sgi_traces.span import Span

MAX_FINISHED = 50_000
"""Number of finished traces that are remembered, to recognise late spans."""
_OVERHEAD = 500
"""Bytes of a span besides its encoded attributes, for the bound of the buffer."""
_SIZE = "SELECT COALESCE(SUM(size), 0) FROM spans"
_SIZE_OF_TRACE = f"{_SIZE} WHERE trace = ?"


class EncodedSpan(NamedTuple):
    """A span as the buffer stores it; an unreadable one is the placeholder of an invalid span."""

    trace_id: str
    is_root: bool
    body: bytes
    is_readable: bool = True


def encode(span: Span) -> EncodedSpan | RawRow:
    """Encode a span; the result is a raw row if it has a value that cannot be encoded."""
    parts = encode_span(span)
    if isinstance(parts, RawRow):
        return parts
    return EncodedSpan(parts[0], span.parent_id is None, parts[1], span.is_readable)


@dataclass(frozen=True)
class WaitingTrace:
    """The spans of one trace in the buffer.

    ``first`` is the arrival of the first span, in seconds since 1970; ``has_root`` is True if a span has no
    parent.
    """

    trace_id: str
    spans: int
    first: float
    has_root: bool


class SpanSpool:
    """A bounded buffer of spans.

    Args:
        path: the file; None for memory, so that no text is written to the disk.
        most_bytes: the maximum size of the spans.

    Raises:
        StoreError: the file cannot be opened, or another process uses it.
    """

    def __init__(self, path: Path | None, most_bytes: int) -> None:
        self._path = path
        self._most = most_bytes
        self._lock = RLock()
        with self._errors():
            if path is not None:
                path.touch(mode=0o600)
            name = ":memory:" if path is None else path
            self._database = sqlite3.connect(name, timeout=0, isolation_level=None, check_same_thread=False)
            self._database.execute("PRAGMA locking_mode=EXCLUSIVE")
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA synchronous=FULL")
            self._database.execute(
                "CREATE TABLE IF NOT EXISTS spans (place INTEGER PRIMARY KEY, trace TEXT NOT NULL, "
                "is_root INTEGER NOT NULL, arrived REAL NOT NULL, size INTEGER NOT NULL, span BLOB NOT NULL)"
            )
            self._database.execute("CREATE INDEX IF NOT EXISTS by_trace ON spans (trace, place)")
            self._database.execute(
                "CREATE TABLE IF NOT EXISTS finished (place INTEGER PRIMARY KEY, trace TEXT NOT NULL)"
            )
            (size,) = self._database.execute(_SIZE).fetchone()
        self._bytes: int = size

    def can_hold(self, spans: Sequence[EncodedSpan]) -> bool:
        """Return whether the spans fit into the empty buffer."""
        return sum(len(span.body) + _OVERHEAD for span in spans) <= self._most

    def add(self, spans: Sequence[EncodedSpan], arrived: float) -> bool:
        """Store all spans, or none if they do not fit; return whether they are stored."""
        rows = [
            (span.trace_id, span.is_root, arrived, len(span.body) + _OVERHEAD, span.body) for span in spans
        ]
        size = sum(row[3] for row in rows)
        with self._lock, self._errors():
            if self._bytes + size > self._most:
                return False
            with self._transaction():
                self._database.executemany(
                    "INSERT INTO spans (trace, is_root, arrived, size, span) VALUES (?, ?, ?, ?, ?)", rows
                )
            self._bytes += size
        return True

    def spans(self, trace_id: str) -> list[Span]:
        """Return the spans of a trace, in order of arrival.

        Raises:
            DataError: the trace is larger than the limit of a file.
            StoreError: the spans cannot be read.
        """
        query = "SELECT span FROM spans WHERE trace = ? ORDER BY place"
        most = input_limits().file
        with self._lock, self._errors():
            (size,) = self._database.execute(_SIZE_OF_TRACE, (trace_id,)).fetchone()
            if size > most:
                raise DataError(f"the trace is larger than {size_text(most)}")
            return [decode_span(body) for (body,) in self._database.execute(query, (trace_id,))]

    def finish(self, trace_ids: Sequence[str]) -> None:
        """Delete the spans of traces, and remember the traces."""
        names = [(trace_id,) for trace_id in trace_ids]
        with self._lock, self._errors():
            sizes = [self._database.execute(_SIZE_OF_TRACE, name).fetchone()[0] for name in names]
            with self._transaction():
                self._database.executemany("DELETE FROM spans WHERE trace = ?", names)
                self._database.executemany("INSERT INTO finished (trace) VALUES (?)", names)
                self._database.execute(
                    "DELETE FROM finished WHERE place <= (SELECT MAX(place) FROM finished) - ?",
                    (MAX_FINISHED,),
                )
            self._bytes -= sum(sizes)

    def finished(self) -> list[str]:
        """Return the ids of the last 50,000 finished traces, in order."""
        with self._lock, self._errors():
            return [trace for (trace,) in self._database.execute("SELECT trace FROM finished ORDER BY place")]

    def traces(self) -> list[WaitingTrace]:
        """Return the traces in the buffer, in order of arrival."""
        query = (
            "SELECT trace, COUNT(*), MIN(arrived), MAX(is_root) FROM spans GROUP BY trace ORDER BY MIN(place)"
        )
        with self._lock, self._errors():
            return [
                WaitingTrace(trace, count, first, bool(root))
                for trace, count, first, root in self._database.execute(query)
            ]

    @property
    def in_memory(self) -> bool:
        """Whether the spans are lost at the end of this process."""
        return self._path is None

    @property
    def size(self) -> int:
        """The size of the spans in bytes."""
        return self._bytes

    def close(self) -> None:
        """Close the file, without deleting spans."""
        with self._lock:
            self._database.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN")
        try:
            yield
            self._database.execute("COMMIT")
        except BaseException:
            if self._database.in_transaction:  # SQLite has rolled back by itself if the disk is full
                self._database.execute("ROLLBACK")
            raise

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
                hint = "Another server receives traces for this database. Stop it, or use another database."
                raise StoreError("Another process uses the buffer of spans.", hint=hint) from error
            hint = "" if self._path is None else f"Check the disk, and the permissions of {self._path}."
            raise StoreError(f"The buffer of spans cannot be used: {error}.", hint=hint) from error
