"""Tables with tabs between their cells and no quoting: a quotation mark is a character like any other."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from sgi.io.raw_rows import RawRow, check_header, with_place
from sgi.io.text_file import NOT_UTF8, broken_text, numbered_lines, open_bytes
from sgi.kernel.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


def tsv_rows(path: Path, columns: Sequence[str] | None = None) -> Iterator[RawRow]:
    """The rows of such a table; empty cells are empty texts.

    Args:
        path: the file, which may be compressed (``.gz``).
        columns: the names of the first columns where the file has no header; what follows them is dropped.

    Raises:
        DataError: the file cannot be read, or its header names a column twice.
    """
    file, header = str(path), columns
    with open_bytes(path) as stream:
        for number, line in numbered_lines(stream, file):
            if line.isspace():
                continue
            if wrong := broken_text(line):
                refused = DataError(wrong, hint=NOT_UTF8)
                yield RawRow(number, refused, line.decode("utf-8", "backslashreplace").rstrip("\r\n"))
                continue
            text = line.decode().rstrip("\r\n")
            if header is None:
                header = _header(text, file, number)
            else:
                yield RawRow(number, _values(text.split("\t"), header, longer=columns is not None), text)


def first_line(path: Path) -> str:
    """The first line that is not blank; empty where there is none or it is no text."""
    with open_bytes(path) as stream:
        lines = (line for _, line in numbered_lines(stream, str(path)) if not line.isspace())
        return next(lines, b"").decode("utf-8", "replace").rstrip("\r\n")


def _header(text: str, file: str, line: int) -> list[str]:
    header = [cell.strip() for cell in text.split("\t")]
    try:
        check_header(header)
    except DataError as error:
        raise with_place(error, file=file, line=line) from None
    for name, times in Counter(header).items():
        if times > 1:
            raise DataError(f"two columns are called {name[:60]!r}", file=file, line=line)
    return header


def _values(row: list[str], header: Sequence[str], *, longer: bool) -> dict[str, str] | DataError:
    """The cells by column; a row may be longer than the header only if nobody says what it holds."""
    if len(row) < len(header) or (len(row) > len(header) and not longer):
        hint = "Cells are cut at tabs, and quotation marks do not protect one."
        return DataError(f"expected {len(header)} cells, found {len(row)}", hint=hint)
    return dict(zip(header, row, strict=False))
