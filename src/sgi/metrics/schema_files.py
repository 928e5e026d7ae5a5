"""Replaces ``schema_file`` in a definition by the schema that the file holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sgi.kernel.errors import UsageError
from sgi.kernel.parsing import PARSER_ERRORS, placed_error, read_whole, reason

if TYPE_CHECKING:
    from pathlib import Path

_KEY = "schema_file"
_MAX_FILE = 500_000
_HINT = "Name a JSON file beside the definitions. A schema is never fetched."


def with_schemas(table: Any, folder: Path | None, place: str) -> Any:
    """Return a table with the schema of its file in place of ``schema_file``; other values unchanged.

    Args:
        table: the values of a definition.
        folder: the folder of the file of definitions; None if they are not from a file.
        place: where the definition is, for errors.

    Raises:
        UsageError: the file cannot be read, or is not a JSON schema; the message names the file and the line.
    """
    if not isinstance(table, Mapping) or _KEY not in table:
        return table
    where, name = f"{place}: {_KEY}", table[_KEY]
    if folder is None:
        raise UsageError(
            f"{where}: a file can be named only in a file of definitions.", hint="Write schema = {…} instead."
        )
    if "schema" in table:
        raise UsageError(f"{where}: the definition has a schema, too.", hint="Leave out one of them.")
    if not isinstance(name, str) or not name.isprintable():
        raise UsageError(f"{where}: expected the name of a file.", hint=_HINT)
    path = folder / name
    if not path.is_file():
        raise UsageError(f"{where}: {path} is not a file.", hint=_HINT)
    return {**{key: value for key, value in table.items() if key != _KEY}, "schema": _schema(path)}


def _schema(path: Path) -> str:
    """Return the schema of a file, as canonical JSON text."""
    from sgi.metrics.assertions.json_documents import canonical_schema, schema_check

    try:
        text = read_whole(path, error=UsageError, most=_MAX_FILE).decode("utf-8-sig")
        schema = canonical_schema(text)
        schema_check(schema)
    except PARSER_ERRORS as error:
        cause = error.__cause__ or error
        line = cause.lineno if isinstance(cause, json.JSONDecodeError) else None
        raise placed_error(UsageError, reason(error), str(path), line) from error
    return schema
