"""Parsed rows with their place, before their columns are recognised, and limits of their size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from sgi.kernel.errors import DataError
from sgi.kernel.limits import how_to_raise, input_limits, size_text
from sgi.kernel.memory_size import size_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sgi.kernel.sample import Sample


class RawRow(NamedTuple):
    """A row before it is understood."""

    line: int
    """Where it begins: the line of a file, the position in a table; from 1."""
    values: Mapping[str, Any] | Sample | DataError
    """Its columns; or why it could not be parsed."""
    text: str = ""
    """The text of the row, where it could not be parsed."""
    kind: Literal["object", "table", "csv"] = "object"
    """Texts in a table may hold lists; in CSV a null may also be an empty text."""


def with_place(
    error: DataError, *, file: str | None, line: int | None, sample_id: str | None = None
) -> DataError:
    """The same error with its place."""
    return DataError(
        error.message, file=file, line=line, sample_id=sample_id, field=error.field, hint=error.hint
    )


def oversized(values: Mapping[str, Any], size: int) -> DataError | None:
    """The error of a row with too many columns or too large a value; None where it is within the limits.

    Args:
        values: the row.
        size: of its text; the values of a short one need not be looked at.
    """
    limits = input_limits()
    if len(values) > limits.columns:
        return too_many_columns(len(values))
    if size > limits.cell:
        for column, value in values.items():
            if (len(value) if isinstance(value, str) else size_of(value, limits.cell)) > limits.cell:
                return cell_too_large(column)
    return None


def check_header(header: Sequence[object]) -> None:
    """Raise a DataError for a table with too many columns; place unknown."""
    if len(header) > input_limits().columns:
        raise too_many_columns(len(header))


def too_many_columns(number: int) -> DataError:
    """The error of a row or a table with too many columns; place unknown."""
    message = f"{number:,} columns are more than {input_limits().columns:,}"
    return DataError(message, hint=how_to_raise("columns"))


def cell_too_large(column: object) -> DataError:
    """The error of a value that is larger than the limit of a cell; place unknown."""
    message = f"the value in column {str(column)[:60]!r} is larger than {size_text(input_limits().cell)}"
    return DataError(message, hint=how_to_raise("cell"))
