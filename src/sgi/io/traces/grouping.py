"""Collect the spans of each trace, in bounded memory, wherever they are in the file."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import orjson

from sgi.io.raw_rows import RawRow
from sgi.io.traces.span import Event, Span
from sgi.kernel.errors import DataError
from sgi.kernel.limits import how_to_raise, input_limits, size_text
from sgi.kernel.memory_size import size_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MEMORY = 32_000_000
"""The approximate size of the spans in memory, above which they are written to a temporary database."""

_AT_ONCE = 500


def by_trace(items: Iterable[Span | RawRow], memory: int = MEMORY) -> Iterator[list[Span] | RawRow]:
    """Yield the spans of each trace; traces are in the order of their first spans.

    Raw rows of spans that cannot be read are yielded as they are met, before all traces. ``memory`` is the
    approximate limit in bytes.
    """
    held: dict[str, list[Span]] = {}
    size = 0
    items = iter(items)
    for item in items:
        if isinstance(item, RawRow):
            yield item
            continue
        held.setdefault(item.trace_id, []).append(item)
        size += _size(item)
        if size > memory:
            yield from _by_database(held, items)
            return
    yield from held.values()


def _by_database(
    held: dict[str, list[Span]], items: Iterator[Span | RawRow]
) -> Iterator[list[Span] | RawRow]:
    # An empty name is a temporary file that SQLite deletes.
    with closing(sqlite3.connect("", isolation_level=None, check_same_thread=False)) as database:
        database.execute("PRAGMA journal_mode=OFF")
        database.execute("PRAGMA synchronous=OFF")
        database.execute("PRAGMA cache_size=-16000")
        database.execute(
            "CREATE TABLE spans (place INTEGER PRIMARY KEY, trace TEXT, size INTEGER, span BLOB)"
        )
        database.execute("BEGIN")
        waiting = [_encode(span) for spans in _in_order(held) for span in spans]
        held.clear()
        for item in items:
            if isinstance(item, RawRow):
                yield item
                continue
            waiting.append(_encode(item))
            if len(waiting) >= _AT_ONCE:
                _insert(database, waiting)
        _insert(database, waiting)
        database.execute("CREATE INDEX by_trace ON spans (trace, place, size)")
        traces = database.execute("SELECT trace, SUM(size) FROM spans GROUP BY trace ORDER BY MIN(place)")
        for trace, size in traces:
            yield _trace(database, trace, size)


def _in_order(held: dict[str, list[Span]]) -> Iterator[list[Span]]:
    yield from held.values()


def _insert(database: sqlite3.Connection, waiting: list[tuple[str, int, bytes]]) -> None:
    database.executemany("INSERT INTO spans (trace, size, span) VALUES (?, ?, ?)", waiting)
    waiting.clear()


def _trace(database: sqlite3.Connection, trace: str, size: int) -> list[Span] | RawRow:
    if size > input_limits().file:
        message = f"the trace is larger than {size_text(input_limits().file)}"
        return RawRow(0, DataError(message, sample_id=trace, hint=how_to_raise("file")))
    rows = database.execute("SELECT span FROM spans WHERE trace = ? ORDER BY place", (trace,))
    return [_decode(encoded) for (encoded,) in rows]


def _size(span: Span) -> int:
    """Return the approximate size of a span in memory, in bytes."""
    texts = sum(
        len(value) if type(value) is str else size_of(value, MEMORY) for value in span.attributes.values()
    )
    return (
        1000
        + 150 * len(span.attributes)
        + texts
        + sum(size_of(event.attributes, MEMORY) for event in span.events)
    )


def _encode(span: Span) -> tuple[str, int, bytes]:
    fields: list[Any] = [
        span.span_id, span.parent_id, span.name, span.start, span.end, span.attributes,
        [[event.name, event.attributes] for event in span.events], span.resource, span.line,
    ]  # fmt: skip
    encoded = orjson.dumps([span.trace_id, *fields])
    return span.trace_id, len(encoded), encoded


def _decode(encoded: bytes) -> Span:
    values = orjson.loads(encoded)
    values[7] = tuple(Event(name, attributes) for name, attributes in values[7])
    return Span(*values)
