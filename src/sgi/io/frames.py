"""Tables in memory: pandas, polars and Arrow tables, and Hugging Face datasets."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from sgi.io.columns import recognise_header
from sgi.io.parquet import arrow_rows
from sgi.io.raw_rows import RawRow
from sgi.io.rows import RowDataset
from sgi.kernel.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from sgi.io.columns import Pairs

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


def frame_dataset(data: Any, columns: Mapping[str, str] | None) -> RowDataset | None:
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


def _is_one_of(data: Any, types: Collection[tuple[str, str]]) -> bool:
    return any((base.__module__.partition(".")[0], base.__name__) in types for base in type(data).__mro__)
