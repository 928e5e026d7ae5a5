"""Open files of rows, in the format that the suffix names."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from sgi.io.csv import csv_rows
from sgi.io.excel import excel_rows
from sgi.io.jsonl import json_file, json_lines
from sgi.io.parquet import dataset_files, is_saved_dataset, parquet_rows
from sgi.io.rows import RowDataset
from sgi.io.text_file import checked_encoding, numbered_lines, open_bytes
from sgi.kernel.errors import DataError, SgiError, UsageError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from sgi.io.columns import Pairs
    from sgi.io.parquet import Form
    from sgi.io.raw_rows import RawRow

JSON_LINES = (".jsonl", ".ndjson")
_TABLES: dict[str, str | None] = {".csv": None, ".tsv": "\t"}
_FORMS: dict[str, Form] = {".parquet": "Parquet", ".arrow": "Arrow", ".feather": "Arrow"}
PACKED = {**_FORMS, ".xlsx": "Excel"}
"""The formats that are no text, by suffix: they have no encoding, and a small file can hold much."""
_OTHER = {
    ".zip": "Unpack it first. ",
    ".txt": "If it is a table, name it .csv, or .tsv for tabs. ",
    ".xls": "Save it as .xlsx. ",
}
SUFFIXES = (*JSON_LINES, ".json", *_TABLES, *PACKED)
"""The formats that can be read; all except Parquet, Arrow and Excel also with ``.gz``."""


def open_file(
    path: Path, columns: Mapping[str, str] | None = None, encoding: str | None = None
) -> RowDataset:
    """Open a file of a format in `SUFFIXES`, or a folder of ``datasets.save_to_disk``, as a dataset.

    ``columns`` maps a field to its column, if names are not recognised. ``encoding`` is for text files; None
    means UTF-8, or the encoding of the byte order mark. Raises DataError if the file cannot be read,
    UsageError for the encoding.
    """
    check_readable(path)
    check_encoded(path, encoding)
    file = str(path)
    return RowDataset(
        path.name, lambda mapping: require_rows(file_rows(path, mapping, encoding), file), columns, file
    )


def check_encoded(path: Path, encoding: str | None) -> None:
    """Raise a UsageError if the encoding is unknown, or the format has none."""
    kind = "Arrow" if path.is_dir() else PACKED.get(suffix(path))
    if checked_encoding(encoding) is not None and kind:
        raise UsageError(f"`encoding` does not apply to {kind} files.", hint="Leave out `encoding`.")


def file_rows(path: Path, mapping: Pairs | None = (), encoding: str | None = None) -> Iterator[RawRow]:
    """Yield the raw rows of a file, which is opened when the first row is read. Raises DataError.

    ``mapping`` None accepts a table in which no column is recognised.
    """
    if is_saved_dataset(path):
        yield from _saved_rows(path, mapping)
        return
    kind, file = suffix(path), str(path)
    if kind in _FORMS:
        yield from parquet_rows(path, mapping=mapping, form=_FORMS[kind])
        return
    if kind == ".xlsx":
        yield from excel_rows(path, mapping=mapping)
        return
    with open_bytes(path) as stream:
        if kind in JSON_LINES:
            yield from json_lines(numbered_lines(stream, file, encoding))
        else:
            yield from document_rows(stream, file, mapping, encoding)


def _saved_rows(folder: Path, mapping: Pairs | None) -> Iterator[RawRow]:
    """Yield the rows of all files of a saved dataset, numbered throughout."""
    rows = (
        row for file in dataset_files(folder) for row in parquet_rows(file, mapping=mapping, form="Arrow")
    )
    for number, row in enumerate(rows, 1):
        yield row._replace(line=number)


def document_rows(
    stream: IO[bytes], file: str, mapping: Pairs | None, encoding: str | None
) -> Iterator[RawRow]:
    """Yield the raw rows of a CSV, TSV or JSON document; ``file`` is its name with the format's suffix."""
    kind = suffix(Path(file))
    if kind == ".json":
        return json_file(stream, file, encoding)
    return csv_rows(stream, file, mapping=mapping, delimiter=_TABLES[kind], encoding=encoding)


def require_rows(rows: Iterator[RawRow], file: str) -> Iterator[RawRow]:
    """Yield the rows; raises DataError if there are none."""
    first = next(rows, None)
    if first is None:
        raise DataError("holds no rows", file=file)
    yield first
    yield from rows


def check_readable(path: Path) -> None:
    """Raise a DataError before the first row if the file cannot be read or its format is unknown."""
    if is_saved_dataset(path):
        dataset_files(path)
        return
    with open_bytes(path):
        pass
    if suffix(path) not in SUFFIXES:
        hint = f"{_OTHER.get(suffix(path), '')}It can be {', '.join(SUFFIXES)}."
        raise DataError(f"has the suffix {path.suffix!r}, which is not known", file=str(path), hint=hint)


def suffix(path: Path) -> str:
    """Return the lower-case suffix that names the format, without ``.gz``."""
    name = path.name.casefold()
    return Path(name.removesuffix(".gz")).suffix


_LINE_FORMATS = (*JSON_LINES, ".json", ".csv", ".tsv")


def row_lines(
    path: Path,
    ids: Collection[str],
    *,
    columns: Mapping[str, str] | None = None,
    encoding: str | None = None,
) -> dict[str, int]:
    """Return the first line, from 1, of each row with one of these ids.

    A row that is not found is left out. The result is empty for a file without lines (Parquet, compressed
    files), and for a file that does not exist any more.

    Args:
        path: the data file.
        ids: the ids of the rows.
        columns: the mapping from fields to columns with which the file was read.
        encoding: the encoding with which the file was read.
    """
    lines: dict[str, int] = {}
    if not ids or path.suffix.casefold() not in _LINE_FORMATS:
        return lines
    with suppress(SgiError):  # the lines found before a mistake in the file remain valid
        dataset = open_file(path, columns, encoding)
        for line, sample in dataset.numbered_samples(on_reject=lambda _: None):
            if sample.id in ids:
                lines[sample.id] = line
                if len(lines) == len(ids):
                    break
    return lines
