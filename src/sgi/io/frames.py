"""Tables in memory: pandas, polars and Arrow tables, and Hugging Face datasets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sgi.io.columns import checked_mapping, recognise_header
from sgi.io.parquet import arrow_rows
from sgi.io.raw_rows import RawRow
from sgi.io.rows import read_rows
from sgi.kernel.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from sgi.io.column_use import ReportColumns
    from sgi.io.columns import Pairs
    from sgi.io.rows import Reject
    from sgi.kernel.sample import Sample

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


@dataclass(frozen=True, eq=False)
class FrameDataset:
    """A table in memory as a dataset; rows are numbered from 1. ``name`` is for messages."""

    frame: Any
    name: str
    columns: Mapping[str, str] | None = None

    def samples(
        self, *, on_reject: Reject | None = None, on_columns: ReportColumns | None = None
    ) -> Iterator[Sample]:
        """Yield the samples in order; see `read_rows` for rejected rows."""
        mapping = checked_mapping(self.columns)
        rows = _hugging_face_rows if _library(self.frame) == "datasets" else _frame_rows
        return read_rows(
            rows(self.frame, mapping),
            file=None,
            columns=self.columns,
            on_reject=on_reject,
            on_columns=on_columns,
        )


def frame_dataset(data: Any, columns: Mapping[str, str] | None) -> FrameDataset | None:
    """Convert a table in memory to a dataset; None for other data. Imports no library that is not in use.

    Raises UsageError for a table that cannot be read repeatedly, or that holds several tables.
    """
    library = _library(data)
    if library == "datasets":
        kind = type(data).__name__
        if kind != "Dataset":
            hint = 'Choose a split: data["test"].' if "Dict" in kind else "Load it without streaming=True."
            raise UsageError(f"A Hugging Face {kind} cannot be read as a table.", hint=hint)
        return FrameDataset(data, "Hugging Face dataset", columns)
    if _is_one_of(data, _TABLES):
        return FrameDataset(data, f"{library} table", columns)
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
