"""Convert spans in any order to rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgi.io.raw_rows import RawRow, oversized_error, with_place
from sgi.io.text_file import row_too_large
from sgi.kernel.errors import DataError
from sgi.kernel.input_limits import input_limits
from sgi.kernel.time_limit import check_time
from sgi_traces.assemble import rows_of_trace
from sgi_traces.group_spans import by_trace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sgi.kernel.input_limits import InputLimits
    from sgi_traces.span import Span
    from sgi_traces.trace_use import TraceUse


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
