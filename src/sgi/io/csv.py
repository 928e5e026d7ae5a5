"""CSV and TSV, read strictly: every row as long as the header, every line number real."""

from __future__ import annotations

import csv
import re
from typing import IO, TYPE_CHECKING

from sgi.io.cells import table_row
from sgi.io.columns import recognise_header
from sgi.io.rows import RawRow, placed
from sgi.io.text_file import numbered_lines
from sgi.kernel.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sgi.io.columns import Pairs, Plan

_LARGEST_CELL = 256 * 2**20
_ESCAPED = re.compile("[\udc80-\udcff]")


def csv_rows(stream: IO[bytes], file: str, *, mapping: Pairs, delimiter: str | None) -> Iterator[RawRow]:
    """The rows of a table in CSV.

    An empty cell is an absent value, except for the response: an empty answer is an answer. Lists stand in a
    cell as JSON or as Python prints them.

    Args:
        stream: the file's bytes.
        file: its name for messages.
        mapping: field → column, checked.
        delimiter: the character between cells; None to find out which of comma, semicolon and tab it is.

    Raises:
        DataError: the header is unusable, or the file is no text.
    """
    records = _records(numbered_lines(stream, file), delimiter)
    line, header, _ = next(records, (1, [], ""))
    if isinstance(header, DataError):
        raise placed(header, file=file, line=line)
    if not header:
        return
    try:
        plan = recognise_header(header, mapping)
    except DataError as error:
        raise placed(error, file=file, line=line) from None
    for line, cells, text in records:
        yield RawRow(line, cells if isinstance(cells, DataError) else _values(header, cells, plan), text)


def _records(
    lines: Iterable[tuple[int, bytes]], delimiter: str | None
) -> Iterator[tuple[int, list[str] | DataError, str]]:
    """Each record that is not blank: the line it begins in, its cells or what is wrong, its text."""
    csv.field_size_limit(max(csv.field_size_limit(), _LARGEST_CELL))
    taken: list[str] = []

    def texts() -> Iterator[str]:
        for _, line in lines:
            # Bytes that are not UTF-8 pass as escapes, so that one bad record does not end the reading.
            taken.append(line.decode("utf-8", "surrogateescape"))
            yield taken[-1]

    source = texts()
    first = next(source, "")
    taken.clear()
    reader = csv.reader(_again(first, source, taken), delimiter=delimiter or _sniff(first), strict=True)
    while True:
        begin = reader.line_num + 1
        taken.clear()
        try:
            cells: list[str] | DataError = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            cells = DataError(f"invalid CSV: {error}", hint="Is a quotation mark missing or not doubled?")
        text = "".join(taken)
        if not text.isascii() and _ESCAPED.search(text):
            cells = DataError("the text is not UTF-8", hint="Save the file as UTF-8.")
            text = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        if cells:
            yield begin, cells, text.rstrip("\r\n")


def _again(first: str, rest: Iterator[str], taken: list[str]) -> Iterator[str]:
    if first:
        taken.append(first)
        yield first
    yield from rest


def _values(header: list[str], cells: list[str], plan: Plan) -> dict[str, object] | DataError:
    if len(cells) != len(header):
        hint = "A cell that holds the delimiter or a line break must be quoted."
        return DataError(f"expected {len(header)} cells, found {len(cells)}", hint=hint)
    response = plan.fields.get("response")
    values = {
        column: cell if cell or column == response else None
        for column, cell in zip(header, cells, strict=True)
    }
    return dict(table_row(values, plan))


def _sniff(header: str) -> str:
    """The delimiter that cuts the header into the most cells; a comma where none does."""

    def cells(delimiter: str) -> int:
        try:
            return len(next(csv.reader([header], delimiter=delimiter), []))
        except csv.Error:
            return 0

    return max(",;\t", key=cells)
