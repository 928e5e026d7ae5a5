"""Read the mapping of a field: a column, a dotted path into a column, or several of both."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from sgi.io.coercion import as_json
from sgi.kernel.errors import DataError, UsageError
from sgi.kernel.raw_values import PathAbsentError, check_path, describe, get_path, is_absent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_INVISIBLE = "\ufeff\u200b\u2060"


class Source(NamedTuple):
    """One part of a mapping: text, column, and dotted path in the column (empty: the whole value)."""

    text: str
    column: str
    path: str = ""


def clean_name(column: str) -> str:
    r"""Strip spaces, byte order marks and zero-width characters from a column's name."""
    return column.strip().strip(_INVISIBLE).strip()


def parts_of(text: str) -> list[str]:
    """Split a mapping at commas; an empty mapping, which drops the field, has no parts."""
    return [part.strip() for part in text.split(",")] if text.strip() else []


def resolve(text: str, columns: Sequence[str]) -> dict[str, Source | None]:
    """Find the column and path of each part of a mapping, by part; None if its column is missing.

    A column whose name is the whole mapping wins, so names may contain commas and dots. Otherwise each part
    is the name of a column, or the longest such name followed by a dotted path. Spaces around names are
    ignored. Raises UsageError for an invalid path.

    >>> resolve("outputs.answer", ("id", "outputs"))
    {'outputs.answer': Source(text='outputs.answer', column='outputs', path='answer')}
    """
    parts = parts_of(text)
    whole = _column_name(text, columns)
    if whole is not None and parts:
        return {text: Source(text, whole)}
    return {part: _source(part, columns) for part in parts}


def _source(part: str, columns: Sequence[str]) -> Source | None:
    head = part
    while (column := _column_name(head, columns)) is None:
        head, dot, _ = head.rpartition(".")
        if not dot:
            return None
    path = part[len(head) + 1 :]
    if head != part:
        try:
            check_path(path, every=True)
        except ValueError as error:
            raise UsageError(f"The field path {part!r} in the mapping is not valid: {error}.") from None
    return Source(part, column, path)


def _column_name(name: str, columns: Sequence[str]) -> str | None:
    """Find the column of this name, or the only one that differs only by invisible characters at the ends."""
    if name in columns:
        return name
    alike = [column for column in columns if clean_name(column) == clean_name(name)]
    return alike[0] if len(alike) == 1 else None


def read_source(values: Mapping[str, object], source: Source) -> object:
    """Return the value of one part in a row. Text is parsed as JSON if a path leads into it.

    Raises PathAbsentError for a null or missing key in the path, DataError if it does not fit the value.
    """
    value = values[source.column]
    if not source.path or is_absent(value) or value == "":
        return value
    if isinstance(value, str):
        try:
            document = json.loads(value)
        except (ValueError, RecursionError):
            problem = f"no {source.text}: column {source.column[:60]!r} holds {describe(value)}, not JSON"
            raise DataError(problem) from None
    else:
        document = as_json(value)
    try:
        return get_path(document, source.path, root=source.column)
    except PathAbsentError:
        raise
    except LookupError as error:
        raise DataError(f"in column {source.column[:60]!r}: {error}") from None


def join(values: Sequence[Any]) -> list[Any]:
    """Join the values of several columns to one list; absent values are left out."""
    joined: list[Any] = []
    for value in values:
        if isinstance(value, (list, tuple)):
            joined.extend(value)
        elif hasattr(value, "tolist") and not isinstance(value, str):
            joined.extend(value.tolist())
        else:
            joined.append(value)
    return joined
