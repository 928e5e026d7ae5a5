"""Read a sheet of an Excel file, whose first row has the names of the columns."""

from __future__ import annotations

import zipfile
import zlib
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from sgi.io.columns import join_names, recognise_header
from sgi.io.raw_rows import RawRow, check_header, oversized_error, with_place
from sgi.io.text_file import open_bytes
from sgi.kernel.errors import DataError, MissingExtraError
from sgi.kernel.input_limits import check_time, how_to_raise, input_limits, size_of, size_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sgi.io.columns import Pairs

_PIECE = 1 << 20
_SHOWN = 5


def excel_rows(path: Path, *, mapping: Pairs | None, sheet: str = "") -> Iterator[RawRow]:
    """Yield the rows of a sheet, with their row numbers; empty cells are None, and formulas their results.

    ``sheet`` may be empty if one visible sheet has rows. ``mapping`` None accepts a table in which no column
    is recognised. Raises MissingExtraError without python-calamine, DataError if the file is not an Excel
    file, exceeds the limit of a file without its compression, has no such sheet or an unusable header.
    """
    file = str(path)
    _check_size(path, file)
    if find_spec("python_calamine") is None:
        raise MissingExtraError("Reading Excel files", "excel")
    from python_calamine import CalamineError, CalamineWorkbook

    try:
        with CalamineWorkbook.from_path(file) as book:
            name = sheet or _only_sheet(book, file)
            if name not in book.sheet_names:
                raise DataError(
                    f"has no sheet {name[:60]!r}; there are: {_names(book.sheet_names)}", file=file
                )
            content = book.get_sheet_by_name(name)
            first = 1 + (content.start or (0, 0))[0]
            table = content.to_python(skip_empty_area=True)
    except CalamineError as error:
        raise DataError(f"cannot be read as an Excel file: {error}", file=file) from error
    header = [str(_value(cell) or "") for cell in table[0]] if table else []
    try:
        check_header(header)
        if header:
            recognise_header(header, mapping)
    except DataError as error:
        raise with_place(error, file=file, line=first) from None
    limits = input_limits()
    for number, cells in enumerate(table[1:], first + 1):
        check_time()
        values = {column: _value(cell) for column, cell in zip(header, cells, strict=True)}
        if any(value is not None for value in values.values()):
            refused = oversized_error(values, size_of(values, limits.row), limits)
            yield RawRow(number, refused or values, "", "csv")


def _only_sheet(book: Any, file: str) -> str:
    visible: list[str] = [
        sheet.name for sheet in book.sheets_metadata if str(sheet.visible).endswith(".Visible")
    ]
    filled = [name for name in visible if book.get_sheet_by_name(name).height]
    if len(filled) > 1:
        hint = f"Name a sheet: 'excel(sheet={filled[0]}):{file}'."
        raise DataError(f"has rows in several sheets: {_names(filled)}", file=file, hint=hint)
    if not filled:
        raise DataError("holds no rows", file=file)
    return filled[0]


def _check_size(path: Path, file: str) -> None:
    """Decompress the file once in pieces, so that a small file cannot fill the memory."""
    most, size = input_limits().file, 0
    try:
        with open_bytes(path) as stream, zipfile.ZipFile(stream) as parts:
            for part in parts.infolist():
                with parts.open(part) as content:
                    while piece := content.read(_PIECE):
                        size += len(piece)
                        if size > most:
                            message = f"is larger than {size_text(most)} without its compression"
                            raise DataError(message, file=file, hint=how_to_raise("file"))
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError, OSError) as error:
        hint = "Save it again as an Excel workbook (.xlsx) without a password."
        raise DataError(f"is not an Excel file: {error}", file=file, hint=hint) from error


def _value(cell: Any) -> Any:
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1 << 53:
        return int(cell)  # Excel has no whole numbers
    return None if cell == "" else cell


def _names(names: list[str]) -> str:
    return join_names([repr(name[:60]) for name in names], _SHOWN)
