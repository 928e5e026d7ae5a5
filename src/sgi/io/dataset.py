"""Open any kind of user data as a dataset."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgi.io.coercion import any_json
from sgi.io.columns import checked_mapping
from sgi.io.files import open_file
from sgi.io.frames import frame_dataset
from sgi.io.raw_rows import RawRow
from sgi.io.readers import Dataset, parse_name, recognise
from sgi.io.rows import RowDataset
from sgi.kernel.errors import DataError, UsageError
from sgi.kernel.raw_values import describe
from sgi.kernel.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Sequence


DataLike = str | os.PathLike[str] | Iterable[Mapping[str, Any] | Sample] | Dataset | Any
"""A path, a list or iterable of dicts or Samples, a pandas, polars or Arrow table, a Hugging Face Dataset, or
a Dataset."""


def open_dataset(
    data: DataLike, *, columns: Mapping[str, str] | None = None, encoding: str | None = None
) -> Dataset:
    """Open data as a dataset.

    Args:
        data: a path, also of traces, which are recognised by their content; a format and a path, such as
            ``ragtruth:PATH`` or ``otel:PATH`` (see `sgi.io.readers`), unless a file has exactly that name; an
            iterable of dicts or Samples; a pandas, polars or Arrow table; a Hugging Face ``Dataset``; or a
            Dataset, which is returned unchanged.
        columns: field → column, if the columns' names are not recognised. A dotted path selects inside a
            column (``outputs.answer``, ``docs.*.text``), commas join columns (``ctx_1,ctx_2``), and an empty
            text drops the field.
        encoding: encoding of a text file; None for UTF-8, or that of its byte order mark.

    Raises DataError if the file cannot be read as a whole; UnknownNameError for an unknown format, with
    similar names; UsageError if the kind of data, a mapped field or the encoding is not supported.

    >>> data = open_dataset([{"query": "Who?", "answer": "Nobody."}])
    >>> [(sample.id, sample.question) for sample in data.samples()]
    [('1', 'Who?')]
    """
    checked_mapping(columns)
    if isinstance(data, (str, os.PathLike)):
        named = parse_name(data)
        if named is not None:
            return named.reader.open(named.path, named.options, columns, encoding)
        return _open_path(Path(data), columns, encoding)
    if encoding is not None:
        raise UsageError("Only files of text have an encoding.", hint="Leave out `encoding`.")
    table = frame_dataset(data, columns)
    if table is not None:
        return table
    if isinstance(data, Dataset):
        return data
    if isinstance(data, (Mapping, Sample)):
        raise UsageError(f"One {type(data).__name__} is one row.", hint="Put it in a list: [row].")
    if isinstance(data, Iterable) and not isinstance(data, (bytes, bytearray)):
        return object_dataset(data if isinstance(data, (list, tuple)) else list(data), columns)
    hint = "Give a path, a list of dicts or Samples, a pandas, polars or Arrow table, or a Dataset."
    raise UsageError(f"Data of the type {type(data).__name__} cannot be read.", hint=hint)


def _open_path(path: Path, columns: Mapping[str, str] | None, encoding: str | None) -> Dataset:
    known = recognise(path)
    return open_file(path, columns, encoding) if known is None else known.open(path, {}, columns, encoding)


def object_dataset(
    rows: Sequence[Any], columns: Mapping[str, str] | None = None, name: str = "python objects"
) -> RowDataset:
    """Make a dataset of dicts and Samples in memory; rows are numbered from 1."""
    return RowDataset(name, lambda _: starmap(_object_row, enumerate(rows, 1)), columns)


def _object_row(number: int, row: Any) -> RawRow:
    if isinstance(row, (Mapping, Sample)):
        return RawRow(number, row)
    return RawRow(
        number, DataError(f"expected a dict or a Sample, found {describe(row)}"), str(any_json(row))
    )
