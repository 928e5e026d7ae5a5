"""Raw rows of a benchmark file, and their conversion to known columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sgi.kernel import raw_values
from sgi.kernel.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from sgi.io.raw_rows import RawRow
    from sgi.io.rows import Convert

_SCORABLE = ("question", "response", "reference")


@dataclass(frozen=True)
class BenchmarkRows:
    """The rows of a benchmark's files, and their conversion.

    ``file`` is the file whose lines error messages name. ``convert`` makes rows in SGI's columns from a row.
    """

    file: Path
    rows: Iterator[RawRow]
    convert: Convert


def is_own(values: Mapping[str, Any]) -> bool:
    """Return whether a row has this package's own columns: an id, and a text to score."""
    return "id" in values and any(name in values for name in _SCORABLE)


def own_rows(values: Mapping[str, Any], title: str, columns: str) -> list[Mapping[str, Any]]:
    """Return a row in SGI's columns as it is.

    Raises:
        DataError: the row has neither these columns nor those of the benchmark.
    """
    if is_own(values):
        return [values]
    raise wrong_format_error(title, columns)


def wrong_format_error(title: str, columns: str) -> DataError:
    """Build the error of a row that does not belong to the benchmark."""
    hint = "Name a file as it is published, or one with id, question, context, response, reference and label."
    return DataError(f"is not {title}, whose rows have {columns}", hint=hint)


def read_field(
    values: Mapping[str, Any], column: str, read: Callable[[Any], Any] = raw_values.as_text
) -> Any:
    """Read the value of a column. Raises DataError that names the column if it is missing, empty or bad."""
    value = values.get(column)
    if raw_values.is_absent(value):
        raise DataError("is missing", field=column)
    try:
        return read(value)
    except DataError as error:
        raise DataError(error.message, field=column, hint=error.hint) from None


def other_columns(values: Mapping[str, Any], *taken: str) -> dict[str, Any]:
    """Return the columns for a sample's metadata."""
    return {
        key: value for key, value in values.items() if key not in taken and not raw_values.is_absent(value)
    }
