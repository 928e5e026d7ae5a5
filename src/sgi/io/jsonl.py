"""Read JSON lines, one object per line, in constant memory, and JSON files with one list of objects."""

from __future__ import annotations

import json
import math
from itertools import chain
from typing import IO, TYPE_CHECKING, Any, BinaryIO

import orjson

from sgi.io import coercion as cells
from sgi.io.empty_columns import MAX_ROWS
from sgi.io.json_scan import JsonScan
from sgi.io.raw_rows import RawRow, chat_columns, oversized_error
from sgi.io.rows import read_rows
from sgi.io.text_file import NOT_UTF8, broken_text, checked_encoding, numbered_lines, pieces, whole_lines
from sgi.kernel import raw_values
from sgi.kernel.errors import DataError
from sgi.kernel.input_limits import input_limits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sgi.io.column_use import ReportColumns
    from sgi.io.rows import Reject
    from sgi.kernel.sample import Sample


def stream_rows(
    lines: BinaryIO,
    *,
    name: str,
    columns: Mapping[str, str] | None = None,
    on_reject: Reject | None = None,
    on_columns: ReportColumns | None = None,
    encoding: str | None = None,
    ahead: int = MAX_ROWS,
) -> Iterator[Sample]:
    """Yield the samples of a binary stream of JSON lines, such as ``sys.stdin.buffer``, as they arrive.

    ``encoding`` None means UTF-8, or the encoding of the byte order mark. See `read_rows` for the other
    parameters. Raises DataError for a bad row or a stream that is not text, UsageError for an unknown
    encoding.

    >>> import io
    >>> [sample.question for sample in stream_rows(io.BytesIO(b'{"query": "Who?"}'), name="stdin")]
    ['Who?']
    """
    rows = json_lines(numbered_lines(lines, name, checked_encoding(encoding)))
    return read_rows(
        rows, file=name, columns=columns, on_reject=on_reject, on_columns=on_columns, ahead=ahead
    )


def json_lines(lines: Iterable[tuple[int, bytes]]) -> Iterator[RawRow]:
    """Yield one raw row for each line that is not blank."""
    limits = input_limits()
    for number, line in lines:
        if line.isspace():
            continue
        try:
            values = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            yield RawRow(number, json_error(line, error), _quote(line))
            continue
        if type(values) is list:
            values = chat_columns(values) or values
        if type(values) is dict:
            refused = oversized_error(values, len(line), limits)
            yield RawRow(number, values) if refused is None else RawRow(number, refused, _quote(line))
        else:
            hint = 'Each line holds one object: {"question": …, "response": …}'
            refused = DataError(f"expected an object, found {raw_values.describe(values)}", hint=hint)
            yield RawRow(number, refused, _quote(line))


def json_file(
    stream: IO[bytes],
    file: str,
    encoding: str | None = None,
    lists: tuple[str, ...] | None = None,
    at: str = "",
) -> Iterator[RawRow]:
    """Yield the rows of a ``.json`` file: a list of objects, an object with such a list, or JSON lines.

    ``lists`` are the names of the lists of an object that have rows; None for the usual ones. ``at`` is the
    dotted path of another list. Raises DataError if the file is not JSON, or has no list there; the rest of
    a list after a mistake is not read.
    """
    parts = pieces(stream, file, encoding)
    if at:
        yield from JsonScan(parts, file, at=at).rows()
        return
    head, is_lines = _head(parts)
    whole = chain(head, parts)
    yield from json_lines(whole_lines(whole, file)) if is_lines else JsonScan(whole, file, lists).rows()


def _head(parts: Iterator[tuple[int, bytes]]) -> tuple[list[tuple[int, bytes]], bool]:
    """Read up to the second line that is not blank; return whether the first such line is an object.

    Blank lines that follow each other are one part, because millions of parts would fill the memory.
    """
    head: list[tuple[int, bytearray]] = []
    first = size = last = 0
    is_object = after_blank = False
    for number, part in parts:
        is_blank = part.isspace()
        is_blank_line = is_blank and number != last and part.endswith(b"\n")
        if not (is_blank_line and after_blank):
            head.append((number, bytearray()))
        head[-1][1].extend(part)
        after_blank, last = is_blank_line, number
        size += len(part)
        if first and number != first and not is_blank:
            is_object = _is_object(b"".join(part for line, part in head if line == first))
            break
        if not first and not is_blank:
            first = number
        if size > input_limits().row:
            break
    return [(number, bytes(part)) for number, part in head], is_object


def json_error(line: bytes, error: orjson.JSONDecodeError) -> DataError:
    """Build the error of a line that is not JSON."""
    if wrong := broken_text(line):
        return DataError(wrong, hint=NOT_UTF8)
    try:
        mistake = _mistake(json.loads(line))
    except (ValueError, RecursionError):
        mistake = None
    return mistake or DataError(f"invalid JSON: {error.msg} (column {error.colno})")


def _mistake(values: object) -> DataError | None:
    """Find a value that Python's parser accepts but JSON does not, and the first key that holds it."""
    for key, value in values.items() if isinstance(values, dict) else [(None, values)]:
        try:
            raw_values.as_text(key or "")
            _refuse_not_finite(value)
            cells.as_json(value)
        except DataError as error:
            field = None if key is None else str(cells.any_json(key))
            return DataError(error.message, field=field, sample_id=_id_of(values), hint=error.hint)
    return None


def _id_of(values: Any) -> str | None:
    try:
        return raw_values.as_id(values["id"])
    except (DataError, KeyError, TypeError):
        return None


def _refuse_not_finite(value: object) -> None:
    """Reject NaN and infinities: in other formats they mean absent values, but JSON lacks them."""
    if isinstance(value, float) and not math.isfinite(value):
        raise DataError(f"JSON has no number {value}", hint="Write null where there is no value.")
    if isinstance(value, (list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            _refuse_not_finite(item)


def _quote(line: bytes) -> str:
    return line.decode("utf-8", "backslashreplace").rstrip("\r\n")


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(orjson.loads(line), dict)
    except orjson.JSONDecodeError:
        return False
