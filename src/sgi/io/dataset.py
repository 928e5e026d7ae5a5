"""Whatever the user has as data, behind one small protocol."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from sgi.io.cells import found, loosely_json
from sgi.io.columns import checked_mapping
from sgi.io.csv import csv_rows
from sgi.io.frames import frame_dataset
from sgi.io.jsonl import json_file, json_lines
from sgi.io.parquet import parquet_rows
from sgi.io.rows import RawRow, read_rows
from sgi.io.text_file import numbered_lines, open_bytes
from sgi.kernel.errors import DataError, UsageError
from sgi.kernel.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.io.columns import Pairs
    from sgi.io.rows import Reject

_JSON_LINES = (".jsonl", ".ndjson")
_TABLES: dict[str, str | None] = {".csv": None, ".tsv": "\t"}
SUFFIXES = (*_JSON_LINES, ".json", *_TABLES, ".parquet")
"""The kinds of file that can be read; all but Parquet also with ``.gz`` after them."""


@runtime_checkable
class Dataset(Protocol):
    """Samples that can be read again and again, in constant memory."""

    @property
    def name(self) -> str:
        """What messages and the signature call it."""

    def samples(self, *, on_reject: Reject | None = None) -> Iterator[Sample]:
        """The samples in order.

        Args:
            on_reject: is given each bad row; without it the first one raises its DataError.
        """


DataLike = str | os.PathLike[str] | Iterable[Mapping[str, Any] | Sample] | Dataset | Any
"""A path, a list or iterable of dicts or Samples, a pandas, polars or Arrow table, a Hugging Face Dataset, or
a Dataset."""


def open_dataset(data: DataLike, *, columns: Mapping[str, str] | None = None) -> Dataset:
    """The data as a dataset.

    Args:
        data: a path; ``ragtruth:PATH`` and the like for a published benchmark (see
            `sgi.io.benchmarks.open_benchmark`), unless a file has that very name; a list or another iterable
            of dicts or Samples; a pandas, polars or Arrow table; a Hugging Face ``Dataset``; or a Dataset,
            which comes back as it is.
        columns: field → column, where names are not recognised.

    >>> data = open_dataset([{"query": "Who?", "answer": "Nobody."}])
    >>> [(sample.id, sample.question) for sample in data.samples()]
    [('1', 'Who?')]

    Raises:
        DataError: the file cannot be read as a whole.
        UnknownName: no such benchmark; says which come near.
        UsageError: the data is of no known kind, or the mapping names an unknown field.
    """
    checked_mapping(columns)
    if isinstance(data, (str, os.PathLike)):
        from sgi.io.benchmarks.naming import named, open_named  # they read files through this module

        spelt = named(data)
        return _file_dataset(Path(data), columns) if spelt is None else open_named(spelt, columns)
    table = frame_dataset(data, columns)
    if table is not None:
        return table
    if isinstance(data, Dataset):
        return data
    if isinstance(data, (Mapping, Sample)):
        raise UsageError(f"One {type(data).__name__} is one row.", hint="Put it in a list: [row].")
    if isinstance(data, Iterable) and not isinstance(data, (bytes, bytearray)):
        return ObjectDataset(data if isinstance(data, (list, tuple)) else list(data), columns)
    hint = "Give a path, a list of dicts or Samples, a pandas, polars or Arrow table, or a Dataset."
    raise UsageError(f"Data of the type {type(data).__name__} cannot be read.", hint=hint)


@dataclass(frozen=True)
class FileDataset:
    """A file as a dataset; it is opened anew for each reading.

    Attributes:
        path: the file.
        columns: field → column, where names are not recognised.
    """

    path: Path
    columns: Mapping[str, str] | None = None

    @property
    def name(self) -> str:
        """The file's name without its folder."""
        return self.path.name

    def samples(self, *, on_reject: Reject | None = None) -> Iterator[Sample]:
        """The samples in order; see `read_rows` for what is refused."""
        rows = filled(file_rows(self.path, checked_mapping(self.columns)), str(self.path))
        return read_rows(rows, file=str(self.path), columns=self.columns, on_reject=on_reject)


def file_rows(path: Path, mapping: Pairs = ()) -> Iterator[RawRow]:
    """The raw rows of a file of any kind in `SUFFIXES`; opened when the first is asked for.

    Raises:
        DataError: the file cannot be read as a whole.
    """
    kind, file = suffix(path), str(path)
    if kind == ".parquet":
        yield from parquet_rows(path, mapping=mapping)
        return
    with open_bytes(path) as stream:
        if kind in _TABLES:
            yield from csv_rows(stream, file, mapping=mapping, delimiter=_TABLES[kind])
        elif kind == ".json":
            yield from json_file(stream, file)
        else:
            yield from json_lines(numbered_lines(stream, file))


def filled(rows: Iterator[RawRow], file: str) -> Iterator[RawRow]:
    """The rows; a DataError where there are none."""
    first = next(rows, None)
    if first is None:
        raise DataError("holds no rows", file=file)
    yield first
    yield from rows


@dataclass(frozen=True, eq=False)
class ObjectDataset:
    """Dicts and Samples in memory as a dataset; rows are numbered from 1.

    Attributes:
        rows: the dicts and Samples.
        columns: field → column, where names are not recognised; Samples need none.
    """

    rows: Sequence[Any]
    columns: Mapping[str, str] | None = None
    name: str = "python objects"

    def samples(self, *, on_reject: Reject | None = None) -> Iterator[Sample]:
        """The samples in order; see `read_rows` for what is refused."""
        rows = (_object_row(number, row) for number, row in enumerate(self.rows, 1))
        return read_rows(rows, file=None, columns=self.columns, on_reject=on_reject)


def _object_row(number: int, row: Any) -> RawRow:
    if isinstance(row, (Mapping, Sample)):
        return RawRow(number, row)
    return RawRow(
        number, DataError(f"expected a dict or a Sample, found {found(row)}"), str(loosely_json(row))
    )


def _file_dataset(path: Path, columns: Mapping[str, str] | None) -> FileDataset:
    check_readable(path)
    return FileDataset(path, columns)


def check_readable(path: Path) -> None:
    """Raise a DataError, now and not at the first row, if the file cannot be read or is of no known kind."""
    with open_bytes(path):
        pass
    if suffix(path) not in SUFFIXES:
        hint = f"It can be {', '.join(SUFFIXES)}."
        raise DataError(f"has the suffix {path.suffix!r}, which is not known", file=str(path), hint=hint)


def suffix(path: Path) -> str:
    """The suffix that tells the format, without ``.gz``.

    >>> suffix(Path("rows.CSV.gz"))
    '.csv'
    """
    name = path.name.casefold()
    return Path(name.removesuffix(".gz")).suffix
