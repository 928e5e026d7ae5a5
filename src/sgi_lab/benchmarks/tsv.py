"""Read tables with tabs between the cells and without quoting."""

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
    """Yield the rows of a table, which can be compressed (``.gz``); empty cells are empty texts.

    ``columns`` are the names of the first columns of a file without a header; cells beyond them are dropped.
    Raises DataError if the file cannot be read, or its header repeats a name.
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
    """Return the first line that is not blank; empty if there is none or it is not text."""
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
    """Return the cells by column; a row may be longer than the header only with ``longer``."""
    if len(row) < len(header) or (len(row) > len(header) and not longer):
        hint = "Cells are cut at tabs, and quotation marks do not protect one."
        return DataError(f"expected {len(header)} cells, found {len(row)}", hint=hint)
    return dict(zip(header, row, strict=False))
