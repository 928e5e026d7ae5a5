"""Formats that read a named part of a file: ``json(rows=PATH):FILE`` and ``excel(sheet=NAME):FILE``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sgi.io.excel import excel_rows
from sgi.io.files import check_encoded, require_rows
from sgi.io.jsonl import json_file
from sgi.io.rows import RowDataset
from sgi.io.text_file import open_bytes
from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.kernel.raw_values import check_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from sgi.io.columns import Pairs
    from sgi.io.raw_rows import RawRow
    from sgi.io.readers import Head

    ReadPart = Callable[[Path, str, Pairs | None, str | None], Iterator[RawRow]]


@dataclass(frozen=True)
class PartReader:
    """Reader of one part of a file, such as a sheet of a workbook, that an option selects.

    Attributes:
        name: the prefix that selects the format.
        title: its name in messages.
        option: the option that names the part.
        form: an example, for messages.
        read: function that yields the rows of a file; its further arguments are the part, the mapping of
            columns and the encoding.
        check: function that raises ValueError for an invalid name of a part.
    """

    name: str
    title: str
    option: str
    form: str
    read: ReadPart = field(repr=False)
    check: Callable[[str], str] = field(default=str, repr=False)

    def recognises(self, head: Head) -> bool:
        """Return False: this format is never detected, because the user must select the part."""
        del head
        return False

    def parse_options(self, options: Mapping[str, str]) -> dict[str, str | Path]:
        """Check the option. Raises UnknownNameError for another option, UsageError for an invalid value."""
        for option in options:
            if option != self.option:
                raise UnknownNameError(f"option of {self.name}", option, (self.option,), hint=self._hint)
        try:
            if self.option in options:
                return {self.option: self.check(options[self.option])}
        except ValueError as error:
            raise UsageError(f"{self.option} is invalid: {error}.", hint=self._hint) from error
        raise UsageError(f"{self.name} needs the option {self.option}.", hint=self._hint)

    def open(
        self,
        path: Path | None,
        options: Mapping[str, str | Path],
        columns: Mapping[str, str] | None,
        encoding: str | None,
    ) -> RowDataset:
        """Open a file. Raises UsageError without a path, DataError if it cannot be opened."""
        if path is None:
            raise UsageError(f"{self.name} names no file.", hint=self._hint)
        check_encoded(path, encoding)
        with open_bytes(path):
            pass
        part, file = str(options[self.option]), str(path)
        return RowDataset(
            path.name,
            lambda mapping: require_rows(self.read(path, part, mapping, encoding), file),
            columns,
            file,
        )

    def raw_rows(self, path: Path, encoding: str | None) -> Iterator[RawRow]:
        """Raise UsageError: rows can only be read from a part that an option selects."""
        del path, encoding
        raise UsageError(f"{self.name} needs the option {self.option}.", hint=self._hint)

    @property
    def _hint(self) -> str:
        return f"Write it as in '{self.form}'."


def _json_part(path: Path, part: str, mapping: Pairs | None, encoding: str | None) -> Iterator[RawRow]:
    del mapping
    with open_bytes(path) as stream:
        yield from json_file(stream, str(path), encoding, at=part)


def _excel_part(path: Path, part: str, mapping: Pairs | None, encoding: str | None) -> Iterator[RawRow]:
    del encoding
    return excel_rows(path, mapping=mapping, sheet=part)


PART_READERS = (
    PartReader(
        "json",
        "JSON",
        "rows",
        "json(rows=eval.results):log.json",
        _json_part,
        lambda path: check_path(path, every=False),
    ),
    PartReader("excel", "Excel", "sheet", "excel(sheet=Answers):log.xlsx", _excel_part),
)
"""The formats of named parts."""
