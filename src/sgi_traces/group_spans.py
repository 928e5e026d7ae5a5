"""Collect the spans of each trace, in bounded memory, wherever they are in the file; convert them to rows."""

from __future__ import annotations

from contextlib import closing
from io import BufferedWriter
from itertools import groupby
from operator import itemgetter
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

import orjson

from sgi.io.raw_rows import RawRow, oversized_error, with_place
from sgi.io.text_file import row_too_large
from sgi.kernel.errors import DataError
from sgi.kernel.input_limits import check_time, how_to_raise, input_limits, size_text
from sgi_traces.assemble import rows_of_trace
from sgi_traces.span import Event, Span, is_utf8, unreadable_span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sgi.kernel.input_limits import InputLimits
    from sgi_traces.trace_use import TraceUse

MEMORY = 16_000_000
"""The size of the spans in memory, above which they are written to a temporary file."""

_BUFFER = 1 << 18
_OVERHEAD = 200
"""Bytes of a trace in memory besides its encoded spans."""
_BY_TRACE = """
    SELECT trace, place, size FROM (SELECT trace AS name, MIN(place) AS first FROM parts GROUP BY trace)
    JOIN parts ON trace = name ORDER BY first, place
"""


def by_trace(items: Iterable[Span | RawRow], memory: int = MEMORY) -> Iterator[list[Span] | RawRow]:
    """Yield the spans of each trace; traces are in the order of their first spans.

    Raw rows of spans that cannot be read come first, in the order of the file. ``memory`` is the limit in
    bytes.
    """
    traces: dict[str, bytearray] = {}
    size = 0
    with closing(_SpanFile()) as file:
        for item in items:
            check_time()
            if isinstance(item, RawRow):
                yield item
                continue
            trace = item.trace_id
            try:
                span = _encode(item)
            except DataError as error:
                yield RawRow(item.line, error)
                if not is_utf8(trace):
                    continue
                span = _encode(unreadable_span(trace, item.line))
            spans = traces.get(trace)
            if spans is None:
                spans = traces[trace] = bytearray()
                size += _OVERHEAD
            spans += span
            spans += b","
            size += len(span)
            if size > memory:
                file.write(traces)
                traces, size = {}, 0
        if file.is_open:
            file.write(traces)
            traces = {}
            yield from file.traces()
    most = input_limits().file
    for trace, spans in traces.items():
        yield _too_large(trace) if len(spans) > most else _decode_spans(spans)


class _SpanFile:
    """A temporary file of encoded spans, with a database of the positions of each trace's spans."""

    def __init__(self) -> None:
        self.is_open = False

    def write(self, traces: dict[str, bytearray]) -> None:
        """Append the spans of traces."""
        if not self.is_open:
            self._open()
        place = self._writer.tell()
        parts = []
        for trace, spans in traces.items():
            parts.append((place, trace, len(spans)))
            place += len(spans)
        self._writer.writelines(traces.values())
        self._database.executemany("INSERT INTO parts VALUES (?, ?, ?)", parts)

    def _open(self) -> None:
        import sqlite3  # only large files need it

        self._file = TemporaryFile(buffering=0)  # noqa: SIM115 - closed by `close`
        self._writer = BufferedWriter(self._file, _BUFFER)
        # An empty name is a temporary file that SQLite deletes.
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self.is_open = True
        self._database.execute("PRAGMA journal_mode=OFF")
        self._database.execute("PRAGMA synchronous=OFF")
        self._database.execute("PRAGMA cache_size=-8000")
        self._database.execute("CREATE TABLE parts (place INTEGER PRIMARY KEY, trace TEXT, size INTEGER)")
        self._database.execute("BEGIN")

    def traces(self) -> Iterator[list[Span] | RawRow]:
        """Yield the spans of each trace."""
        most = input_limits().file
        self._writer.flush()
        self._database.execute("CREATE INDEX by_trace ON parts (trace, place, size)")
        for trace, parts in groupby(self._database.execute(_BY_TRACE), itemgetter(0)):
            spans = bytearray()
            for _, place, size in parts:
                if len(spans) + size > most:
                    yield _too_large(trace)
                    break
                self._file.seek(place)
                spans += self._file.read(size)
            else:
                yield _decode_spans(spans)

    def close(self) -> None:
        """Delete the file and the database."""
        if self.is_open:
            self._writer.close()
            self._database.close()


def _too_large(trace: str) -> RawRow:
    message = f"the trace is larger than {size_text(input_limits().file)}"
    return RawRow(0, DataError(message, sample_id=trace, hint=how_to_raise("file")))


def encode_span(span: Span) -> tuple[str, bytes] | RawRow:
    """Return a span as JSON with the id of its trace, or the error of a value that JSON does not have."""
    try:
        return span.trace_id, _encode(span)
    except DataError as error:
        return RawRow(span.line, error)


def _encode(span: Span) -> bytes:
    values: tuple[object, ...] = tuple(span)
    if span.events:
        values = (*span[:7], [tuple(event) for event in span.events], *span[8:])
    try:
        return orjson.dumps(values)
    except TypeError as error:
        problem = f"the span has a value that is not JSON: {error}"
        raise DataError(problem, sample_id=span.span_id) from None


def decode_span(encoded: bytes) -> Span:
    """Return the span of `encode_span`."""
    return _span(orjson.loads(encoded))


def _decode_spans(encoded: bytearray) -> list[Span]:
    """Return the spans, each of which has a comma after it."""
    encoded[-1:] = b"]"
    return [*map(_span, orjson.loads(b"[" + encoded))]


def _span(values: list[Any]) -> Span:
    events = values[7]
    values[7] = tuple(Event(name, attributes) for name, attributes in events) if events else ()
    return Span._make(values)


def rows_of_spans(items: Iterable[Span | RawRow], use: TraceUse) -> Iterator[RawRow]:
    """Yield the rows of spans in any order, and count them in ``use``."""
    limits = input_limits()
    for trace in by_trace(items):
        check_time()
        if isinstance(trace, RawRow):
            yield trace
            continue
        use.traces += 1
        use.spans += len(trace)
        try:
            result = rows_of_trace(trace)
        except DataError as error:
            yield RawRow(trace[0].line, _in_trace(error, trace[0].trace_id))
            continue
        use.add_unanswered(result.unanswered)
        for row in result.rows:
            use.add_row(row)
            yield RawRow(row.line, _checked(row.values, limits))


def _checked(values: dict[str, Any], limits: InputLimits) -> dict[str, Any] | DataError:
    """Return the row, or the error of one that exceeds the limits of a row or a cell."""
    texts = (
        len(values.get("question", "")) + len(values["response"]) + sum(map(len, values.get("contexts", ())))
    )
    if texts <= limits.cell and texts <= limits.row:
        return values
    error = row_too_large("", 0) if texts > limits.row else oversized_error(values, texts, limits)
    return values if error is None else with_place(error, sample_id=values["id"])


def _in_trace(error: DataError, trace_id: str) -> DataError:
    message = f"span {error.sample_id}: {error.message}" if error.sample_id else error.message
    return DataError(message, sample_id=trace_id, field=error.field, hint=error.hint)
