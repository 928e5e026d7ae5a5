"""Collect the spans of each trace, in bounded memory, wherever they are in the file."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import orjson

from sgi.io.raw_rows import RawRow
from sgi.io.traces.span import Event, Span
from sgi.kernel.errors import DataError
from sgi.kernel.limits import how_to_raise, input_limits, size_text

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator

MEMORY = 16_000_000
"""The size of the spans in memory, above which they are written to a temporary database."""

_AT_ONCE = 500
_OVERHEAD = 200


def by_trace(items: Iterable[Span | RawRow], memory: int = MEMORY) -> Iterator[list[Span] | RawRow]:
    """Yield the spans of each trace; traces are in the order of their first spans.

    Raw rows of spans that cannot be read come first, in the order of the file. ``memory`` is the limit in
    bytes.
    """
    held: dict[str, list[bytes]] = {}
    size = 0
    items = iter(items)
    for item in items:
        encoded = item if isinstance(item, RawRow) else encode_span(item)
        if isinstance(encoded, RawRow):
            yield encoded
            continue
        # A copy: orjson's own bytes occupy several times their length.
        held.setdefault(encoded[0], []).append(bytes(memoryview(encoded[1])))
        size += _OVERHEAD + len(encoded[1])
        if size > memory:
            yield from _by_database(held, items)
            return
    most = input_limits().file
    for trace, spans in held.items():
        yield _too_large(trace) if sum(map(len, spans)) > most else [*map(decode_span, spans)]


def _by_database(
    held: dict[str, list[bytes]], items: Iterator[Span | RawRow]
) -> Iterator[list[Span] | RawRow]:
    import sqlite3  # only large files need it

    # An empty name is a temporary file that SQLite deletes.
    with closing(sqlite3.connect("", isolation_level=None, check_same_thread=False)) as database:
        database.execute("PRAGMA journal_mode=OFF")
        database.execute("PRAGMA synchronous=OFF")
        database.execute("PRAGMA cache_size=-16000")
        database.execute("CREATE TABLE spans (place INTEGER PRIMARY KEY, trace TEXT, span BLOB)")
        database.execute("BEGIN")
        while held:
            trace = next(iter(held))
            _insert(database, [(trace, span) for span in held.pop(trace)])
        waiting: list[tuple[str, bytes]] = []
        for item in items:
            encoded = item if isinstance(item, RawRow) else encode_span(item)
            if isinstance(encoded, RawRow):
                yield encoded
                continue
            waiting.append(encoded)
            if len(waiting) >= _AT_ONCE:
                _insert(database, waiting)
                waiting = []
        _insert(database, waiting)
        database.execute("CREATE INDEX by_trace ON spans (trace, place)")
        for (trace,) in database.execute("SELECT trace FROM spans GROUP BY trace ORDER BY MIN(place)"):
            yield _trace(database, trace)


def _insert(database: sqlite3.Connection, spans: list[tuple[str, bytes]]) -> None:
    database.executemany("INSERT INTO spans (trace, span) VALUES (?, ?)", spans)


def _trace(database: sqlite3.Connection, trace: str) -> list[Span] | RawRow:
    spans: list[Span] = []
    size, most = 0, input_limits().file
    for (encoded,) in database.execute("SELECT span FROM spans WHERE trace = ? ORDER BY place", (trace,)):
        size += len(encoded)
        if size > most:
            return _too_large(trace)
        spans.append(decode_span(encoded))
    return spans


def _too_large(trace: str) -> RawRow:
    message = f"the trace is larger than {size_text(input_limits().file)}"
    return RawRow(0, DataError(message, sample_id=trace, hint=how_to_raise("file")))


def encode_span(span: Span) -> tuple[str, bytes] | RawRow:
    """Return a span as JSON with the id of its trace, or the error of a value that JSON does not have."""
    try:
        return span.trace_id, orjson.dumps((*span[:7], [tuple(event) for event in span.events], *span[8:]))
    except TypeError as error:
        return RawRow(
            span.line, DataError(f"the span has a value that is not JSON: {error}", sample_id=span.span_id)
        )


def decode_span(encoded: bytes) -> Span:
    """Return the span of `encode_span`."""
    values = orjson.loads(encoded)
    values[7] = tuple(Event(name, attributes) for name, attributes in values[7])
    return Span(*values)
