"""Whatever the user has as data, behind one small protocol."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from sgi.io.benchmarks.uri import open_named_benchmark, parse_name
from sgi.io.coercion import any_json, describe
from sgi.io.columns import checked_mapping
from sgi.io.files import open_file
from sgi.io.frames import frame_dataset
from sgi.io.raw_rows import RawRow
from sgi.io.rows import read_rows
from sgi.kernel.errors import DataError, UsageError
from sgi.kernel.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.io.column_use import ReportColumns
    from sgi.io.rows import Reject


@runtime_checkable
class Dataset(Protocol):
    """Samples that can be read again and again, in constant memory."""

    @property
    def name(self) -> str:
        """What messages and the signature call it."""

    def samples(
        self, *, on_reject: Reject | None = None, on_columns: ReportColumns | None = None
    ) -> Iterator[Sample]:
        """The samples in order.

        Args:
            on_reject: is given each bad row; without it the first one raises its DataError.
            on_columns: is given the use of columns so far whenever it changes.
        """


DataLike = str | os.PathLike[str] | Iterable[Mapping[str, Any] | Sample] | Dataset | Any
"""A path, a list or iterable of dicts or Samples, a pandas, polars or Arrow table, a Hugging Face Dataset, or
a Dataset."""


def open_dataset(
    data: DataLike, *, columns: Mapping[str, str] | None = None, encoding: str | None = None
) -> Dataset:
    """The data as a dataset.

    Args:
        data: a path; ``ragtruth:PATH`` and the like for a published benchmark (see
            `sgi.io.benchmarks.open_benchmark`), unless a file has that very name; a list or another iterable
            of dicts or Samples; a pandas, polars or Arrow table; a Hugging Face ``Dataset``; or a Dataset,
            which comes back as it is.
        columns: field → column, where names are not recognised. A dotted path leads into a column
            (``outputs.answer``, ``docs.*.text``), commas join columns (``ctx_1,ctx_2``), and an empty text
            drops the field.
        encoding: of a text file; None for UTF-8, or what its byte order mark says.

    >>> data = open_dataset([{"query": "Who?", "answer": "Nobody."}])
    >>> [(sample.id, sample.question) for sample in data.samples()]
    [('1', 'Who?')]

    Raises:
        DataError: the file cannot be read as a whole.
        UnknownNameError: no such benchmark; says which come near.
        UsageError: the data is of no known kind, the mapping names an unknown field, or the encoding is
            unknown or does not go with the data.
    """
    checked_mapping(columns)
    if isinstance(data, (str, os.PathLike)):
        spelt = parse_name(data)
        if spelt is None:
            return open_file(Path(data), columns, encoding)
        data = open_named_benchmark(spelt, columns)
    if encoding is not None:
        raise UsageError("Only files of text have an encoding.", hint="Leave out --encoding.")
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

    def samples(
        self, *, on_reject: Reject | None = None, on_columns: ReportColumns | None = None
    ) -> Iterator[Sample]:
        """The samples in order; see `read_rows` for what is refused."""
        rows = (_object_row(number, row) for number, row in enumerate(self.rows, 1))
        return read_rows(rows, file=None, columns=self.columns, on_reject=on_reject, on_columns=on_columns)


def _object_row(number: int, row: Any) -> RawRow:
    if isinstance(row, (Mapping, Sample)):
        return RawRow(number, row)
    return RawRow(
        number, DataError(f"expected a dict or a Sample, found {describe(row)}"), str(any_json(row))
    )
