"""Read CSV and TSV strictly: a row of another length than the header is an error with its line number."""

from __future__ import annotations

import csv
import re
from typing import IO, TYPE_CHECKING

from sgi.io.columns import UNNAMED, recognise_header
from sgi.io.raw_rows import RawRow, check_header, oversized_error, with_place
from sgi.io.text_file import NOT_UTF8, numbered_lines, row_too_large
from sgi.kernel.errors import DataError
from sgi.kernel.input_limits import input_limits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sgi.io.columns import Pairs

_NO_LIMIT = 2**31 - 1
"""The parser's limit, one per process; rows are bounded before they are parsed."""
_DELIMITER = re.compile(r"sep=([,;\t|])[\r\n]*", re.IGNORECASE)
_ESCAPED = re.compile("[\udc80-\udcff]")


def csv_rows(
    stream: IO[bytes],
    file: str,
    *,
    mapping: Pairs | None,
    delimiter: str | None,
    encoding: str | None = None,
) -> Iterator[RawRow]:
    """Yield the rows of a CSV table; empty cells are None.

    The line ``sep=;`` of Excel names the delimiter. Columns without a name at the end are left out if they
    are empty, and so are empty rows. A first column without a name, which is how pandas writes an index, gets
    the name that pandas gives it when it reads the file. ``mapping`` None accepts a table in which no column
    is recognised. ``delimiter`` None detects comma, semicolon or tab; ``encoding`` None means UTF-8, or the
    encoding of the byte order mark. Raises DataError if the header is unusable, or the file is not text.
    """
    records = _records(numbered_lines(stream, file, encoding), file, delimiter)
    line, header, _ = next(records, (1, [], ""))
    if isinstance(header, DataError):
        raise with_place(header, file=file, line=line)
    if not header:
        return
    try:
        check_header(header)
        if not header[0].strip() and len(header) > 1:
            header[0] = _free_name(header)
        width = len(header)
        while len(header) > 1 and not header[-1].strip():
            header.pop()
        recognise_header(header, mapping)
    except DataError as error:
        raise with_place(error, file=file, line=line) from None
    limits = input_limits()
    for line, cells, text in records:
        values = cells if isinstance(cells, DataError) else _values(header, cells, width)
        if width > 1 and isinstance(values, dict) and not any(values.values()):
            continue  # an empty row of a sheet
        if not isinstance(values, DataError):
            values = oversized_error(values, len(text), limits) or values
        yield RawRow(line, values, text, "csv")


def _records(
    lines: Iterable[tuple[int, bytes]], file: str, delimiter: str | None
) -> Iterator[tuple[int, list[str] | DataError, str]]:
    """Yield each record that is not blank: its first line, its cells or error, its text."""
    csv.field_size_limit(_NO_LIMIT)
    taken: list[str] = []
    most = input_limits().row

    def texts() -> Iterator[str]:
        held = 0
        for number, line in lines:
            # Bytes that are not UTF-8 pass as escapes, so that one bad record does not end the reading.
            held = len(line) + (held if taken else 0)
            if held > most:
                raise row_too_large(file, number)
            taken.append(line.decode("utf-8", "surrogateescape"))
            yield taken[-1]

    source = texts()
    first, skipped = next(source, ""), 0
    named = _DELIMITER.fullmatch(first)
    if named:
        first, skipped, delimiter = next(source, ""), 1, named[1]
    taken.clear()
    reader = csv.reader(_again(first, source, taken), delimiter=delimiter or _sniff(first), strict=True)
    while True:
        begin = reader.line_num + 1 + skipped
        taken.clear()
        try:
            cells: list[str] | DataError = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            cells = DataError(f"invalid CSV: {error}", hint="Is a quotation mark missing or not doubled?")
        text = "".join(taken)
        if not text.isascii() and (bad := _ESCAPED.search(text)):
            cells = _not_utf8(text, bad, begin)
            text = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        if cells:
            yield begin, cells, text.rstrip("\r\n")


def _not_utf8(text: str, bad: re.Match[str], begin: int) -> DataError:
    line = begin + text.count("\n", 0, bad.start())
    character = bad.start() - text.rfind("\n", 0, bad.start())
    byte = ord(bad[0]) - 0xDC00
    return DataError(f"byte 0x{byte:02x} at character {character} of line {line} is not UTF-8", hint=NOT_UTF8)


def _again(first: str, rest: Iterator[str], taken: list[str]) -> Iterator[str]:
    if first:
        taken.append(first)
        yield first
    yield from rest


def _free_name(header: list[str]) -> str:
    """Name a first column without a name; there may be several after several round trips."""
    names = (UNNAMED, *(f"{UNNAMED}.{number}" for number in range(1, len(header) + 1)))
    taken = set(header)
    return next(name for name in names if name not in taken)


def _values(header: list[str], cells: list[str], width: int) -> dict[str, object] | DataError:
    if len(cells) != width:
        hint = "A cell that holds the delimiter or a line break must be quoted."
        return DataError(f"expected {width} cells, found {len(cells)}", hint=hint)
    unnamed = next((at for at, cell in enumerate(cells[len(header) :], len(header) + 1) if cell.strip()), 0)
    if unnamed:
        return DataError(
            f"column {unnamed} has a value but no name", hint="Give the column a name, or remove it."
        )
    return {column: cell or None for column, cell in zip(header, cells, strict=False)}


def _sniff(header: str) -> str:

    def cells(delimiter: str) -> int:
        try:
            return len(next(csv.reader([header], delimiter=delimiter), []))
        except csv.Error:
            return 0

    return max(",;\t", key=cells)
