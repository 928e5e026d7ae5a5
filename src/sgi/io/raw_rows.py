"""Parsed rows with their line numbers, before their columns are recognised, and limits of size and ids."""

from __future__ import annotations

from array import array
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from sgi.kernel.errors import DataError
from sgi.kernel.input_limits import how_to_raise, input_limits, size_of, size_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sgi.kernel.input_limits import InputLimits
    from sgi.kernel.sample import Sample


class RawRow(NamedTuple):
    """A row before its columns are recognised."""

    line: int
    """Line of a file, or position in a table; from 1."""
    values: Mapping[str, Any] | Sample | DataError
    """Its columns, or the error of parsing it."""
    text: str = ""
    """The text of a row that could not be parsed."""
    kind: Literal["object", "table", "csv"] = "object"
    """Texts in a table may hold lists; in CSV a null may also be an empty text."""


def chat_columns(value: object) -> dict[str, object] | None:
    """Return the row of a chat that is a list of messages: the column ``messages``; None for other values.

    >>> chat_columns([{"role": "user", "content": "Who?"}])
    {'messages': [{'role': 'user', 'content': 'Who?'}]}
    >>> chat_columns(["Who?"]) is None
    True
    """
    first = value[0] if isinstance(value, list) and value else None
    return {"messages": value} if isinstance(first, dict) and "role" in first else None


def with_place(
    error: DataError, *, file: str | None = None, line: int | None = None, sample_id: str | None = None
) -> DataError:
    """Return the same error with file, line, id and field."""
    return DataError(
        error.message, file=file, line=line, sample_id=sample_id, field=error.field, hint=error.hint
    )


def oversized_error(values: Mapping[str, object], size: int, limits: InputLimits) -> DataError | None:
    """Return the error of a row that exceeds the limits, or None; ``size`` is the size of its text."""
    if len(values) > limits.columns:
        return too_many_columns(len(values))
    if size > limits.cell:
        for column, value in values.items():
            if (len(value) if isinstance(value, str) else size_of(value, limits.cell)) > limits.cell:
                return cell_too_large(column)
    return None


def check_header(header: Sequence[object]) -> None:
    """Raise a DataError (without file and line) for a table with too many columns."""
    if len(header) > input_limits().columns:
        raise too_many_columns(len(header))


def too_many_columns(number: int) -> DataError:
    """Build the error (without file and line) of a row or table with too many columns."""
    message = f"{number:,} columns are more than {input_limits().columns:,}"
    return DataError(message, hint=how_to_raise("columns"))


def cell_too_large(column: object) -> DataError:
    """Build the error (without file and line) of a value that exceeds the limit of a cell."""
    message = f"the value in column {str(column)[:60]!r} is larger than {size_text(input_limits().cell)}"
    return DataError(message, hint=how_to_raise("cell"))


class SeenIds:
    """The ids so far, as 60-bit digests: about 90 bytes per id of any length."""

    def __init__(self, file: str | None) -> None:
        self.file = file
        self.seen: set[int] = set()
        self.digests = array("Q")
        self.lines = array("Q")

    def add(self, sample_id: str, line: int) -> None:
        """Add an id; raise a DataError if an earlier row has it."""
        # 60 bits fit the smaller size of Python's integers.
        digest = int.from_bytes(blake2b(sample_id.encode(), digest_size=8).digest(), "big") >> 4
        if digest in self.seen:
            place = np.flatnonzero(np.frombuffer(self.digests, dtype=np.uint64) == digest)[0]
            first = self.lines[int(place)]
            where = f"{self.file}:{first}" if self.file else f"row {first}"
            hint = "Ids must be unique; a row without one takes its number as its id."
            raise DataError(f"{where} has the same id", sample_id=sample_id, field="id", hint=hint)
        self.seen.add(digest)
        self.digests.append(digest)
        self.lines.append(line)
