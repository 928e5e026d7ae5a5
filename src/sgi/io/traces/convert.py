"""Convert spans in any order to rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgi.io.raw_rows import RawRow
from sgi.io.traces.assemble import rows_of_trace
from sgi.io.traces.grouping import by_trace
from sgi.kernel.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sgi.io.traces.span import Span
    from sgi.io.traces.use import TraceUse


def rows_of_spans(items: Iterable[Span | RawRow], use: TraceUse) -> Iterator[RawRow]:
    """Yield the rows of spans in any order, and count them in ``use``."""
    for trace in by_trace(_counted_spans(items, use)):
        if isinstance(trace, RawRow):
            yield trace
            continue
        use.traces += 1
        try:
            result = rows_of_trace(trace)
        except DataError as error:
            yield RawRow(trace[0].line, _in_trace(error, trace[0].trace_id))
            continue
        use.unanswered.update(result.unanswered)
        for row in result.rows:
            use.add_row(row)
            yield RawRow(row.line, row.values)


def _counted_spans(items: Iterable[Span | RawRow], use: TraceUse) -> Iterator[Span | RawRow]:
    for item in items:
        use.spans += 1
        yield item


def _in_trace(error: DataError, trace_id: str) -> DataError:
    message = f"span {error.sample_id}: {error.message}" if error.sample_id else error.message
    return DataError(message, sample_id=trace_id, field=error.field, hint=error.hint)
