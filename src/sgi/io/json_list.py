"""The format ``json(rows=PATH):FILE``: the rows are the list at a dotted path of a JSON document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from sgi.io.files import check_encoded, require_rows
from sgi.io.jsonl import json_file
from sgi.io.rows import RowDataset
from sgi.io.text_file import open_bytes
from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.kernel.json_path import check_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from sgi.io.raw_rows import RawRow
    from sgi.io.readers import Head

_FORM = "Write 'json(rows=PATH):FILE', as in 'json(rows=eval.results):log.json'."


@dataclass(frozen=True)
class JsonListReader:
    """Reads the list at a dotted path; a `sgi.io.readers.Reader`."""

    name: ClassVar[str] = "json"
    title: ClassVar[str] = "JSON"

    def recognises(self, head: Head) -> bool:
        """Return False: the path must be named."""
        del head
        return False

    def parse_options(self, options: Mapping[str, str]) -> dict[str, str | Path]:
        """Check the path ``rows``. Raises UnknownNameError for other options, UsageError for the path."""
        for option in options:
            if option != "rows":
                raise UnknownNameError("option of json", option, ("rows",), hint=_FORM)
        try:
            return {"rows": check_path(options.get("rows", ""), every=False)}
        except ValueError as error:
            raise UsageError(f"json has no path of the rows: {error}.", hint=_FORM) from error

    def open(
        self,
        path: Path | None,
        options: Mapping[str, str | Path],
        columns: Mapping[str, str] | None,
        encoding: str | None,
    ) -> RowDataset:
        """Open a file. Raises UsageError without a path, DataError if it cannot be opened."""
        if path is None:
            raise UsageError("json names no file.", hint=_FORM)
        check_encoded(path, encoding)
        with open_bytes(path):
            pass
        at = str(options["rows"])

        def rows(mapping: Any) -> Iterator[RawRow]:
            del mapping
            with open_bytes(path) as stream:
                yield from require_rows(json_file(stream, str(path), encoding, at=at), str(path))

        return RowDataset(path.name, rows, columns, str(path))

    def raw_rows(self, path: Path, encoding: str | None) -> Iterator[RawRow]:
        """Raise UsageError: without its path, the list is not known."""
        del path, encoding
        raise UsageError("json has no path of the rows.", hint=_FORM)
