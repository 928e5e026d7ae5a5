"""Open files of rows; the suffix tells the format."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sgi.io.columns import checked_mapping
from sgi.io.csv import csv_rows
from sgi.io.jsonl import json_file, json_lines
from sgi.io.parquet import parquet_rows
from sgi.io.rows import read_rows
from sgi.io.text_file import checked_encoding, numbered_lines, open_bytes
from sgi.kernel.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sgi.io.column_use import ReportColumns
    from sgi.io.columns import Pairs
    from sgi.io.raw_rows import RawRow
    from sgi.io.rows import Reject
    from sgi.kernel.sample import Sample

_JSON_LINES = (".jsonl", ".ndjson")
_TABLES: dict[str, str | None] = {".csv": None, ".tsv": "\t"}
SUFFIXES = (*_JSON_LINES, ".json", *_TABLES, ".parquet")
"""The formats that can be read; all except Parquet also with ``.gz``."""


@dataclass(frozen=True)
class FileDataset:
    """A file as a dataset, opened anew for each reading; see `open_file`."""

    path: Path
    columns: Mapping[str, str] | None = None
    encoding: str | None = None

    @property
    def name(self) -> str:
        """The file's name without its folder."""
        return self.path.name

    def samples(
        self, *, on_reject: Reject | None = None, on_columns: ReportColumns | None = None
    ) -> Iterator[Sample]:
        """Yield the samples in order; see `read_rows` for rejected rows."""
        rows = fill_columns(
            file_rows(self.path, checked_mapping(self.columns), self.encoding), str(self.path)
        )
        return read_rows(
            rows, file=str(self.path), columns=self.columns, on_reject=on_reject, on_columns=on_columns
        )


def open_file(
    path: Path, columns: Mapping[str, str] | None = None, encoding: str | None = None
) -> FileDataset:
    """Open a file of a format in `SUFFIXES` as a dataset.

    ``columns`` maps a field to its column, if names are not recognised. ``encoding`` is for text files; None
    means UTF-8, or the encoding of the byte order mark. Raises DataError if the file cannot be read,
    UsageError for the encoding.
    """
    check_readable(path)
    check_encoded(path, encoding)
    return FileDataset(path, columns, encoding)


def check_encoded(path: Path, encoding: str | None) -> None:
    """Raise a UsageError if the encoding is unknown, or the format has none."""
    if checked_encoding(encoding) is not None and suffix(path) == ".parquet":
        raise UsageError("Parquet files have no encoding of their own.", hint="Leave out `encoding`.")


def file_rows(path: Path, mapping: Pairs = (), encoding: str | None = None) -> Iterator[RawRow]:
    """Yield the raw rows of a file, which is opened at the first row. Raises DataError."""
    kind, file = suffix(path), str(path)
    if kind == ".parquet":
        yield from parquet_rows(path, mapping=mapping)
        return
    with open_bytes(path) as stream:
        if kind in _TABLES:
            delimiter = _TABLES[kind]
            yield from csv_rows(stream, file, mapping=mapping, delimiter=delimiter, encoding=encoding)
        elif kind == ".json":
            yield from json_file(stream, file, encoding)
        else:
            yield from json_lines(numbered_lines(stream, file, encoding))


def fill_columns(rows: Iterator[RawRow], file: str) -> Iterator[RawRow]:
    """Yield the rows; DataError if there are none."""
    first = next(rows, None)
    if first is None:
        raise DataError("holds no rows", file=file)
    yield first
    yield from rows


def check_readable(path: Path) -> None:
    """Raise a DataError before the first row if the file cannot be read or its format is unknown."""
    with open_bytes(path):
        pass
    if suffix(path) not in SUFFIXES:
        hint = f"It can be {', '.join(SUFFIXES)}."
        raise DataError(f"has the suffix {path.suffix!r}, which is not known", file=str(path), hint=hint)


def suffix(path: Path) -> str:
    """Return the suffix that tells the format, without ``.gz``.

    >>> suffix(Path("rows.CSV.gz"))
    '.csv'
    """
    name = path.name.casefold()
    return Path(name.removesuffix(".gz")).suffix
