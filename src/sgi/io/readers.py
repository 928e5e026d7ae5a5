"""Formats that plug in, named as in ``ragtruth(split=test):PATH`` or recognised by the beginning of a file.

An entry point of the group ``sgi.readers`` names a sequence of `Reader`. Its module is imported when data has
the name of a format, or when a file may have one of its formats.
"""

from __future__ import annotations

import codecs
import csv
import difflib
import io
import json
import re
import zlib
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from sgi.io.column_names import NAMES
from sgi.io.json_scan import LISTS
from sgi.io.parquet import is_saved_dataset, parquet_rows
from sgi.io.raw_rows import chat_columns
from sgi.io.text_file import open_bytes
from sgi.kernel.errors import DataError, MissingExtraError, UnknownNameError, UsageError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    from sgi.io.column_use import ReportColumns
    from sgi.io.parquet import Form
    from sgi.io.raw_rows import RawRow
    from sgi.io.rows import Reject
    from sgi.kernel.sample import Sample

GROUP = "sgi.readers"
"""The entry-point group in which a package registers its formats."""

_HEAD_BYTES = 262_144
_NAME = r"(?P<name>[A-Za-z]\w+)(?:\((?P<options>[^()]*)\))?:(?P<path>.*)"
_FIRST = re.compile(_NAME, re.DOTALL)
# A settings file resolves paths against its folder, so the folder can precede the name.
_AFTER_FOLDER = re.compile(rf"(?P<folder>.*?[/\\]){_NAME}", re.DOTALL)


@runtime_checkable
class Dataset(Protocol):
    """Samples that can be read repeatedly, in constant memory."""

    @property
    def name(self) -> str:
        """The name for messages and the signature."""

    def samples(
        self, *, on_reject: Reject | None = None, on_columns: ReportColumns | None = None
    ) -> Iterator[Sample]:
        """Yield the samples in order.

        ``on_reject`` is called with each bad row; if it is None, the first bad row raises its DataError.
        ``on_columns`` is called with the use of columns so far whenever it changes.
        """


@dataclass(frozen=True)
class Head:
    """The beginning of a file, by which readers recognise it: its first 256 KB, decompressed, in UTF-8."""

    path: Path
    data: bytes

    @cached_property
    def record(self) -> dict[str, Any] | None:
        """The first record of a file of JSON, a table or Parquet, as far as the data holds it, or None."""
        return first_record(self.path, self.data)


class Reader(Protocol):
    """A format of data. ``name`` is its prefix, as in ``otel:PATH``; ``title`` is its name in messages."""

    @property
    def name(self) -> str: ...  # noqa: D102 - see the class
    @property
    def title(self) -> str: ...  # noqa: D102 - see the class

    def recognises(self, head: Head) -> bool:
        """Return whether a file has this format; a format that is only selected by its name returns False."""

    def parse_options(self, options: Mapping[str, str]) -> dict[str, str | Path]:
        """Check options, and convert paths. Raises UnknownNameError for an unknown one."""

    def open(
        self,
        path: Path | None,
        options: Mapping[str, str | Path],
        columns: Mapping[str, str] | None,
        encoding: str | None,
    ) -> Dataset:
        """Open data; path is None if the text names none.

        Raises UsageError for an argument that the format cannot use, DataError if the file cannot be read.
        """

    def raw_rows(self, path: Path, encoding: str | None) -> Iterator[RawRow]:
        """Yield the rows as they are before columns are mapped."""


@dataclass(frozen=True)
class DataName:
    """The parsed text ``NAME(option=value):PATH``. ``path`` is None if it names no file."""

    reader: Reader
    path: Path | None
    options: Mapping[str, str | Path] = field(default_factory=dict)

    def __str__(self) -> str:
        options = ", ".join(f"{key}={value}" for key, value in self.options.items())
        return f"{self.reader.name}{f'({options})' if options else ''}:{self.path or ''}"


