"""Parts that readers of flat exports share: one record is one question and answer, or one conversation."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import orjson

from sgi.io import coercion as cells
from sgi.io.printed_list import parse_printed
from sgi.kernel import raw_values
from sgi.kernel.errors import DataError
from sgi_traces.assemble import TraceRow, TraceRows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_YEAR_2200 = 7_258_118_400
"""The start of the year 2200 in seconds: larger numbers are milliseconds, microseconds or nanoseconds."""


def cell_value(value: Any) -> Any:
    """Parse the text of a table's cell that holds an object or a list, as JSON or as Python prints it.

    >>> cell_value('{"a": [1]}'), cell_value("{'a': [None]}"), cell_value("[note]")
    ({'a': [1]}, {'a': [None]}, '[note]')
    """
    if not isinstance(value, str) or value.lstrip()[:1] not in {"{", "["}:
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        parsed = parse_printed(value)
        return value if parsed is None else parsed


def object_cell(values: Mapping[str, Any], field: str) -> dict[str, Any]:
    """Return the object in a column, empty if it is absent. Raises DataError with the field otherwise."""
    value = cell_value(values.get(field))
    if raw_values.is_absent(value) or value == "":
        return {}
    if not isinstance(value, dict):
        raise DataError(f"expected an object, found {raw_values.describe(value)}", field=field)
    return value


def list_cell(values: Mapping[str, Any], field: str) -> list[Any]:
    """Return the list in a column, empty if it is absent. Raises DataError with the field otherwise."""
    value = cell_value(values.get(field))
    if raw_values.is_absent(value) or value == "":
        return []
    if not isinstance(value, list):
        raise DataError(f"expected a list, found {raw_values.describe(value)}", field=field)
    return value


def read(values: Mapping[str, Any], field: str, convert: Callable[[Any], Any] = raw_values.as_text) -> Any:
    """Return the value of a field, None if it is absent. Raises DataError with the field for a wrong type."""
    value = values.get(field)
    if raw_values.is_absent(value):
        return None
    try:
        return convert(value)
    except DataError as error:
        raise DataError(error.message, field=field, hint=error.hint) from None


def required_id(value: object, field: str) -> str:
    """Return an id as text. Raises DataError with the field if it is absent or has a wrong type."""
    try:
        return raw_values.as_id(value)
    except DataError as error:
        raise DataError(error.message, field=field, hint=error.hint) from None


def plain(values: Mapping[str, object]) -> dict[str, object]:
    """Return metadata without absent values, blank texts and empty lists.

    Raises DataError with the name for values that JSON lacks.
    """
    filled = {name: value for name, value in values.items() if value not in ("", [], {})}
    return {
        name: read(filled, name, cells.as_json)
        for name, value in filled.items()
        if not raw_values.is_absent(value)
    }


def make_row(
    fields: Mapping[str, object],
    sources: Mapping[str, str],
    metadata: Mapping[str, object],
    *,
    absent: Mapping[str, str] | None = None,
    line: int = 0,
) -> TraceRow:
    """Make a row of its fields and their sources; absent fields are left out."""
    values = {name: value for name, value in fields.items() if value is not None}
    known = {name: reason for name, reason in (absent or {}).items() if name not in values}
    return TraceRow(
        {**values, "metadata": plain({**metadata, "absent": known})},
        {name: (source,) for name, source in sources.items() if name in values},
        known,
        line,
    )


def nanoseconds(value: Any, field: str) -> int | None:
    """Convert a time to nanoseconds since 1970: ISO text, or a number of s, ms, µs or ns by its size.

    Times without a zone are UTC. Raises DataError with the field for other values.

    >>> nanoseconds("2026-11-23 15:52:13.117", "start_time"), nanoseconds(1795449133117, "ts")
    (1795449133117000000, 1795449133117000000)
    """
    if raw_values.is_absent(value) or value == "":
        return None
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < _YEAR_2200 * 10**9:
        scale = next(scale for scale in (10**9, 10**6, 10**3, 1) if value * scale < _YEAR_2200 * 10**9)
        return int(value * scale)
    try:
        time = value if isinstance(value, datetime) else datetime.fromisoformat(value)
        time = time if time.tzinfo else time.replace(tzinfo=UTC)
        return (time - _EPOCH) // _MICROSECOND * 1000
    except (TypeError, ValueError, OverflowError):
        problem = f"expected a time such as 2026-01-31T12:00:00Z, found {raw_values.describe(value)}"
        raise DataError(problem, field=field) from None


def all_rows(rows: Iterable[TraceRow], skipped: Iterable[str] = ()) -> TraceRows:
    """Collect the rows of one record."""
    return TraceRows(tuple(rows), tuple(skipped))
