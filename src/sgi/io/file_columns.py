"""The columns of a file, for a form that maps fields to columns."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from sgi.io.files import check_encoded, check_readable, file_rows
from sgi.io.readers import recognise

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

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


def _paths(values: Mapping[str, Any], before: str = "", depth: int = 1) -> Iterator[str]:
    for key, value in islice(values.items(), _MAX_NAMES):
        if isinstance(key, str):
            yield f"{before}{key}"
            if isinstance(value, dict) and depth < _MAX_DEPTH:
                yield from _paths(value, f"{before}{key}.", depth + 1)
