"""Parquet files, read batch by batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgi.io.columns import recognise_header
from sgi.io.rows import RawRow, placed
from sgi.io.text_file import open_bytes
from sgi.kernel.errors import DataError, MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from sgi.io.columns import Pairs

_BATCH = 512


def parquet_rows(path: Path, *, mapping: Pairs) -> Iterator[RawRow]:
    """The rows of a Parquet file, numbered from 1.

    Raises:
        MissingExtra: pyarrow is not installed.
        DataError: the file is not Parquet, or its columns are unusable.
    """
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise MissingExtra("Reading Parquet", "parquet") from None
    with open_bytes(path) as stream:
        try:
            table = parquet.ParquetFile(stream)
            header = table.schema_arrow.names
            yield from arrow_rows(
                table.iter_batches(batch_size=_BATCH), header, mapping=mapping, file=str(path)
            )
        except (ArrowException, OSError) as error:
            reason = str(error).partition("\n")[0]
            raise DataError(f"cannot be read as Parquet: {reason}", file=str(path)) from error


def arrow_rows(
    batches: Iterable[Any], header: list[str], *, mapping: Pairs, file: str | None
) -> Iterator[RawRow]:
    """The rows of Arrow record batches or tables that all have the columns ``header``."""
    try:
        recognise_header(header, mapping)
    except DataError as error:
        raise placed(error, file=file, line=None) from None
    number = 0
    for batch in batches:
        for values in batch.to_pylist(maps_as_pydicts="strict"):
            number += 1
            yield RawRow(number, values, kind="table")