@cache
def readers() -> dict[str, Reader]:
    """Return the installed formats by name. Raises UsageError if a package of readers cannot be loaded."""
    found: dict[str, Reader] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name, reverse=True):
        try:
            installed = point.load()
        except (ImportError, AttributeError) as error:
            raise UsageError(f"The readers of {point.value!r} cannot be loaded: {error}.") from error
        found = found | {reader.name: reader for reader in installed}
    return found


def parse_name(data: str | os.PathLike[str]) -> DataName | None:
    """Parse the name of data; return None if a file has exactly this name, or the text is a plain path.

    A drive letter is not a name. A folder before the name is the base of a relative path. Raises
    UnknownNameError for an unknown name or option, UsageError if the options cannot be parsed.

    >>> parse_name("otel:spans.json").path.name, parse_name("rows.csv"), parse_name("C:rows.csv")
    ('spans.json', None, None)
    """
    text, exists = str(data), False
    with suppress(OSError, ValueError):  # not a valid path; opening it will raise an error
        exists = Path(data).exists()
    if exists:
        return None
    match = _FIRST.fullmatch(text)
    if match is None:
        match = _AFTER_FOLDER.fullmatch(text)
        if match is None or match["name"] not in readers():
            return None
    parts = match.groupdict()
    folder, reader = Path(parts.get("folder") or ""), known_reader(parts["name"])
    options = reader.parse_options(_options(text, parts["options"] or ""))
    placed = {key: folder / value if isinstance(value, Path) else value for key, value in options.items()}
    return DataName(reader, folder / parts["path"] if parts["path"] else None, placed)


def known_reader(name: str) -> Reader:
    """Return a format by name. Raises UnknownNameError with similar names."""
    known = readers()
    if name not in known:
        near = tuple(difflib.get_close_matches(name, known, n=2, cutoff=0.5))
        raise UnknownNameError("format", name, near, hint=f"Known formats: {', '.join(known)}.")
    return known[name]


def recognise(path: Path) -> Reader | None:
    """Return the format of a file or folder; None for rows in columns, and other folders.

    A first record that has only fields of a sample is a row: no format is loaded for it. Raises DataError if
    a file cannot be opened.
    """
    if is_saved_dataset(path):
        return None
    head = Head(path, b"" if path.is_dir() else read_head(path))
    record = head.record or {"": None}
    if all(name in NAMES and (name == "metadata" or not isinstance(record[name], dict)) for name in record):
        return None
    return next((reader for reader in readers().values() if reader.recognises(head)), None)


def read_head(path: Path) -> bytes:
    """Return the first 256 KB of a file, decompressed and in UTF-8; empty if it cannot be decompressed."""
    with open_bytes(path) as stream:
        try:
            data = stream.read(_HEAD_BYTES)
        except (OSError, EOFError, zlib.error):
            return b""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):  # PowerShell writes it
        return codecs.getincrementaldecoder("utf-16")("replace").decode(data).encode("utf-8", "replace")
    return data


def absolute(data: Path) -> Path:
    """Make the path of the data absolute, or the paths within a text such as ``otel:PATH``."""
    named = parse_name(data)
    if named is None:
        return data.resolve()
    path = named.path.resolve() if named.path else None
    options = {
        key: value.resolve() if isinstance(value, Path) else value for key, value in named.options.items()
    }
    return Path(str(DataName(named.reader, path, options)))


