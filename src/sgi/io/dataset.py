"""Open any kind of user data as a dataset, and list the columns of a file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import partial
from itertools import islice, starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgi.io.coercion import any_json
from sgi.io.columns import checked_mapping, recognise_header
from sgi.io.files import check_encoded, check_readable, file_rows, open_file
from sgi.io.parquet import arrow_rows
from sgi.io.raw_rows import RawRow
from sgi.io.readers import Dataset, parse_name, recognise
from sgi.io.rows import RowDataset
from sgi.kernel.errors import DataError, UsageError
from sgi.kernel.raw_values import describe
from sgi.kernel.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from sgi.io.columns import Pairs


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
        encoding: encoding of a text file; None for UTF-8, or for the encoding that its byte order mark names.

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
        raise UsageError("`encoding` only applies to text files.", hint="Leave out `encoding`.")
    table = frame_dataset(data, columns)
    if table is not None:
        return table
    if isinstance(data, Dataset):
        return data
    if isinstance(data, (Mapping, Sample)):
        raise UsageError(
            f"The data must be a list of rows; one {type(data).__name__} is only one row.",
            hint="Put it in a list: [row].",
        )
    if isinstance(data, Iterable) and not isinstance(data, (bytes, bytearray)):
        return object_dataset(data if isinstance(data, (list, tuple)) else list(data), columns)
    hint = "Give a path, a list of dicts or Samples, a pandas, polars or Arrow table, or a Dataset."
    raise UsageError(f"Data of the type {type(data).__name__} cannot be read.", hint=hint)


def _open_path(path: Path, columns: Mapping[str, str] | None, encoding: str | None) -> Dataset:
    known = recognise(path)
    return open_file(path, columns, encoding) if known is None else known.open(path, {}, columns, encoding)


def object_dataset(
    rows: Sequence[object], columns: Mapping[str, str] | None = None, name: str = "python objects"
) -> RowDataset:
    """Make a dataset of dicts and Samples in memory; rows are numbered from 1."""
    return RowDataset(name, lambda _: starmap(_object_row, enumerate(rows, 1)), columns)


def _object_row(number: int, row: object) -> RawRow:
    if isinstance(row, (Mapping, Sample)):
        return RawRow(number, row)
    return RawRow(
        number, DataError(f"expected a dict or a Sample, found {describe(row)}"), str(any_json(row))
    )


_BATCH = 512
# By package and name, so that no library is imported that is not in use.
_TABLES = {("pandas", "DataFrame"), ("modin", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table")}
_LAZY_TABLES = {("polars", "LazyFrame"), ("dask", "DataFrame"), ("pyspark", "DataFrame"), ("ibis", "Table")}
_SINGLE_COLUMNS = {
    ("pandas", "Series"),
    ("modin", "Series"),
    ("polars", "Series"),
    ("pyarrow", "ChunkedArray"),
}


def frame_dataset(data: object, columns: Mapping[str, str] | None) -> RowDataset | None:
    """Convert a table in memory to a dataset; return None for other data. Imports no further library.

    Raises UsageError for a table that cannot be read repeatedly, or that holds several tables.
    """
    library = _library(data)
    if library == "datasets":
        kind = type(data).__name__
        if kind != "Dataset":
            hint = 'Choose a split: data["test"].' if "Dict" in kind else "Load it without streaming=True."
            raise UsageError(f"A Hugging Face {kind} cannot be read as a table.", hint=hint)
        return RowDataset("Hugging Face dataset", partial(_hugging_face_rows, data), columns)
    if _is_one_of(data, _TABLES):
        return RowDataset(f"{library} table", partial(_frame_rows, data), columns)
    if _is_one_of(data, _LAZY_TABLES):
        raise UsageError(
            f"A lazy table of {library} cannot be read row by row.", hint="Call .collect() on it."
        )
    if _is_one_of(data, _SINGLE_COLUMNS):
        raise UsageError("A single column is not a table.", hint="Give a frame with named columns.")
    return None


def _frame_rows(frame: Any, mapping: Pairs) -> Iterator[RawRow]:
    if _is_one_of(frame, {("pyarrow", "Table")}):
        batches = frame.to_batches(max_chunksize=_BATCH)
        yield from arrow_rows(batches, frame.column_names, mapping=mapping, file=None)
        return
    header = list(frame.columns)
    recognise_header(header, mapping)
    if _is_one_of(frame, {("polars", "DataFrame")}):
        rows = frame.iter_rows(buffer_size=_BATCH)
    else:
        rows = frame.itertuples(index=False, name=None)
    for number, row in enumerate(rows, 1):
        yield RawRow(number, dict(zip(header, row, strict=True)), kind="table")


def _hugging_face_rows(dataset: Any, mapping: Pairs) -> Iterator[RawRow]:
    tables = dataset.with_format("arrow").iter(batch_size=_BATCH)
    return arrow_rows(tables, dataset.column_names, mapping=mapping, file=None)


def _library(data: Any) -> str:
    return type(data).__module__.partition(".")[0]


def _is_one_of(data: object, types: Collection[tuple[str, str]]) -> bool:
    return any((base.__module__.partition(".")[0], base.__name__) in types for base in type(data).__mro__)


_ROWS = 10
_MAX_NAMES = 200
_MAX_DEPTH = 4


def trace_format(path: Path) -> str:
    """Return the title of the format of a file of traces; empty for other files. Raises DataError."""
    known = recognise(path)
    return "" if known is None else known.title


def file_columns(path: Path, encoding: str | None = None) -> list[str]:
    """Return the columns of the first ten rows, and dotted paths into objects; at most 200 names.

    For traces, these are the columns of the converted rows. Raises DataError if the file cannot be read,
    UsageError for the encoding.
    """
    check_encoded(path, encoding)
    known = recognise(path)
    if known is None:
        check_readable(path)
        rows = file_rows(path, None, encoding)
    else:
        rows = known.raw_rows(path, encoding)
    names: dict[str, None] = {}
    for row in islice(rows, _ROWS):
        if isinstance(row.values, dict):
            names.update(dict.fromkeys(_paths(row.values)))
    return list(islice(names, _MAX_NAMES))


def _paths(values: Mapping[str, object], before: str = "", depth: int = 1) -> Iterator[str]:
    for key, value in islice(values.items(), _MAX_NAMES):
        if isinstance(key, str):
            yield f"{before}{key}"
            if isinstance(value, dict) and depth < _MAX_DEPTH:
                yield from _paths(value, f"{before}{key}.", depth + 1)