def _options(text: str, inner: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for item in inner.split(",") if inner.strip() else ():
        key, equals, value = (part.strip() for part in item.partition("="))
        if not (key and equals and value) or key in options:
            raise UsageError(f"Cannot read the options of {text!r}.", hint="Write NAME(key=value, …):PATH.")
        options[key] = value
    return options


_TABLES = (".csv", ".tsv")
_LINES = (".jsonl", ".ndjson")
_ARROW = (".arrow", ".feather")
_COLUMNS = (
    *(b"parent_observation_id", b"parentObservationId", b"run_type", b"execution_duration", b"perf_json"),
    *(b"execution_time_ms", b"record_attributes", b"custom_column_key_values", b"messages", b"user_input"),
    *(b"custom_id", b"context.trace_id", b"context_data"),
)
"""Columns of Parquet and Arrow files of exports: at least one is in each."""
_FOOTER = 8
_MAX_FOOTER = 16_000_000
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{},"]', re.DOTALL)
_LIST_BEGIN = re.compile(r"\[\s*(?=\{)")


def first_record(path: Path, head: bytes) -> dict[str, object] | None:
    """Return the first record of a file of JSON or a table, as far as the head of the file holds it.

    None for other files, and if the first record is not an object.
    """
    name = path.name.casefold().removesuffix(".gz")
    if head[:4] == b"PAR1":
        return _export_record(path, _footer(path), "Parquet") if name.endswith(".parquet") else None
    if name.endswith(_ARROW):
        return _export_record(path, head, "Arrow")  # the schema comes first
    text = codecs.getincrementaldecoder("utf-8-sig")("replace").decode(head).lstrip()
    if name.endswith(_TABLES):
        return _table_record(text, "\t" if name.endswith(".tsv") else None)
    if text[:1] not in {"{", "["}:
        return None
    begin = None if name.endswith(_LINES) else _LIST_BEGIN.match(text)
    try:
        value, _ = json.JSONDecoder().raw_decode(text, begin.end() if begin else 0)
    except (ValueError, RecursionError):
        value = _parse_truncated(text)
    return chat_columns(value) if name.endswith(_LINES) and isinstance(value, list) else _record_in(value)


def _record_in(value: object) -> dict[str, object] | None:
    if isinstance(value, list):
        value = value[0] if value else None
    elif isinstance(value, dict):
        rows = next((value[name] for name in LISTS if isinstance(value.get(name), list)), None)
        value = rows[0] if rows else value
    return value if isinstance(value, dict) else chat_columns(value)


def _parse_truncated(text: str) -> object:
    """Parse JSON that is cut off, up to its last complete item."""
    waiting: list[str] = []
    end = 0
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark == '"':  # a text that is cut off
            break
        if mark in "[{":
            waiting.append("]" if mark == "[" else "}")
        elif mark in "]}" and (not waiting or waiting.pop() != mark):
            return None
        if mark[0] != '"':
            end = token.start() if mark == "," else token.end()
        if not waiting:
            break
    try:
        return json.loads(text[:end] + "".join(reversed(waiting)))
    except (ValueError, RecursionError):
        return None


def _table_record(text: str, delimiter: str | None) -> dict[str, object] | None:
    first = text.partition("\n")[0]
    delimiter = delimiter or max(",;\t", key=first.count)
    try:
        reader = csv.reader(io.StringIO(text), delimiter=delimiter)
        header, cells = next(reader, []), next(reader, [])
    except csv.Error:
        return None
    cells += [""] * (len(header) - len(cells))
    return (
        {column.strip(): cell or None for column, cell in zip(header, cells, strict=False)}
        if header
        else None
    )


def _export_record(path: Path, schema: bytes, form: Form) -> dict[str, object] | None:
    """Return the first row of a file whose schema has a column of an export; reading it starts a process."""
    if not any(name in schema for name in _COLUMNS):
        return None
    try:
        values = next((row.values for row in parquet_rows(path, mapping=None, form=form)), None)
    except (DataError, MissingExtraError):  # reading the file raises the same error
        return None
    return values if isinstance(values, dict) else None


def _footer(path: Path) -> bytes:
    """Return the end of a Parquet file, which has the names of its columns; empty for other files."""
    with path.open("rb") as stream:
        size = stream.seek(0, io.SEEK_END)
        if size < 3 * _FOOTER:
            return b""
        stream.seek(size - _FOOTER)
        length, magic = int.from_bytes(stream.read(4), "little"), stream.read(4)
        if magic != b"PAR1" or not 0 < length <= min(size - _FOOTER, _MAX_FOOTER):
            return b""
        stream.seek(size - _FOOTER - length)
        return stream.read(length)
